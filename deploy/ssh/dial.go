package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/melbahja/goph"
	xssh "golang.org/x/crypto/ssh"

	"github.com/esched/esched/internal/hint"
)

// Retries of a login that the server did not want at that moment.
const (
	attempts   = 12
	firstPause = 100 * time.Millisecond
	longPause  = 3 * time.Second
)

// hopLimit is the length of a chain of jump hosts from which on it is taken
// for a circle.
const hopLimit = 8

// connect connects to a node, if that is permitted.
func (c *Client) connect(ctx context.Context, name string) (*connection, error) {
	if c.config.Permit != nil {
		if err := c.config.Permit(ctx, name); err != nil {
			return nil, fmt.Errorf("ssh to %s: not permitted: %w", name, err)
		}
	}
	s, err := c.resolve(ctx, name, "", "")
	if err != nil {
		return nil, err
	}
	chain, err := c.route(ctx, s, 0)
	if err != nil {
		return nil, fmt.Errorf("ssh to %s: %w", name, err)
	}
	return c.reach(ctx, chain)
}

// route lists the jump hosts on the way to a host, and the host itself.
func (c *Client) route(ctx context.Context, s settings, depth int) ([]settings, error) {
	if s.jump == "" {
		return []settings{s}, nil
	}
	if depth == hopLimit {
		err := fmt.Errorf("jump hosts: more than %d", hopLimit)
		return nil, hint.WithExit(hint.With(err, "remove the circle of ProxyJump from ~/.ssh/config"), hint.ExitUsage)
	}
	var chain []settings
	for i, hop := range strings.Split(s.jump, ",") {
		user, host, port := splitHop(hop)
		h, err := c.resolve(ctx, host, user, port)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the chain counts, not what the host's own settings say
			chain = append(chain, h)
			continue
		}
		if chain, err = c.route(ctx, h, depth+1); err != nil {
			return nil, err
		}
	}
	return append(chain, s), nil
}

// reach connects to the last host of a chain through the others.
func (c *Client) reach(ctx context.Context, chain []settings) (*connection, error) {
	before, s := chain[:len(chain)-1], chain[len(chain)-1]
	if s.control != "" {
		// A master that is gone, or of another kind, is like none.
		if shared, err := c.share(ctx, s); err == nil {
			return shared, nil
		}
	}
	var dialer net.Dialer
	dial := dialer.DialContext
	if len(before) > 0 {
		via, err := c.through(ctx, before)
		if err != nil {
			return nil, fmt.Errorf("ssh to %s: jump host: %w", s.name, err)
		}
		dial = via.client.DialContext
	}
	conn, err := c.login(ctx, s, dial)
	if err != nil {
		return nil, fmt.Errorf("ssh to %s (%s@%s): %w", s.name, s.user, s.address(), err)
	}
	return conn, nil
}

// jump is the connection to a jump host, which all nodes behind it share.
type jump struct {
	mu   sync.Mutex // held while it is made; that of a longer chain is taken before
	conn *connection
}

func (j *jump) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conn != nil {
		j.conn.end(errClosed)
	}
}

// through returns the connection to the last host of a chain of jump hosts.
func (c *Client) through(ctx context.Context, chain []settings) (*connection, error) {
	var key strings.Builder
	for _, s := range chain {
		fmt.Fprintf(&key, "%s@%s,", s.user, s.address())
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errClosed
	}
	j := c.jumps[key.String()]
	if j == nil {
		j = &jump{}
		c.jumps[key.String()] = j
	}
	c.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conn != nil && j.conn.alive() {
		return j.conn, nil
	}
	var err error
	if j.conn, err = c.reach(ctx, chain); err != nil {
		return nil, err
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		j.conn.end(errClosed)
	}
	return j.conn, nil
}

