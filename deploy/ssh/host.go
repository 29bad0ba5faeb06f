package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
)

// guardBound is how long a guard may take to end after its last word.
const guardBound = 10 * time.Second

// Host is a node that is reached over SSH. Its methods may be called from
// several goroutines.
type Host struct {
	*deploy.Node
	client *Client
	name   string
	addr   string

	mu      sync.Mutex
	closed  bool
	conns   []*connection
	dialing sync.Mutex // held while a connection is made

	staging sync.Mutex // held while the guard's binary is looked for
	guard   string     // its path on the node
	noise   string
}

// Dial connects to a node and returns when esched's binary is there and can be
// executed. The caller closes the Host.
func (c *Client) Dial(ctx context.Context, name string) (*Host, error) {
	h := &Host{client: c, name: name, addr: name}
	h.Node = deploy.NewNode(name, c.config.Records, h.open)
	if _, err := h.stage(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Addr implements deploy.Addresser: the HostName of ssh_config.
func (h *Host) Addr() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addr
}

// Noise is what the start-up files of the login shell print before a command
// runs, "" when they are silent as they should be. esched copes with it; scp,
// sftp and much else do not.
func (h *Host) Noise() string {
	h.staging.Lock()
	defer h.staging.Unlock()
	return h.noise
}

// Dial implements deploy.Dialer: it connects from the node. The connection has
// no deadlines of its own.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	k, err := h.connection(ctx, (*connection).alive)
	if err != nil {
		return nil, err
	}
	conn, err := k.client.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("%s from %s: %w", addr, h.name, err)
	}
	return conn, nil
}

// Close implements deploy.Host.
func (h *Host) Close() error {
	err := h.Node.Close()
	h.mu.Lock()
	h.closed = true
	all := h.conns
	h.conns = nil
	h.mu.Unlock()
	for _, k := range all {
		k.end(errClosed)
	}
	return err
}

// connection returns a connection that has what the caller needs, a new one if
// none of those that are open has.
func (h *Host) connection(ctx context.Context, has func(*connection) bool) (*connection, error) {
	if k, err := h.pick(has); k != nil || err != nil {
		return k, err
	}
	h.dialing.Lock()
	defer h.dialing.Unlock()
	if k, err := h.pick(has); k != nil || err != nil { // somebody else made one
		return k, err
	}
	k, err := h.client.connect(ctx, h.name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		k.end(errClosed)
		return nil, fmt.Errorf("ssh to %s: host is closed", h.name)
	}
	h.conns = append(h.conns, k)
	h.addr = k.client.Config.Addr
	if !has(k) {
		return nil, fmt.Errorf("ssh to %s: %w", h.name, k.err())
	}
	return k, nil
}

func (h *Host) pick(has func(*connection) bool) (*connection, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("ssh to %s: host is closed", h.name)
	}
	alive := h.conns[:0]
	var found *connection
	for _, k := range h.conns {
		if !k.alive() {
			continue
		}
		alive = append(alive, k)
		if found == nil && has(k) {
			found = k
		}
	}
	h.conns = alive
	return found, nil
}

// connected tells whether any connection is open.
func (h *Host) connected() bool {
	k, err := h.pick((*connection).alive)
	return k != nil && err == nil
}

// session opens a session on a connection that has room for it.
func (h *Host) session(ctx context.Context) (*xssh.Session, *connection, error) {
	for {
		k, err := h.connection(ctx, (*connection).take)
		if err != nil {
			return nil, nil, err
		}
		s, err := k.session(ctx)
		if err == nil {
			return s, k, nil
		}
		if ctx.Err() != nil || !errors.Is(err, errRefused) {
			return nil, nil, fmt.Errorf("ssh to %s: %w", h.name, err)
		}
		if !k.full() || k.shared {
			err = fmt.Errorf("ssh to %s: %w", h.name, err)
			return nil, nil, hint.With(err, "raise MaxSessions in the node's sshd_config, or start fewer processes on the node")
		}
	}
}

// open is the deploy.Opener of the host.
func (h *Host) open(ctx context.Context, name string, stderr io.Writer) (deploy.Link, error) {
	path, err := h.stage(ctx)
	if err != nil {
		return deploy.Link{}, err
	}
	argv := append([]string{path}, h.client.config.GuardArgs...)
	s, err := h.start(ctx, commandLine(append(argv, label(name))...), stderr)
	if err != nil {
		return deploy.Link{}, err
	}
	return deploy.Link{
		In: s, Out: s.out, Close: s.letGo, Lease: h.client.config.Lease, Until: h.client.config.Until, Complaint: s.complaint.String,
	}, nil
}

// label makes the name of a process one word for any shell.
func label(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(plain, r) {
			return r
		}
		return '-'
	}, name)
}

// stream is a program that runs in a session. Writing is to its standard input.
type stream struct {
	session   *xssh.Session
	writing   sync.Mutex // a channel of x/crypto cannot be written to and closed at once
	in        io.WriteCloser
	closed    sync.Once
	out       *io.PipeReader
	complaint *deploy.Tail
	ended     chan struct{}
}

// start executes a command line on the node.
func (h *Host) start(ctx context.Context, line string, stderr io.Writer) (*stream, error) {
	session, k, err := h.session(ctx)
	if err != nil {
		return nil, err
	}
	s := &stream{session: session, complaint: &deploy.Tail{}, ended: make(chan struct{})}
	if s.in, err = session.StdinPipe(); err != nil {
		session.Close()
		k.give()
		return nil, err
	}
	var out *io.PipeWriter
	s.out, out = io.Pipe()
	session.Stdout, session.Stderr = out, io.MultiWriter(s.complaint, stderr)
	started := make(chan error, 1)
	go func() {
		err := session.Start(line)
		started <- err
		if err == nil {
			err = session.Wait()
		}
		// Only now the server no longer counts the session.
		k.give()
		session.Close()
		if cause := k.err(); cause != nil {
			err = cause
		}
		if err == nil {
			err = io.EOF
		}
		out.CloseWithError(err)
		close(s.ended)
	}()
	select {
	case err = <-started:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		s.letGo()
		return nil, fmt.Errorf("ssh to %s: command: %w", h.name, err)
	}
	return s, nil
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.in.Write(p)
}

// Close ends the program's standard input. It does not wait: on a connection
// that takes nothing more the message stays where it is.
func (s *stream) Close() error {
	s.closed.Do(func() {
		go func() {
			s.writing.Lock()
			defer s.writing.Unlock()
			_ = s.in.Close()
		}()
	})
	return nil
}

// letGo waits until the program has ended and its output has been copied, but
// not for long.
func (s *stream) letGo() {
	timer := time.NewTimer(guardBound)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		go s.session.Close()
	}
	s.out.CloseWithError(errClosed)
}

// Binary implements deploy.Carrier: esched's binary, where the Host put or
// found it.
func (h *Host) Binary(ctx context.Context) (string, error) { return h.stage(ctx) }
