package ssh

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// Defaults of a Config.
const (
	// defaultConnect bounds connecting and logging in, including the server's
	// banner, when ssh_config sets no ConnectTimeout.
	defaultConnect = 20 * time.Second
	// defaultLease is how long a node may be silent before it is taken for dead.
	defaultLease = 30 * time.Second
	// maxDials is below the 10 logins at a time from which on sshd refuses some
	// (MaxStartups 10:30:100).
	maxDials = 8
	// maxSessions on one connection is below sshd's MaxSessions 10. A Host opens
	// another connection for more.
	maxSessions = 8
)

// Config describes how nodes are reached. Everything that comes from the
// user's environment is in here.
type Config struct {
	// Home is the user's home directory and User the login name, both for what
	// ssh_config leaves open. Required.
	Home string
	User string
	// AgentSocket is the socket of a running agent (SSH_AUTH_SOCK). Optional.
	AgentSocket string
	// Env is the environment for the program ssh; nil is that of esched.
	Env []string
	// Program is OpenSSH's client, which is asked for the user's configuration
	// (ssh -G); "ssh" when empty. Without such a program only the user's
	// defaults are known: port 22, keys and known hosts in ~/.ssh.
	Program string
	// File is an ssh_config file to use instead of the user's. Optional.
	File string
	// Options are ssh_config settings before all others: "Port=2222". Optional.
	Options []string

	// Binary is the path of an esched executable on this machine, for the guards
	// on the nodes. Required.
	Binary string
	// GuardArgs are the arguments that make it a guard; {"guard"} when nil.
	GuardArgs []string
	// Scratch is a directory on the nodes for a copy of Binary; "/tmp" when
	// empty. The copy is in a directory that only the user can enter.
	Scratch string
	// Records is the directory on the nodes for records of running processes,
	// best on a file system they share: that of the run joined with
	// deploy.ProcessesDir. Without it nothing is recorded. Recommended.
	Records string

	// Permit is asked before each connection to a node (not to jump hosts) and
	// returns why it must not be made, for instance because the node is not in
	// a running reservation of the user. Optional.
	Permit func(ctx context.Context, host string) error

	// Connect bounds connecting and logging in; 20 s or the ConnectTimeout of
	// ssh_config when 0.
	Connect time.Duration
	// Lease is how long a node may be silent before it is taken for dead, and
	// esched by the guards on it; 30 s when 0.
	Lease time.Duration
	// Until returns when the nodes are given back, as [deploy.Link] has it.
	// Optional.
	Until func() time.Time
}

// Client connects to nodes. Its methods may be called from several goroutines.
type Client struct {
	config Config
	gate   chan struct{} // a token for each login that is going on
	binary func() (binary, error)

	mu     sync.Mutex
	closed bool
	jumps  map[string]*jump
}

// New returns a Client. It connects to nothing yet.
func New(c Config) (*Client, error) {
	if c.Home == "" || c.User == "" || c.Binary == "" {
		return nil, errors.New("ssh: home directory, user and binary are needed")
	}
	if !filepath.IsAbs(c.Binary) {
		return nil, fmt.Errorf("ssh: binary %s: not an absolute path", c.Binary)
	}
	if c.Program == "" {
		c.Program = "ssh"
	}
	if c.GuardArgs == nil {
		c.GuardArgs = []string{"guard"}
	}
	if c.Scratch == "" {
		c.Scratch = "/tmp"
	}
	if c.Lease <= 0 {
		c.Lease = defaultLease
	}
	return &Client{
		config: c,
		gate:   make(chan struct{}, maxDials),
		binary: sync.OnceValues(func() (binary, error) { return readBinary(c.Binary) }),
		jumps:  map[string]*jump{},
	}, nil
}

// Close ends the connections to jump hosts. Hosts are closed before.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	all := c.jumps
	c.jumps = map[string]*jump{}
	c.mu.Unlock()
	for _, j := range all {
		j.close()
	}
	return nil
}
