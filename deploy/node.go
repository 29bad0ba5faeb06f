package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Opener starts a guard on a node and connects to it. name is for people who
// read the node's process list; what the guard and its command write to their
// standard error goes to stderr, all of it before Link.Close returns.
type Opener func(ctx context.Context, name string, stderr io.Writer) (Link, error)

// Node is what all kinds of Hosts share that reach their node through guards:
// it runs commands, places files and cleans up. Kinds of Hosts differ in how
// they open a guard. Its methods may be called from several goroutines.
type Node struct {
	name, records string
	open          Opener

	mu      sync.Mutex
	closed  bool
	running map[*Guarded]struct{}
}

// NewNode returns a Node with that name. records is a directory on the node
// for the records of running processes, "" for none.
func NewNode(name, records string, open Opener) *Node {
	return &Node{name: name, records: records, open: open, running: map[*Guarded]struct{}{}}
}

// Name implements [Host].
func (n *Node) Name() string { return n.name }

// Run implements [Host].
func (n *Node) Run(ctx context.Context, c Command) ([]byte, error) {
	var out bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	var complaint Tail
	p, err := n.start(ctx, c, &complaint)
	if err != nil {
		return nil, err
	}
	<-p.Done()
	if ctx.Err() != nil {
		return out.Bytes(), fmt.Errorf("%s on %s: %w", c.Name, n.name, context.Cause(ctx))
	}
	if err := p.Err(); err != nil {
		if text := complaint.String(); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return out.Bytes(), err
	}
	return out.Bytes(), nil
}

// Start implements [Host].
func (n *Node) Start(ctx context.Context, c Command) (Process, error) {
	log, err := openLog(c.Log, logLimit)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", c.Name, n.name, err)
	}
	p, err := n.start(ctx, c, log)
	if err != nil {
		log.Close()
		return nil, err
	}
	go func() {
		<-p.Done()
		log.Close()
	}()
	return p, nil
}

func (n *Node) start(ctx context.Context, c Command, stderr io.Writer) (*Guarded, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s on %s: %w", c.Name, n.name, context.Cause(ctx))
	}
	link, err := n.guard(ctx, c.Name, stderr)
	if err != nil {
		return nil, err
	}
	p, err := Supervise(ctx, link, n.name, n.records, c)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	closed := n.closed
	n.running[p] = struct{}{}
	n.mu.Unlock()
	if closed {
		return nil, errors.Join(n.errClosed(c.Name), p.Stop(0))
	}
	go func() {
		<-p.Done()
		n.mu.Lock()
		delete(n.running, p)
		n.mu.Unlock()
	}()
	return p, nil
}

// guard opens a guard unless the node is closed.
func (n *Node) guard(ctx context.Context, name string, stderr io.Writer) (Link, error) {
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	if closed {
		return Link{}, n.errClosed(name)
	}
	link, err := n.open(ctx, name, stderr)
	if err != nil {
		return Link{}, fmt.Errorf("%s on %s: guard: %w", name, n.name, err)
	}
	return link, nil
}

func (n *Node) errClosed(name string) error {
	return fmt.Errorf("%s on %s: host is closed", name, n.name)
}

// Close implements [Host]. It does not let go of a connection: that is for the
// kind of Host that opened it.
func (n *Node) Close() error {
	n.mu.Lock()
	n.closed = true
	var all []*Guarded
	for p := range n.running {
		all = append(all, p)
	}
	n.mu.Unlock()
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, p := range all {
		wait.Go(func() { errs[i] = p.Stop(DefaultGrace) })
	}
	wait.Wait()
	return errors.Join(errs...)
}
