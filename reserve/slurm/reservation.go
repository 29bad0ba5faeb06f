package slurm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

const (
	// listingLag is how long a new job may be missing in a listing.
	listingLag = 30 * time.Second
	// submissionLag is how long an sbatch that outlived its esched may be at
	// work, retries included.
	submissionLag = 3 * time.Minute
)

// reservation implements reserve.Queue.
type reservation struct {
	reserver *Reserver
	entry    reserve.Entry

	mu     sync.Mutex
	listed bool
	last   reserve.Status // as told last, when listed
}

// jobs are the jobs behind the reservation: one, or none.
func (v *reservation) jobs(ctx context.Context) ([]job, error) {
	if mark, unnamed := v.entry.Mark(); unnamed {
		return v.reserver.jobs(ctx, "", markPrefix+mark)
	}
	return v.reserver.jobs(ctx, v.entry.ID, v.entry.Name)
}

// Ask implements reserve.Queue.
func (v *reservation) Ask(ctx context.Context) (reserve.Status, error) {
	found, err := v.jobs(ctx)
	if err != nil {
		return reserve.Status{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(found) == 0 {
		return v.missing(), nil
	}
	v.listed, v.last = true, found[0].status(v.reserver.config.Now())
	return v.last, nil
}

// missing is the status of a reservation without a job in the listing. SLURM
// keeps ended jobs for MinJobAge, usually five minutes.
func (v *reservation) missing() reserve.Status {
	now := v.reserver.config.Now()
	switch {
	case v.listed && v.last.State == reserve.Failed:
		return v.last
	case v.listed:
		return reserve.Status{State: reserve.Gone, Reason: "SLURM no longer lists the job"}
	case now.Sub(v.entry.Made) < listingLag:
		return reserve.Status{State: reserve.Requested, Reason: "SLURM does not list the job yet"}
	}
	return reserve.Status{State: reserve.Gone, Reason: "SLURM does not list the job"}
}

// Cancel implements reserve.Queue.
func (v *reservation) Cancel(ctx context.Context) error {
	if _, unnamed := v.entry.Mark(); unnamed {
		return v.cancelMarked(ctx)
	}
	return v.cancel(ctx)
}

// cancel ends the job. For an id that SLURM has forgotten scancel succeeds.
func (v *reservation) cancel(ctx context.Context) error {
	argv := []string{"scancel", v.entry.ID}
	if v.entry.Name != "" {
		argv = append(argv, "--name="+v.entry.Name)
	}
	_, err := v.reserver.run(ctx, cancelLimit, argv...)
	if err == nil {
		return nil
	}
	found, listErr := v.jobs(ctx)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, j := range found {
		if s := j.status(v.reserver.config.Now()); s.State == reserve.Running || s.State == reserve.Pending {
			return hint.With(err, "scancel "+v.entry.ID)
		}
	}
	return nil
}

// cancelMarked ends the job of an sbatch that never told its id.
func (v *reservation) cancelMarked(ctx context.Context) error {
	found, err := v.jobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range found {
		if _, err := v.reserver.run(ctx, cancelLimit, "scancel", j.id); err != nil {
			return hint.With(err, "scancel "+j.id)
		}
	}
	settled := v.entry.Made.Add(submissionLag)
	if now := v.reserver.config.Now(); len(found) == 0 && now.Before(settled) {
		return hint.With(errors.New("SLURM does not list its job, but sbatch may still be at work"),
			"esched clean, after "+settled.Format(time.TimeOnly))
	}
	return nil
}
