package slurm

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Limits of SLURM's commands. They give up by themselves when the controller
// has been silent for MessageTimeout, which is 10 s unless a site has changed
// it.
const (
	submitLimit = time.Minute
	askLimit    = 30 * time.Second
	cancelLimit = time.Minute
)

// silence are words of SLURM's commands for a controller that did not answer.
// What was sent to it may still be done.
var silence = []string{"Unable to contact slurm controller", "Socket timed out", "Connection reset", "Transport endpoint", "Communication connection failure"}

// run executes a command within a time limit and returns its standard output.
func (r *Reserver) run(ctx context.Context, limit time.Duration, argv ...string) (string, error) {
	stdout, _, err := r.execute(ctx, limit, argv...)
	return stdout, err
}

// execute is run for commands that tell something on standard error, too.
func (r *Reserver) execute(ctx context.Context, limit time.Duration, argv ...string) (stdout, stderr string, err error) {
	stdout, stderr, err = r.config.Exec.Run(ctx, limit, argv...)
	if err == nil {
		return stdout, stderr, nil
	}
	silent := func(words string) bool { return strings.Contains(stderr, words) }
	if !errors.Is(err, reserve.ErrUnknown) && slices.ContainsFunc(silence, silent) {
		err = fmt.Errorf("%w: %w", reserve.ErrUnknown, err)
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		err = hint.With(err, "run esched on the head node of the cluster; perhaps: module load slurm")
	case errors.Is(err, reserve.ErrUnknown) && ctx.Err() == nil:
		err = hint.With(err, "see whether SLURM answers: sinfo")
	case argv[0] != "sbatch" && ctx.Err() == nil: // what that refuses has reasons of its own
		err = hint.With(err, "see whether SLURM answers: sinfo; if it does: "+strings.Join(argv, " "))
	}
	return stdout, stderr, err
}
