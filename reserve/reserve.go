package reserve

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/esched/esched/internal/hint"
)

// Request is what a run asks a queue for.
type Request struct {
	// Run is the absolute path of the run directory the nodes are for. Required.
	Run string
	// Nodes is the number of whole nodes. Required.
	Nodes int
	// Claim is how long they are wanted. Required.
	Claim time.Duration
	// Poll is the interval between questions to the queue; a Reserver may ask
	// less often. Recommended.
	Poll time.Duration
}

// Check refuses a request that makes no sense for any queue.
func (r Request) Check() error {
	usage := func(err error, mend string) error {
		return hint.WithExit(hint.With(err, mend), hint.ExitUsage)
	}
	switch {
	case !filepath.IsAbs(r.Run):
		return fmt.Errorf("reservation: run directory %q is not an absolute path", r.Run)
	case r.Nodes < 1:
		return usage(fmt.Errorf("reservation of %d nodes", r.Nodes), "ask for at least one node")
	case r.Claim <= 0:
		return usage(fmt.Errorf("reservation for %v", r.Claim), "set a claim longer than zero")
	}
	return nil
}

// State of a reservation, by evidence of the queue.
type State string

// The states of a reservation. A reservation that the queue does not list
// (yet) stays Requested; Gone means it was listed and no longer is.
const (
	Requested State = "requested"
	Pending   State = "pending"
	Running   State = "running"
	Released  State = "released"
	Gone      State = "gone"
	Failed    State = "failed"
)

// Status is what the queue said last about a reservation.
type Status struct {
	State    State
	Hosts    []string  // the nodes, when Running
	Reason   string    // the queue's words for why it is pending or failed
	Start    time.Time // actual or estimated; zero when unknown
	Deadline time.Time // when the queue takes the nodes back; zero when it does not
}

// Reservation is a number of nodes granted, or asked for, by a Reserver.
// Methods may be called from several goroutines.
type Reservation interface {
	// ID is the queue's name for the reservation, unique together with the
	// Reserver's kind.
	ID() string
	// Status asks the queue. It returns an error only when the queue could not
	// be asked; a reservation that ended is a state.
	Status(ctx context.Context) (Status, error)
	// Release gives the nodes back. It is idempotent and must be called however
	// the run ends, with a context that is not the cancelled one of the run.
	Release(ctx context.Context) error
}

// Reserver obtains reservations from one kind of queue.
type Reserver interface {
	// Kind is the name of the queue's kind: "local", "slurm".
	Kind() string
	// Check refuses a request that can never be granted (more nodes than the
	// cluster has, a claim beyond the site's policy) with the arithmetic, before
	// anything is claimed.
	Check(ctx context.Context, r Request) error
	// Reserve asks for nodes and returns without waiting for them. The ledger
	// entry is on disk before the queue is asked.
	Reserve(ctx context.Context, r Request) (Reservation, error)
	// Attach returns a reservation that an earlier process made, from what the
	// ledger says of it, to ask for its status or to release it.
	Attach(e Entry) (Reservation, error)
}

// Entry is a ledger line's content: a reservation that a run made and that
// was not released by it so far.
type Entry struct {
	Kind string    `json:"kind"`
	ID   string    `json:"id"`
	Run  string    `json:"run"`
	Made time.Time `json:"made"`
	// Deadline is when the claim asked for ends, counted from Made; the queue
	// may tell another one.
	Deadline time.Time `json:"deadline,omitzero"`
	Cluster  string    `json:"cluster,omitempty"`
}
