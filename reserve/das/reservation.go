package das

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// The words that the listing may have for reservations that ended, should it
// show them at all: those of the queue behind it.
var (
	endedStates  = []string{"CA", "CD", "CG", "TO", "PR"}
	failedStates = []string{"F", "NF", "BF", "DL", "OOM"}
)

// Ask implements reserve.Queue.
func (v *reservation) Ask(ctx context.Context) (reserve.Status, error) {
	rows, err := v.reserver.list(ctx)
	if err != nil {
		return reserve.Status{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	i := slices.IndexFunc(rows, func(r row) bool { return r.id == v.entry.ID })
	if i < 0 {
		return v.missing(), nil
	}
	v.listed = true
	s := rows[i].status()
	if s.State == reserve.Gone { // with now as its stop, which says nothing
		s.Reason = fmt.Sprintf("%s (%s)", v.missing().Reason, rows[i].state)
		return s, nil
	}
	v.stop = rows[i].stop
	return s, nil
}

// missing is the status of a reservation that is not in the listing, or there
// as one that ended.
func (v *reservation) missing() reserve.Status {
	now := v.reserver.config.Now()
	switch {
	case !v.listed && now.Sub(v.entry.Made) < listingLag:
		return reserve.Status{State: reserve.Requested, Reason: "preserve does not list it yet"}
	case !v.stop.IsZero() && now.Before(v.stop):
		return reserve.Status{State: reserve.Gone, Reason: "it ended before its time: somebody cancelled it, or a node failed"}
	case v.listed:
		return reserve.Status{State: reserve.Gone, Reason: "its time is over"}
	}
	return reserve.Status{State: reserve.Gone, Reason: "preserve does not list it"}
}

// status is what a line of the listing means. Only evidence of running nodes
// counts as running.
func (r row) status() reserve.Status {
	s := reserve.Status{State: reserve.Pending, Start: r.start, Reason: r.state}
	switch {
	case slices.Contains(endedStates, r.state):
		s.State = reserve.Gone
	case slices.Contains(failedStates, r.state):
		s.State = reserve.Failed
	case !strings.EqualFold(r.state, "R"):
	case len(r.hosts) == 0 || r.nodes >= 0 && r.nodes != len(r.hosts):
		s.Reason = "running, hosts not told yet"
	default:
		// Stop, and not start plus claim, is when the nodes are taken back.
		return reserve.Status{State: reserve.Running, Hosts: r.hosts, Start: r.start, Deadline: r.stop}
	}
	return s
}

// Extend implements reserve.Extender: preserve makes and cancels reservations,
// and has no command that changes one.
func (v *reservation) Extend(context.Context, time.Duration) (time.Time, error) {
	return time.Time{}, hint.With(fmt.Errorf("%w: preserve has no command for it", reserve.ErrFixed), reserve.OtherClaim)
}

// Cancel implements reserve.Queue.
func (v *reservation) Cancel(ctx context.Context) error {
	if _, unnamed := v.entry.Mark(); unnamed {
		return v.ruleOut(ctx)
	}
	return v.cancel(ctx)
}

// cancel gives the nodes back. That preserve refuses to cancel what it no
// longer lists is no error.
func (v *reservation) cancel(ctx context.Context) error {
	_, err := v.reserver.run(ctx, cancelLimit, "preserve", "-c", v.entry.ID)
	if err == nil {
		return nil
	}
	rows, listErr := v.reserver.list(ctx)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	listed := slices.ContainsFunc(rows, func(r row) bool { return r.id == v.entry.ID && r.status().State != reserve.Gone })
	if !listed {
		return nil
	}
	return hint.With(err, "preserve -c "+v.entry.ID)
}

// ruleOut is for an entry whose number was lost: it returns nil when there is
// no reservation that could be the one. It cancels nothing, since it may be
// somebody else's work of the same user.
func (v *reservation) ruleOut(ctx context.Context) error {
	rows, err := v.reserver.list(ctx)
	if err != nil {
		return err
	}
	entries, err := v.reserver.config.Ledger.Entries()
	if err != nil {
		return err
	}
	var candidates []string
	for _, r := range rows {
		known := slices.ContainsFunc(entries, func(e reserve.Entry) bool { return e.Kind == Kind && e.ID == r.id })
		// What ran before it was asked for is another one; clocks may differ.
		older := !r.start.IsZero() && r.start.Before(v.entry.Made.Add(-2*listingLag))
		if r.user == v.reserver.config.User && !known && !older && r.status().State != reserve.Gone {
			candidates = append(candidates, r.id)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	return hint.With(fmt.Errorf("its number is not known, as esched ended while preserve made it at %s; it may be one of: %s",
		v.entry.Made.Format(time.DateTime), strings.Join(candidates, ", ")),
		"look at preserve -llist, cancel the one that is not yours on purpose with preserve -c, then esched clean once more")
}
