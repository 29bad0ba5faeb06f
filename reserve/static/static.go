package static

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Kind is the name of this kind of cluster.
const Kind = "static"

// Config describes a Reserver.
type Config struct {
	reserve.Profile
	// Hosts are the nodes; earlier ones are granted first. Required, except to
	// attach to reservations.
	Hosts []string
}

// Reserver grants hosts of a list. Its methods may be called from several
// goroutines.
type Reserver struct {
	config Config
}

// New returns a Reserver.
func New(c Config) *Reserver { return &Reserver{c} }

// Kind implements reserve.Reserver.
func (r *Reserver) Kind() string { return Kind }

// Check implements reserve.Reserver.
func (r *Reserver) Check(ctx context.Context, q reserve.Request) error {
	if err := r.config.Check(ctx, q); err != nil {
		return err
	}
	hosts := r.config.Hosts
	if len(hosts) == 0 {
		return hint.Usage(fmt.Errorf("cluster %s has no hosts", r.config.Cluster), "name them in the profile: hosts = [\"node[001-004]\"]")
	}
	for i, h := range hosts {
		if slices.Contains(hosts[:i], h) {
			return hint.Usage(fmt.Errorf("host %s is listed twice", h), "name each host once")
		}
	}
	if q.Nodes > len(hosts) {
		return hint.Usage(fmt.Errorf("%d nodes asked, %d host(s) listed", q.Nodes, len(hosts)),
			fmt.Sprintf("ask for up to %d nodes, or add hosts to the cluster's profile", len(hosts)))
	}
	return nil
}

// Reserve implements reserve.Reserver.
func (r *Reserver) Reserve(ctx context.Context, q reserve.Request) (reserve.Reservation, error) {
	if err := r.Check(ctx, q); err != nil {
		return nil, err
	}
	e, err := r.config.Enter(q, Kind, reserve.Mark(), "")
	if err != nil {
		return nil, err
	}
	return r.book(e, true), nil
}

// Attach implements reserve.Reserver.
func (r *Reserver) Attach(e reserve.Entry) (reserve.Reservation, error) {
	if err := e.Own(Kind); err != nil {
		return nil, err
	}
	return r.book(e, false), nil
}

// Adopt implements reserve.Adopter. The hosts of the entry are free again, and
// the claim begins anew: nobody but we grants it.
func (r *Reserver) Adopt(ctx context.Context, q reserve.Request, e reserve.Entry) (reserve.Reservation, error) {
	if e.Kind != Kind || e.Cluster != r.config.Cluster {
		return nil, nil
	}
	if err := r.Check(ctx, q); err != nil {
		return nil, err
	}
	anew := r.config.Entry(q, Kind, e.ID, "")
	if ours, err := r.config.Ledger.HandOver(ctx, e, anew); err != nil || !ours {
		return nil, err
	}
	return r.book(anew, true), nil
}

func (r *Reserver) book(e reserve.Entry, waits bool) reserve.Reservation {
	return reserve.Book(r.config.Ledger, e, &reservation{reserver: r, entry: e, waits: waits})
}

// reservation implements reserve.Queue. Where the entry has no hosts it waits
// for some; one attached to such an entry does not, it has lost its waiter.
type reservation struct {
	reserver *Reserver

	mu    sync.Mutex
	entry reserve.Entry
	waits bool
}

// Ask implements reserve.Queue.
func (v *reservation) Ask(ctx context.Context) (reserve.Status, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.reserver.config.Now()
	if len(v.entry.Hosts) == 0 {
		if !v.waits {
			return reserve.Status{State: reserve.Gone, Reason: "the run that waited for hosts has ended"}, nil
		}
		if taken, err := v.take(ctx, now); err != nil || taken != "" {
			return reserve.Status{State: reserve.Pending, Reason: taken}, err
		}
	}
	return v.entry.Granted(now, v.entry.Hosts), nil
}

// take enters hosts that nobody holds, or returns who holds too many. The
// claim counts from the grant.
func (v *reservation) take(ctx context.Context, now time.Time) (taken string, err error) {
	ledger := v.reserver.config.Ledger
	err = ledger.Exclusively(ctx, func() error {
		entries, err := ledger.Entries()
		if err != nil {
			return err
		}
		free := slices.Clone(v.reserver.config.Hosts)
		for _, e := range entries {
			if e.Kind != Kind || e.ID == v.entry.ID || !now.Before(e.Deadline) {
				continue
			}
			free = slices.DeleteFunc(free, func(host string) bool {
				held := slices.Contains(e.Hosts, host)
				if held {
					taken = fmt.Sprintf("%s is held by %s until %s", host, e.Run, e.Deadline.Format(time.TimeOnly))
				}
				return held
			})
		}
		if len(free) < v.entry.Nodes {
			return nil
		}
		taken = ""
		granted := v.entry
		granted.Hosts, granted.Made = free[:v.entry.Nodes], now
		granted.Deadline = now.Add(v.entry.Deadline.Sub(v.entry.Made))
		if err := ledger.Add(granted); err != nil {
			return err
		}
		v.entry = granted
		return nil
	})
	return taken, err
}

// Cancel implements reserve.Queue.
func (v *reservation) Cancel(context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waits, v.entry.Hosts = false, nil // nobody takes hosts from now on
	return nil
}

var _ reserve.Adopter = (*Reserver)(nil)
