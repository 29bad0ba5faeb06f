package slurm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Kind is the name of this kind of cluster.
const Kind = "slurm"

// Reserver reserves nodes with jobs that hold them. Its methods may be called
// from several goroutines.
type Reserver struct {
	config reserve.Batch
	noJSON atomic.Bool // squeue was seen not to write JSON
}

// New returns a Reserver. Exec runs SLURM's commands; Native are options of
// sbatch, each one argument.
func New(c reserve.Batch) *Reserver { return &Reserver{config: c} }

// Kind implements reserve.Reserver.
func (r *Reserver) Kind() string { return Kind }

// markPrefix begins the job's name; what follows is the mark of the ledger's
// entry.
const markPrefix = "esched-"

// holder is what the job executes.
const holder = "exec sleep infinity"

// Reserve implements reserve.Reserver. A refusal of sbatch leaves nothing
// behind. When the outcome is not known and the job cannot be found, the
// ledger entry stays for "esched clean".
func (r *Reserver) Reserve(ctx context.Context, q reserve.Request) (reserve.Reservation, error) {
	if err := r.Check(ctx, q); err != nil {
		return nil, err
	}
	e, mark, err := r.config.Announce(q, Kind, strings.Join(r.options(), " "))
	if err != nil {
		return nil, err
	}
	out, err := r.run(ctx, submitLimit, r.command(q, mark)...)
	id, idErr := parseID(out)
	switch {
	case err == nil && idErr == nil:
		return r.enter(ctx, e, id)
	case err == nil:
		err = fmt.Errorf("sbatch: %w: %w", reserve.ErrUnknown, idErr)
		fallthrough
	case errors.Is(err, reserve.ErrUnknown):
		return r.search(ctx, e, err)
	}
	return nil, errors.Join(refusal(err), r.config.Ledger.Remove(Kind, e.ID))
}

// enter gives the entry the job's id, and keeps its name.
func (r *Reserver) enter(ctx context.Context, e reserve.Entry, id string) (reserve.Reservation, error) {
	mark, _ := e.Mark()
	e.Name = markPrefix + mark
	entered, err := r.config.Ledger.Rename(e, id)
	if err != nil {
		// Without an entry nobody would give the nodes back.
		_, cancelErr := r.run(context.WithoutCancel(ctx), cancelLimit, "scancel", id)
		return nil, errors.Join(err, cancelErr)
	}
	return r.Attach(entered)
}

// search looks for the job of an sbatch whose answer got lost. When nobody
// wants it any more it is cancelled.
func (r *Reserver) search(ctx context.Context, e reserve.Entry, lost error) (reserve.Reservation, error) {
	mark, _ := e.Mark()
	found, err := r.jobs(context.WithoutCancel(ctx), "", markPrefix+mark)
	if err == nil && len(found) > 0 {
		v, err := r.enter(ctx, e, found[0].id)
		if err == nil && ctx.Err() != nil {
			err = errors.Join(lost, v.Release(context.WithoutCancel(ctx)))
		}
		if err != nil {
			return nil, err
		}
		return v, nil
	}
	return nil, hint.With(fmt.Errorf("%w; the job may still be made", lost), "esched clean, when sinfo shows that SLURM answers again")
}

// command is the command line that submits the job.
func (r *Reserver) command(q reserve.Request, mark string) []string {
	argv := []string{
		"sbatch", "--parsable", "--job-name=" + markPrefix + mark, "--nodes=" + strconv.Itoa(q.Nodes),
		"--time=" + strconv.FormatInt(wholeMinutes(q.Claim), 10),
		// Whole nodes; a job that lost one keeps the others and is never run again.
		"--exclusive", "--no-kill", "--no-requeue",
		"--comment=esched " + mark + " for " + filepath.Base(q.Run),
		// The directory of the submission need not exist on the nodes, and the
		// environment is of no use to a job that sleeps.
		"--chdir=/", "--output=/dev/null", "--export=PATH",
	}
	if latest := r.config.Policy.Latest(r.config.Now(), q.Claim); !latest.IsZero() {
		argv = append(argv, "--deadline="+latest.Format("2006-01-02T15:04:05"))
	}
	argv = append(argv, r.options()...)
	return append(argv, "--wrap="+holder)
}

// wholeMinutes is how SLURM's options want times: -t 900 is 900 minutes.
func wholeMinutes(d time.Duration) int64 { return int64((d + time.Minute - 1) / time.Minute) }

// options are those that the profile gives sbatch.
func (r *Reserver) options() []string {
	var argv []string
	for _, o := range []struct{ name, value string }{
		{"partition", r.config.Partition}, {"account", r.config.Account}, {"constraint", r.config.Constraint},
	} {
		if o.value != "" {
			argv = append(argv, "--"+o.name+"="+o.value)
		}
	}
	return append(argv, r.config.Native...)
}

// parseID reads what "sbatch --parsable" writes: an id, and the cluster's name
// where there are several. Site plugins may write lines before it.
func parseID(out string) (string, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	id, _, _ := strings.Cut(strings.TrimSpace(lines[len(lines)-1]), ";")
	if !isID(id) {
		return "", fmt.Errorf("no job id in %q", out[:min(len(out), 300)])
	}
	return id, nil
}

func isID(s string) bool {
	n, err := strconv.ParseUint(s, 10, 32)
	return err == nil && n > 0
}

// refusal adds what can be done about sbatch's refusal.
func refusal(err error) error {
	text := err.Error()
	for _, c := range []struct{ word, mend string }{
		{"nvalid partition", "set partition of the cluster's profile to one that sinfo lists"},
		{"nvalid account", "set account of the cluster's profile to one that you may use: sacctmgr show associations user=$USER"},
		{"nvalid feature", "set constraint of the cluster's profile to features that sinfo -o %f lists"},
		{"nvalid qos", "correct native of the cluster's profile: sbatch does not know the quality of service"},
		{"nrecognized option", "correct native of the cluster's profile: sbatch does not know the option"},
		{"ode configuration is not available", "ask for fewer nodes, or change partition or constraint of the cluster's profile"},
		{"ode count specification invalid", "ask for fewer nodes, or set partition of the cluster's profile to a larger one"},
		{"time limit is invalid", "set a shorter claim_time; sinfo shows the partition's limit"},
	} {
		if strings.Contains(text, c.word) {
			return hint.Usage(err, c.mend)
		}
	}
	if hint.Of(err) != "" {
		return err
	}
	return hint.With(err, "try the same by hand: sbatch --wrap true, with the options above")
}

// Attach implements reserve.Reserver.
func (r *Reserver) Attach(e reserve.Entry) (reserve.Reservation, error) {
	if err := e.Own(Kind); err != nil {
		return nil, err
	}
	if _, unnamed := e.Mark(); !unnamed && !isID(e.ID) {
		return nil, fmt.Errorf("reservation %q: not the id of a job", e.ID)
	}
	return reserve.Book(r.config.Ledger, e, &reservation{reserver: r, entry: e}), nil
}

// Adopt implements reserve.Adopter. A job whose id got lost is adopted under
// its mark.
func (r *Reserver) Adopt(ctx context.Context, q reserve.Request, e reserve.Entry) (reserve.Reservation, error) {
	return r.config.Adopt(ctx, r, q, e, strings.Join(r.options(), " "))
}

var _ reserve.Adopter = (*Reserver)(nil)
