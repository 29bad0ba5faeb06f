package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/esched/esched/reserve"
)

// afterLoss asks the queue about nodes on which something was lost or could not
// be started. A queue that takes nodes back ends what runs on them before
// anybody has asked it, and that is no failure of a trial. When it did, ctx,
// which is one of the claim, is done on return.
func (x *site) afterLoss(ctx context.Context) {
	if x.take == nil || x.reservation == nil || ctx.Err() != nil {
		return
	}
	reason := x.reservation.vanished(ctx)
	if reason == nil {
		return
	}
	x.take(reason)
	bound := time.NewTimer(confirmPause)
	defer bound.Stop()
	select {
	case <-ctx.Done():
	case <-bound.C:
	}
}

// vanished returns why the reservation runs no longer; nil when it does, or
// when the queue does not answer. As watch does, it believes no single answer.
// Queues end what runs some time after a claim's end; guards do not wait for it.
func (h *holding) vanished(ctx context.Context) error {
	for again := false; ; again = true {
		s, err := h.ask(ctx, 0)
		switch {
		case err == nil && s.State == reserve.Running && !s.Deadline.IsZero() && !h.now().Before(s.Deadline):
			return fmt.Errorf("%w: %s was held until %s", errTaken, h.ID(), s.Deadline.Format(time.TimeOnly))
		case err != nil || s.State == reserve.Running:
			return nil
		case again || s.State == reserve.Failed:
			return h.over(s)
		}
		pause := time.NewTimer(confirmPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil
		}
	}
}

// over says why a reservation runs no longer.
func (h *holding) over(s reserve.Status) error {
	return fmt.Errorf("%w: %s is %s: %s", errTaken, h.ID(), s.State, s.Reason)
}
