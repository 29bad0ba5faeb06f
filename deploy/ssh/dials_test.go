package ssh_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
)

// crowded stands before an sshd. It keeps everybody waiting at first, then
// closes those connections without a word, as an sshd with too much to do does,
// and from then on forwards all others.
type crowded struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	open    bool
	waiting []net.Conn
	came    int // connections so far
}

func startCrowded(t *testing.T, port string) *crowded {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &crowded{listener: l, target: net.JoinHostPort("127.0.0.1", port)}
	var all sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		c.shed()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if c.admit(conn) {
				all.Go(func() { c.forward(conn) })
			}
		}
	})
	return c
}

// admit tells whether to forward a connection now.
func (c *crowded) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.came++
	if !c.open {
		c.waiting = append(c.waiting, conn)
	}
	return c.open
}

func (c *crowded) forward(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer server.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, server)
		conn.Close()
	})
	_, _ = io.Copy(server, conn)
	server.Close()
	back.Wait()
}

// shed closes what waits and opens the way for what comes after.
func (c *crowded) shed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	for _, conn := range c.waiting {
		conn.Close()
	}
	c.waiting = nil
}

func (c *crowded) counted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.came
}

// through returns the configuration for logins at an sshd by way of a crowded
// one.
func (c *crowded) through(t *testing.T, d *deploytest.SSHD) ssh.Config {
	t.Helper()
	text, err := os.ReadFile(d.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte(strings.ReplaceAll(string(text), "[127.0.0.1]:"+d.Port, "crowded")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(c.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conf := config(t, d)
	conf.Options = []string{"Port=" + port, "HostKeyAlias=crowded", "UserKnownHostsFile=" + known}
	return conf
}

// TestManyDials logs in more often at once than sshd likes: at most eight logins
// of a client are under way, and one that the server did not want is tried
// again. A whole login past the crowd, begun when all others were, is the time in
// which a ninth would have come.
func TestManyDials(t *testing.T) {
	t.Parallel()
	const (
		clients = 2
		each    = 12
		atOnce  = 8
	)
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{"MaxStartups 14:30:100"}})
	c := startCrowded(t, d.Port)
	conf := c.through(t, d)
	errs := make([]error, clients*each)
	var wait sync.WaitGroup
	dials := func(first int) {
		client, err := ssh.New(conf)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		for i := range each {
			wait.Go(func() {
				h, err := client.Dial(t.Context(), "node001")
				if err == nil {
					err = h.Close()
				}
				errs[first+i] = err
			})
		}
	}
	for i := range clients {
		dials(i * each)
	}
	const held = clients * atOnce
	deploytest.Await(t, "logins", bound, func() error {
		if have := c.counted(); have < held {
			return fmt.Errorf("%d of %d came", have, held)
		}
		return nil
	})
	dial(t, config(t, d), "node001")
	if have := c.counted(); have != held {
		t.Errorf("want %d logins under way, %d for each of %d clients, have %d", held, atOnce, clients, have)
	}
	c.shed()
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("want all of %d dials to succeed, have: %v", len(errs), err)
	}
	if want, have := len(errs)+held, c.counted(); have < want {
		t.Errorf("%d logins were not wanted at first: want %d attempts or more, have %d", held, want, have)
	}
}