// splitHop takes [user@]host[:port] or ssh://[user@]host[:port] apart.
func splitHop(hop string) (user, host, port string) {
	hop = strings.TrimSuffix(strings.TrimPrefix(hop, "ssh://"), "/")
	if i := strings.LastIndexByte(hop, '@'); i >= 0 {
		user, hop = hop[:i], hop[i+1:]
	}
	if h, p, err := net.SplitHostPort(hop); err == nil {
		return user, h, p
	}
	return user, strings.Trim(hop, "[]"), ""
}

// errClosed is the end of a connection that nobody needs any more.
var errClosed = errors.New("connection is closed")

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// login makes a connection and logs in. It tries again when the server closes
// the connection before it said who it is, which is how sshd sheds load.
func (c *Client) login(ctx context.Context, s settings, dial dialFunc) (*connection, error) {
	keys, err := readHostKeys(s)
	if err != nil {
		return nil, err
	}
	who := identify(ctx, s)
	defer who.close()
	pause := firstPause
	for try := 1; ; try++ {
		conn, err := c.try(ctx, s, dial, keys, who)
		if err == nil {
			return conn, nil
		}
		if try == attempts || !shed(err) {
			return nil, err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		pause = min(2*pause, longPause)
	}
}

// shed tells whether the server closed the connection without a word.
func shed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func (c *Client) limit(s settings) time.Duration {
	switch {
	case c.config.Connect > 0:
		return c.config.Connect
	case s.connect > 0:
		return s.connect
	}
	return defaultConnect
}

// try makes one attempt, when fewer than the limit are going on.
func (c *Client) try(ctx context.Context, s settings, dial dialFunc, keys hostKeys, who identity) (*connection, error) {
	select {
	case c.gate <- struct{}{}:
		defer func() { <-c.gate }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	limit := c.limit(s)
	late := hint.With(fmt.Errorf("no login within %v", limit),
		fmt.Sprintf("see whether the host answers: ssh -v %s true; raise ConnectTimeout in ~/.ssh/config if it is slow", s.name))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	raw, err := dial(ctx, "tcp", s.address())
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, hint.With(err, fmt.Sprintf("see whether the host can be reached: ssh -v %s true", s.name))
	}
	config := goph.Config{Auth: who.auth(), User: s.user, Addr: s.host, Timeout: limit, Callback: keys.verify}
	client, err := handshake(ctx, raw, &config, s.address(), keys.algorithms())
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, who.explain(s, keys.explain(err))
	}
	return c.keep(raw, client, &config, false), nil
}

// handshake logs in over raw, which it closes on failure. ctx bounds all of it,
// also a server that accepts and says nothing: the deadlines of a connection
// would not do, as one through a jump host has none.
func handshake(ctx context.Context, raw net.Conn, config *goph.Config, addr string, algorithms []string) (*xssh.Client, error) {
	type result struct {
		client *xssh.Client
		err    error
	}
	done := make(chan result, 1)
	go func() {
		conn, channels, requests, err := xssh.NewClientConn(raw, addr, &xssh.ClientConfig{
			User: config.User, Auth: config.Auth, HostKeyCallback: config.Callback, HostKeyAlgorithms: algorithms,
			ClientVersion: "SSH-2.0-esched",
		})
		if err != nil {
			raw.Close()
			done <- result{err: err}
			return
		}
		done <- result{client: xssh.NewClient(conn, channels, requests)}
	}()
	select {
	case r := <-done:
		return r.client, r.err
	case <-ctx.Done():
		raw.Close() // ends the goroutine
		return nil, context.Cause(ctx)
	}
}

// share connects through the user's own ssh, which keeps a connection open at
// a control socket: for sites where a login needs a second factor.
func (c *Client) share(ctx context.Context, s settings) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit(s))
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "unix", s.control)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = raw.SetDeadline(deadline)
	}
	conn, channels, requests, err := xssh.NewControlClientConn(raw)
	if err != nil {
		raw.Close()
		return nil, err
	}
	_ = raw.SetDeadline(time.Time{})
	return c.keep(raw, xssh.NewClient(conn, channels, requests), &goph.Config{User: s.user, Addr: s.host}, true), nil
}
