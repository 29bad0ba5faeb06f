package reserve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Queue is what a kind of cluster has to know about one reservation. Both
// methods may be called at the same time, Cancel once at a time.
type Queue interface {
	// Ask returns the queue's answer.
	Ask(ctx context.Context) (Status, error)
	// Cancel gives the nodes back. That there is nothing to give back is no
	// error.
	Cancel(ctx context.Context) error
}

// Booking implements [Reservation] on top of a [Queue]: it keeps the ledger's
// entry until the queue has the nodes back.
type Booking struct {
	ledger   *Ledger
	kind, id string
	queue    Queue

	mu       sync.Mutex // held while the nodes are given back
	released bool
}

// Book returns the reservation of a ledger's entry.
func Book(l *Ledger, e Entry, q Queue) *Booking {
	return &Booking{ledger: l, kind: e.Kind, id: e.ID, queue: q}
}

// ID implements [Reservation].
func (b *Booking) ID() string { return b.id }

// Status implements [Reservation].
func (b *Booking) Status(ctx context.Context) (Status, error) {
	if b.isReleased() {
		return Status{State: Released}, nil
	}
	err := context.Cause(ctx)
	var s Status
	if err == nil {
		s, err = b.queue.Ask(ctx)
	}
	if b.isReleased() { // meanwhile
		return Status{State: Released}, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("reservation %s: %w", b.id, err)
	}
	return s, nil
}

// Extend implements [Extender], for a [Queue] that does.
func (b *Booking) Extend(ctx context.Context, by time.Duration) (time.Time, error) {
	e, extends := b.queue.(Extender)
	err := context.Cause(ctx)
	var deadline time.Time
	switch {
	case err != nil:
	case by <= 0:
		err = fmt.Errorf("extension by %v", by)
	case b.isReleased():
		err = errors.New("it was released")
	case !extends:
		err = ErrFixed
	default:
		deadline, err = e.Extend(ctx, by)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("reservation %s: %w", b.id, err)
	}
	return deadline, nil
}

func (b *Booking) isReleased() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.released
}

// Release implements [Reservation].
func (b *Booking) Release(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released {
		return nil
	}
	if err := b.queue.Cancel(ctx); err != nil {
		return fmt.Errorf("reservation %s: %w", b.id, err)
	}
	if err := b.ledger.Remove(b.kind, b.id); err != nil {
		return err
	}
	b.released = true
	return nil
}

// Own returns the error of an entry that another kind of Reserver made.
func (e Entry) Own(kind string) error {
	if e.Kind != kind {
		return fmt.Errorf("reservation %s: kind %q, want %q", e.ID, e.Kind, kind)
	}
	return nil
}

// Granted is the status of an entry whose claim nobody but the ledger's owner
// grants, and takes back at its deadline.
func (e Entry) Granted(now time.Time, hosts []string) Status {
	s := Status{State: Running, Start: e.Made, Deadline: e.Deadline}
	if now.Before(e.Deadline) {
		s.Hosts = slices.Clone(hosts)
	} else {
		s.State, s.Reason = Gone, "the claim is over"
	}
	return s
}
