package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/melbahja/goph"
	xssh "golang.org/x/crypto/ssh"
)

// keepShare is how many questions for a sign of life fit into a lease.
const keepShare = 3

// connection is a connection on which sessions are counted and whose end is
// noticed.
type connection struct {
	client *goph.Client
	raw    net.Conn
	shared bool // belongs to the user's own ssh
	gone   chan struct{}

	mu    sync.Mutex
	used  int // sessions
	limit int
	cause error
}

// keep takes over a connection and watches it.
func (c *Client) keep(raw net.Conn, client *xssh.Client, config *goph.Config, shared bool) *connection {
	k := &connection{
		client: &goph.Client{Client: client, Config: config},
		raw:    raw, shared: shared, gone: make(chan struct{}), limit: maxSessions,
	}
	go func() {
		err := client.Wait()
		if err == nil {
			err = net.ErrClosed
		}
		k.end(fmt.Errorf("connection lost: %w", err))
	}()
	if !shared { // a control socket forwards no such questions; guards notice
		go k.watch(c.config.Lease)
	}
	return k
}

// watch asks for signs of life. Any answer is one, also a refusal.
func (k *connection) watch(lease time.Duration) {
	ticker := time.NewTicker(lease / keepShare)
	defer ticker.Stop()
	answered := make(chan struct{}, 1)
	for {
		select {
		case <-ticker.C:
		case <-k.gone:
			return
		}
		go func() {
			if _, _, err := k.client.SendRequest("keepalive@openssh.com", true, nil); err == nil {
				answered <- struct{}{}
			}
		}()
		timer := time.NewTimer(lease - lease/keepShare)
		select {
		case <-answered:
		case <-k.gone:
		case <-timer.C:
			k.end(fmt.Errorf("connection given up: no answer for %v", lease))
		}
		timer.Stop()
	}
}

// end closes the connection, for the first given cause.
func (k *connection) end(cause error) {
	k.mu.Lock()
	first := k.cause == nil
	if first {
		k.cause = cause
		close(k.gone)
	}
	k.mu.Unlock()
	if first {
		// The raw one: a message of farewell could wait for ever.
		k.raw.Close()
	}
}

func (k *connection) alive() bool { return k.err() == nil }

func (k *connection) err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cause
}

// take reserves a session, if there is one left.
func (k *connection) take() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cause != nil || k.used >= k.limit {
		return false
	}
	k.used++
	return true
}

func (k *connection) give() {
	k.mu.Lock()
	k.used--
	k.mu.Unlock()
}

// full notes that the server refused a session although there were fewer than
// the limit. It tells whether there is any hope on this connection.
func (k *connection) full() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used--
	k.limit = k.used
	return k.used > 0
}

// errRefused is a server's refusal to open one more session.
var errRefused = errors.New("session refused")

// session opens a session that was reserved with take.
func (k *connection) session(ctx context.Context) (*xssh.Session, error) {
	type result struct {
		session *xssh.Session
		err     error
	}
	done := make(chan result, 1)
	go func() {
		s, err := k.client.NewSession()
		done <- result{s, err}
	}()
	select {
	case r := <-done:
		if refused, ok := errors.AsType[*xssh.OpenChannelError](r.err); ok {
			return nil, fmt.Errorf("%w: %s", errRefused, refused.Message)
		}
		if r.err != nil {
			k.end(fmt.Errorf("connection lost: %w", r.err))
			return nil, k.err()
		}
		return r.session, nil
	case <-ctx.Done():
		go func() { // what comes late is closed again
			if r := <-done; r.session != nil {
				r.session.Close()
			}
			k.give()
		}()
		return nil, context.Cause(ctx)
	}
}
