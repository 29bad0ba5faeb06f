package local

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
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
	// Ledger gets the entries. Required.
	Ledger *reserve.Ledger
	// Now is the clock. Required.
	Now func() time.Time
	// Cluster is the name of the cluster profile. Optional.
	Cluster string
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
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := q.Check(); err != nil {
		return err
	}
	if q.Nodes > Nodes {
		err := fmt.Errorf("local cluster has %d node, %d asked", Nodes, q.Nodes)
		return hint.WithExit(hint.With(err, "set nodes = 1, or choose a cluster that has more with --cluster"), hint.ExitUsage)
	}
	return nil
}

// Reserve implements reserve.Reserver.
func (r *Reserver) Reserve(ctx context.Context, q reserve.Request) (reserve.Reservation, error) {
	if err := r.Check(ctx, q); err != nil {
		return nil, err
	}
	now := r.config.Now()
	e := reserve.Entry{
		Kind: Kind, ID: strings.ToLower(rand.Text()[:10]), Run: q.Run, Made: now,
		Deadline: now.Add(q.Claim), Cluster: r.config.Cluster,
	}
	if err := r.config.Ledger.Add(e); err != nil {
		return nil, err
	}
	return r.Attach(e)
}

// Attach implements reserve.Reserver.
func (r *Reserver) Attach(e reserve.Entry) (reserve.Reservation, error) {
	if e.Kind != Kind {
		return nil, fmt.Errorf("reservation %s: kind %q, want %q", e.ID, e.Kind, Kind)
	}
	return &reservation{reserver: r, entry: e}, nil
}

type reservation struct {
	reserver *Reserver
	entry    reserve.Entry

	mu       sync.Mutex
	released bool
}

func (v *reservation) ID() string { return v.entry.ID }

// Status tells Running until the deadline, then Gone, like a queue that took
// the node back.
func (v *reservation) Status(ctx context.Context) (reserve.Status, error) {
	if ctx.Err() != nil {
		return reserve.Status{}, fmt.Errorf("local reservation %s: %w", v.entry.ID, context.Cause(ctx))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s := reserve.Status{State: reserve.Running, Start: v.entry.Made, Deadline: v.entry.Deadline}
	switch {
	case v.released:
		s.State = reserve.Released
	case !v.reserver.config.Now().Before(v.entry.Deadline):
		s.State, s.Reason = reserve.Gone, "the claim is over"
	default:
		s.Hosts = []string{v.reserver.config.Host}
	}
	return s, nil
}

func (v *reservation) Release(context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.reserver.config.Ledger.Remove(Kind, v.entry.ID); err != nil {
		return err
	}
	v.released = true
	return nil
}
