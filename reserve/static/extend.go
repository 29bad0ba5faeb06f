package static

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Extend implements reserve.Extender, unless another run waits for hosts of
// this cluster: it was told until when these are held.
func (v *reservation) Extend(ctx context.Context, by time.Duration) (time.Time, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	longer := v.entry
	longer.Deadline = longer.Deadline.Add(by)
	if err := v.reserver.config.CheckLonger(longer.Made, longer.Deadline); err != nil {
		return time.Time{}, err
	}
	err := v.reserver.config.Ledger.Exclusively(ctx, func() error {
		if err := v.extendable(); err != nil {
			return err
		}
		return v.reserver.config.Ledger.Add(longer)
	})
	if err != nil {
		return time.Time{}, err
	}
	v.entry = longer
	return longer.Deadline, nil
}

// extendable returns why the hosts must be given back at the deadline, as the
// ledger is; it is locked.
func (v *reservation) extendable() error {
	if len(v.entry.Hosts) == 0 || !v.reserver.config.Now().Before(v.entry.Deadline) {
		return errors.New("it has no hosts at present")
	}
	entries, err := v.reserver.config.Ledger.Entries()
	if err != nil {
		return err
	}
	ours := false
	for _, e := range entries {
		switch {
		case e.Kind != Kind:
		case e.ID == v.entry.ID:
			ours = e.Run == v.entry.Run && slices.Equal(e.Hosts, v.entry.Hosts)
		case e.Cluster == v.entry.Cluster && len(e.Hosts) == 0:
			return hint.With(fmt.Errorf("%s waits for hosts of cluster %s", e.Run, e.Cluster),
				reserve.OtherClaim+"; if that run has ended: esched clean")
		}
	}
	if !ours {
		return errors.New("the ledger has it no more: it was released, or another run has taken it over")
	}
	return nil
}
