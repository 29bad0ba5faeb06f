package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

// obtain goes on with a reservation that an earlier run left, such as one that
// was killed while it waited, or makes a new one. Others that earlier sessions
// of this very run left are given back before: the new one may need their
// nodes.
func (x *site) obtain(ctx context.Context, q reserve.Request, tell func(record.Event)) (reserve.Reservation, error) {
	entries, err := x.ledger().Entries()
	if err != nil {
		return nil, err
	}
	// Our own come first: those that do not fit are given back in any case.
	own := func(e reserve.Entry) bool { return e.Run == q.Run }
	slices.SortStableFunc(entries, func(a, b reserve.Entry) int {
		switch {
		case own(a) == own(b):
			return 0
		case own(a):
			return -1
		}
		return 1
	})
	adopter, adopts := x.reserver.(reserve.Adopter)
	for _, e := range entries {
		if adopts {
			r, err := x.adopt(ctx, adopter, q, e)
			if err != nil {
				return nil, err
			}
			if r != nil {
				tell(record.Event{Kind: record.EventReservation, State: string(reserve.Requested),
					Message: r.ID() + " was left by " + e.Run + "; going on with it"})
				return r, nil
			}
		}
		if own(e) {
			tell(record.Event{Kind: record.EventWarning, Message: x.giveBack(ctx, e)})
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return x.reserver.Reserve(ctx, q)
}

// giveBack releases what an earlier session of this run left, and says what
// came of it.
func (x *site) giveBack(ctx context.Context, e reserve.Entry) string {
	x.tidy(ctx, e)
	name := fmt.Sprintf("reservation %s %s of an earlier session", e.Kind, e.ID)
	if err := x.release(ctx, e); err != nil {
		return fmt.Sprintf("%s: %v (\"esched clean\" tries again)", name, err)
	}
	return name + " was given back"
}

// tidy ends what the earlier run left on nodes that are still ours.
func (x *site) tidy(ctx context.Context, e reserve.Entry) {
	for _, l := range x.cleanNodes(ctx, e, nil, false) {
		if l.Error != "" {
			x.warn(fmt.Sprintf("%s: %s", l.What, l.Error))
		}
	}
}

// adopt takes over an entry unless somebody works on its run, and ends what
// that left.
func (x *site) adopt(ctx context.Context, a reserve.Adopter, q reserve.Request, e reserve.Entry) (reserve.Reservation, error) {
	if e.Run != q.Run { // our own run is locked by us
		store, err := record.Open(e.Run)
		if errors.Is(err, record.ErrInUse) {
			return nil, nil
		}
		if err == nil {
			defer store.Close() // nothing was written
		}
	}
	r, err := a.Adopt(ctx, q, e)
	if r != nil {
		x.tidy(ctx, e)
	}
	return r, err
}
