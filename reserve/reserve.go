package reserve

import (
	"context"
	"errors"
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
	switch {
	case !filepath.IsAbs(r.Run):
		return fmt.Errorf("reservation: run directory %q is not an absolute path", r.Run)
	case r.Nodes < 1:
		return hint.Usage(fmt.Errorf("reservation of %d nodes", r.Nodes), "ask for at least one node")
	case r.Claim <= 0:
		return hint.Usage(fmt.Errorf("reservation for %v", r.Claim), "set a claim longer than zero")
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

// Extender is implemented by a [Reservation] whose queue may let its nodes go
// on beyond their deadline.
type Extender interface {
	// Extend asks for so much more time, or a little more where the queue counts
	// in minutes, and returns the new deadline. An error is the reason against it:
	// then everything is as it was, unless it wraps [ErrUnknown]. Only a
	// reservation that runs can be extended.
	Extend(ctx context.Context, by time.Duration) (deadline time.Time, err error)
}

// ErrFixed is wrapped by the errors of queues that lengthen no reservation.
var ErrFixed = errors.New("the queue lengthens no reservations")

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

// Adopter is implemented by a [Reserver] that can go on with a reservation
// which another run made and left.
type Adopter interface {
	// Adopt enters the reservation for the run of the request and returns it, when
	// it is waiting or running, was asked for on the same terms, and has the
	// nodes and nine tenths of the time for the request. Otherwise it returns
	// nil. Where nobody but esched grants nodes, the claim begins anew instead.
	// The caller has made sure that nobody works on the entry's run.
	Adopt(ctx context.Context, r Request, e Entry) (Reservation, error)
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
	// Nodes is how many were asked for, Terms what else was asked for, in the
	// queue's words. A kind that adopts reservations enters both.
	Nodes int    `json:"nodes,omitempty"`
	Terms string `json:"terms,omitempty"`
	// Name is the queue's for the reservation, where ids are not told or may come
	// twice.
	Name string `json:"name,omitempty"`
	// Hosts are the nodes, where the ledger is what grants them.
	Hosts []string `json:"hosts,omitempty"`
}
