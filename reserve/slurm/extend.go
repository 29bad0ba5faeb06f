package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

const (
	extendLimit = 30 * time.Second
	// confirmLimit bounds the wait until squeue tells the new end.
	confirmLimit = 10 * time.Second
	confirmPause = 500 * time.Millisecond
)

// Extend implements reserve.Extender. Most sites let only administrators
// lengthen a job that runs; SLURM says so, and the job stays as it is. SLURM
// counts in minutes, so the job gets up to one more.
func (v *reservation) Extend(ctx context.Context, by time.Duration) (time.Time, error) {
	found, err := v.jobs(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if len(found) == 0 {
		return time.Time{}, errors.New("SLURM does not list the job")
	}
	before := found[0].status(v.reserver.config.Now())
	if before.State != reserve.Running || before.Deadline.IsZero() {
		return time.Time{}, fmt.Errorf("the job is %s and has no end that could be later", before.State)
	}
	minutes := wholeMinutes(by)
	if err := v.reserver.config.CheckLonger(before.Start, before.Deadline.Add(time.Duration(minutes)*time.Minute)); err != nil {
		return time.Time{}, err
	}
	argv := []string{"scontrol", "update", "JobId=" + found[0].id, fmt.Sprintf("TimeLimit+=%d", minutes)}
	if _, err := v.reserver.run(ctx, extendLimit, argv...); err != nil {
		if hint.Of(err) == "" {
			err = hint.With(err, reserve.OtherClaim+"; or ask the administrators for: "+strings.Join(argv, " "))
		}
		return time.Time{}, err
	}
	return v.later(ctx, before.Deadline)
}

// later returns the job's end as soon as squeue tells one after the old one: it
// may answer from a listing that is some moments old.
func (v *reservation) later(ctx context.Context, old time.Time) (time.Time, error) {
	ctx, release := context.WithTimeoutCause(ctx, confirmLimit, fmt.Errorf("%w: squeue tells no later end than %s within %v",
		reserve.ErrUnknown, old.Format(time.TimeOnly), confirmLimit))
	defer release()
	for {
		s, err := v.Ask(ctx)
		if err == nil && s.Deadline.After(old) {
			return s.Deadline, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-time.After(confirmPause):
		}
	}
}
