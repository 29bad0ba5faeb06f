package slurm

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// forecast is what "sbatch --test-only" says of a job that it would accept.
var forecast = regexp.MustCompile(`to start at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)`)

// Rehearse asks SLURM whether it would accept a job for the request now, with
// all options of the profile. No job is made. start is when it would run by
// today's plan, zero when SLURM does not tell. Like Check it refuses what can
// never be granted; beyond that it knows of accounts, of the options in Native
// and of partitions that are down.
func (r *Reserver) Rehearse(ctx context.Context, q reserve.Request) (start time.Time, err error) {
	if err := r.Check(ctx, q); err != nil {
		return start, err
	}
	if err := r.checkAvailable(ctx); err != nil {
		return start, err
	}
	argv := slices.Insert(r.command(q, "rehearsal"), 1, "--test-only")
	_, stderr, err := r.execute(ctx, submitLimit, argv...)
	if err != nil {
		return start, refusal(err)
	}
	if m := forecast.FindStringSubmatch(stderr); m != nil {
		start, _ = time.ParseInLocation("2006-01-02T15:04:05", m[1], r.config.Now().Location())
	}
	return start, nil
}

// checkAvailable refuses a partition in which no job starts at present.
func (r *Reserver) checkAvailable(ctx context.Context) error {
	out, err := r.run(ctx, askLimit, "sinfo", "--noheader", "--format=%P|%a")
	if err != nil {
		return err
	}
	states := map[string]string{}
	var up []string
	for line := range strings.Lines(out) {
		name, state, _ := strings.Cut(strings.TrimSpace(line), "|")
		name, chosen := strings.CutSuffix(name, "*")
		if chosen {
			states[""] = state
		}
		states[name] = state
		if state == "up" {
			up = append(up, name)
		}
	}
	for name := range strings.SplitSeq(r.config.Partition, ",") {
		if state := states[name]; state == "up" || state == "" {
			return nil // one is enough
		}
	}
	err = refuse("set partition of the cluster's profile to one that is up: "+strings.Join(up, ", "),
		"partition %s takes no jobs: it is %s", r.config.Partition, states[r.config.Partition])
	return hint.WithExit(err, hint.ExitError) // it may be up again tomorrow
}
