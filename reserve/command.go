package reserve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Exec runs a program to its end and returns what it printed. The error of a
// program that is not there wraps exec.ErrNotFound. It may be called from
// several goroutines.
type Exec func(ctx context.Context, argv []string) (stdout, stderr []byte, err error)

// Batch is what a [Reserver] on top of a batch system needs to know of a
// cluster.
type Batch struct {
	Profile
	// Exec runs the system's commands. Required.
	Exec Exec
	// Partition, Account and Constraint are words of the system, Native further
	// options of its command that submits. Optional.
	Partition, Account, Constraint string
	Native                         []string
}

// asked begins the ids of ledger entries of which the queue's id is not known.
const asked = "asked-"

// Announce enters a request into the ledger before the queue is asked, under a
// mark in the place of the queue's id, which is not known yet.
func (b Batch) Announce(q Request, kind, terms string) (e Entry, mark string, err error) {
	mark = Mark()
	e, err = b.Enter(q, kind, asked+mark, terms)
	return e, mark, err
}

// Mark returns the mark of an entry whose id the queue did not tell so far.
func (e Entry) Mark() (mark string, unnamed bool) { return strings.CutPrefix(e.ID, asked) }

// ErrUnknown is wrapped by errors of commands of which nobody knows whether the
// queue did what they asked for.
var ErrUnknown = errors.New("outcome unknown")

// Run executes a command within a time limit and returns what it printed, also
// when it fails. The error tells the command, its exit status and what it
// said.
func (x Exec) Run(ctx context.Context, limit time.Duration, argv ...string) (stdout, stderr string, err error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, complaint, err := x(bounded, argv)
	stdout, stderr = string(out), string(complaint)
	if err == nil {
		return stdout, stderr, nil
	}
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", ErrUnknown, context.Cause(ctx))
	case bounded.Err() != nil:
		err = fmt.Errorf("%w: no answer within %s", ErrUnknown, limit)
	}
	if said := strings.Join(strings.Fields(stdout+" "+stderr), " "); said != "" {
		err = fmt.Errorf("%w: %s", err, said[:min(len(said), 500)])
	}
	return stdout, stderr, fmt.Errorf("%s: %w", strings.Join(argv[:min(len(argv), 8)], " "), err)
}
