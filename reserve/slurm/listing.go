package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// job is what squeue tells of one job.
type job struct {
	id     string
	name   string
	states []string // the first one is the state, others are flags
	reason string
	nodes  string // an expression such as "node[001-003]"
	start  time.Time
	end    time.Time
}

// jobs asks squeue for jobs, also ended ones that it still knows: for those with
// an id, a name, or both. A controller that crashed may give the ids of its last
// seconds to other jobs.
func (r *Reserver) jobs(ctx context.Context, id, name string) ([]job, error) {
	argv := []string{"squeue", "--states=all"}
	if id != "" {
		argv = append(argv, "--jobs="+id)
	} else {
		argv = append(argv, "--name="+name)
	}
	var all []job
	var err error
	if !r.noJSON.Load() {
		all, err = r.jobsJSON(ctx, argv)
	}
	if r.noJSON.Load() {
		all, err = r.jobsText(ctx, argv)
	}
	if err != nil {
		return nil, err
	}
	var asked []job // old versions give all jobs in JSON, whatever is asked for
	for _, j := range all {
		if (id == "" || j.id == id) && (name == "" || j.name == name) {
			asked = append(asked, j)
		}
	}
	return asked, nil
}

// jobsJSON asks for JSON, and notes when squeue writes none.
func (r *Reserver) jobsJSON(ctx context.Context, argv []string) ([]job, error) {
	out, err := r.run(ctx, askLimit, append(argv, "--json")...)
	if unlisted(err) {
		return nil, nil
	}
	if err == nil {
		all, parseErr := parseJSON([]byte(out))
		if unlisted(parseErr) {
			return nil, nil
		}
		if parseErr == nil || errors.Is(parseErr, reserve.ErrUnknown) {
			return all, parseErr
		}
	} else if errors.Is(err, reserve.ErrUnknown) || errors.Is(err, exec.ErrNotFound) {
		return nil, err
	}
	r.noJSON.Store(true) // should there be another reason, the text form has it, too
	return nil, nil
}

// textFormat has the name last, as it may hold the separator.
const textFormat = "%i|%T|%r|%S|%e|%N|%j"

func (r *Reserver) jobsText(ctx context.Context, argv []string) ([]job, error) {
	out, err := r.run(ctx, askLimit, append(argv, "--noheader", "--format="+textFormat)...)
	if unlisted(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseText(out, r.config.Now().Location())
}

// unlisted tells whether squeue's complaint is that there is no such job.
func unlisted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "Invalid job id specified")
}

// parseText reads lines of textFormat. squeue writes times in the zone of its
// environment.
func parseText(text string, zone *time.Location) ([]job, error) {
	var all []job
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.SplitN(line, "|", 7)
		if len(f) < 7 {
			return nil, fmt.Errorf("line of squeue %q: %d fields, want 7", line, len(f))
		}
		at := func(s string) time.Time {
			t, err := time.ParseInLocation("2006-01-02T15:04:05", s, zone)
			if err != nil {
				return time.Time{} // "N/A"
			}
			return t
		}
		all = append(all, job{
			id: f[0], states: []string{f[1]}, reason: f[2], start: at(f[3]), end: at(f[4]), nodes: f[5], name: f[6],
		})
	}
	return all, nil
}

// parseJSON reads what "squeue --json" writes:
//
//	SLURM        format            job_state      start_time, end_time   absent text
//	21.08        openapi 0.0.37    one word       number                 null
//	22.05        openapi 0.0.38    one word       number                 null
//	23.02        data_parser 39    one word       number or null         ""
//	23.11 on     data_parser 40-   list of words  object                 ""
//
// Where it is one word, a flag such as COMPLETING hides the state itself. A
// data_parser that was told "+complex" writes numbers plain, null and
// "Infinity" for none, and null for absent text. With a silent controller the
// first two versions write an empty list with an error beside it, and the exit
// status is 0.
func parseJSON(text []byte) ([]job, error) {
	var listing struct {
		Jobs []struct {
			ID     number `json:"job_id"`
			Name   string `json:"name"`
			State  words  `json:"job_state"`
			Reason string `json:"state_reason"`
			Nodes  string `json:"nodes"`
			Start  number `json:"start_time"`
			End    number `json:"end_time"`
		} `json:"jobs"`
		Errors []struct {
			Description string `json:"description"`
			Error       string `json:"error"`
			Source      string `json:"source"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(text, &listing); err != nil {
		return nil, fmt.Errorf("listing of squeue: %w", err)
	}
	if len(listing.Errors) > 0 {
		e := listing.Errors[0]
		err := fmt.Errorf("squeue --json: %w: %s", reserve.ErrUnknown, strings.Join(strings.Fields(e.Source+" "+e.Description+" "+e.Error), " "))
		return nil, hint.With(err, "see whether SLURM answers: sinfo")
	}
	if listing.Jobs == nil {
		return nil, errors.New("listing of squeue: no jobs in it")
	}
	var all []job
	for _, j := range listing.Jobs {
		if j.ID <= 0 || len(j.State) == 0 {
			return nil, fmt.Errorf("listing of squeue: job %q without id or state", j.Name)
		}
		all = append(all, job{
			id: strconv.FormatInt(int64(j.ID), 10), name: j.Name, states: j.State, reason: j.Reason, nodes: j.Nodes,
			start: j.Start.instant(), end: j.End.instant(),
		})
	}
	return all, nil
}

// number is a whole number: plain until SLURM 23.02, since 23.11 an object that
// tells whether it is set and finite. What is neither is 0. The specification
// of 21.08 has some of them in quotes.
type number int64

func (n *number) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), "{") {
		var o struct {
			Set      bool  `json:"set"`
			Infinite bool  `json:"infinite"`
			Number   int64 `json:"number"`
		}
		err := json.Unmarshal(text, &o)
		*n = 0
		if o.Set && !o.Infinite {
			*n = number(o.Number)
		}
		return err
	}
	if word, err := strconv.Unquote(string(text)); err == nil {
		value, _ := strconv.ParseInt(word, 10, 64) // "Infinity"
		*n = number(value)
		return nil
	}
	return json.Unmarshal(text, (*int64)(n))
}

// noTime is from where on SLURM's 32-bit times mean that there is none.
const noTime = 1<<32 - 16

func (n number) instant() time.Time {
	if n <= 0 || n >= noTime {
		return time.Time{}
	}
	return time.Unix(int64(n), 0)
}

// words is one word in old versions, a list in new ones.
type words []string

func (w *words) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), "[") {
		return json.Unmarshal(text, (*[]string)(w))
	}
	var one string
	err := json.Unmarshal(text, &one)
	*w = words{one}
	return err
}

// hosts are the nodes of a job.
func (j job) hosts() ([]string, error) {
	if j.nodes == "" || j.nodes == "(null)" {
		return nil, nil
	}
	return reserve.ExpandHosts(j.nodes)
}
