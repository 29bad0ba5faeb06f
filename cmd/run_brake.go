package cmd

import (
	"context"
	"fmt"
	"sync"

	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// brake stops a run in three strengths: after the current trial, now, and
// without waiting for what is being stopped. All methods may be called from
// any goroutine.
type brake struct {
	// afterTrial is closed by soon, kill is done after the second now.
	afterTrial chan struct{}
	kill       context.Context
	tell       func(record.Event)
	// harder is what people do to stop the run now.
	harder string

	mu        sync.Mutex
	interrupt context.CancelCauseFunc
	force     context.CancelFunc
	closed    bool // afterTrial
	presses   int  // of now
	done      chan struct{}
}

// newBrake returns a context that ends with [runners.ErrInterrupted] when the
// run is to stop now.
func newBrake(ctx context.Context) (context.Context, *brake) {
	b := &brake{afterTrial: make(chan struct{}), done: make(chan struct{}), harder: "Ctrl-C", tell: func(record.Event) {}}
	b.kill, b.force = context.WithCancel(context.WithoutCancel(ctx))
	ctx, b.interrupt = context.WithCancelCause(ctx)
	return ctx, b
}

// listen takes signals until the brake is released.
func (b *brake) listen(names <-chan string) {
	for {
		select {
		case name := <-names:
			b.now(name)
		case <-b.done:
			return
		}
	}
}

// soon stops after the trial that is running.
func (b *brake) soon(by string) {
	b.mu.Lock()
	first := !b.closed
	if first {
		b.closed = true
		close(b.afterTrial)
	}
	b.mu.Unlock()
	if first {
		b.tell(record.Event{Kind: record.EventStopping, State: record.StopAfterTrial,
			Message: fmt.Sprintf("%s: stopping after the current trial; %s stops now", by, b.harder)})
	}
}

// now gives the current trial up and tears down; the second time it waits for
// nothing.
func (b *brake) now(by string) {
	b.mu.Lock()
	b.presses++
	n := b.presses
	b.mu.Unlock()
	switch n {
	case 1:
		b.tell(record.Event{Kind: record.EventStopping, State: record.StopNow,
			Message: fmt.Sprintf("%s: stopping now, the current trial is given up; %s again kills without waiting", by, b.harder)})
		b.interrupt(runners.ErrInterrupted)
	case 2:
		b.tell(record.Event{Kind: record.EventStopping, State: record.StopAtOnce, Message: by + " again: killing at once"})
		b.force()
	}
}

func (b *brake) release() {
	close(b.done)
	b.interrupt(nil)
	b.force()
}
