package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Kind is the name of this kind of cluster.
const Kind = "local"

// Nodes is how many nodes the local cluster has.
const Nodes = 1

// Config describes a Reserver.
type Config struct {
	reserve.Profile
	// Host is the name of the node; "localhost" when empty.
	Host string
}

// Reserver grants this machine.
type Reserver struct {
	config Config
}

// New returns a Reserver.
func New(c Config) *Reserver {
	if c.Host == "" {
		c.Host = "localhost"
	}
	return &Reserver{c}
}

// Kind implements reserve.Reserver.
func (r *Reserver) Kind() string { return Kind }

// Check implements reserve.Reserver.
func (r *Reserver) Check(ctx context.Context, q reserve.Request) error {
	if err := r.config.Check(ctx, q); err != nil {
		return err
	}
	if q.Nodes > Nodes {
		err := fmt.Errorf("local cluster has %d node, %d asked", Nodes, q.Nodes)
		return hint.Usage(err, "set nodes = 1, or choose a cluster that has more with --cluster")
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
	return r.Attach(e)
}

// Attach implements reserve.Reserver.
func (r *Reserver) Attach(e reserve.Entry) (reserve.Reservation, error) {
	if err := e.Own(Kind); err != nil {
		return nil, err
	}
	return reserve.Book(r.config.Ledger, e, &reservation{reserver: r, entry: e}), nil
}

// reservation implements reserve.Queue.
type reservation struct {
	reserver *Reserver

	mu    sync.Mutex
	entry reserve.Entry
	ended bool
}

// Ask implements reserve.Queue: Running until the deadline, then Gone, like a
// queue that took the node back.
func (v *reservation) Ask(context.Context) (reserve.Status, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.entry.Granted(v.reserver.config.Now(), []string{v.reserver.config.Host}), nil
}

// Cancel implements reserve.Queue.
func (v *reservation) Cancel(context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	return nil
}

// Extend implements reserve.Extender: nobody else waits for this machine.
func (v *reservation) Extend(_ context.Context, by time.Duration) (time.Time, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended || !v.reserver.config.Now().Before(v.entry.Deadline) {
		return time.Time{}, errors.New("the claim is over")
	}
	longer := v.entry
	longer.Deadline = longer.Deadline.Add(by)
	if err := v.reserver.config.CheckLonger(longer.Made, longer.Deadline); err != nil {
		return time.Time{}, err
	}
	if err := v.reserver.config.Ledger.Add(longer); err != nil {
		return time.Time{}, err
	}
	v.entry = longer
	return longer.Deadline, nil
}
