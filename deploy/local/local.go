package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/esched/esched/deploy"
)

// Config describes a Host.
type Config struct {
	// Guard is the command line that runs deploy.GuardMain, to which the name
	// of the process is added: {"/usr/bin/esched", "guard"}. Required.
	Guard []string
	// Name of the host; "localhost" when empty.
	Name string
	// Addr is the address at which processes on this host listen; "127.0.0.1"
	// when empty.
	Addr string
	// Records is the directory for records of running processes, that of the
	// run joined with deploy.ProcessesDir. Without it nothing is recorded.
	// Recommended.
	Records string
	// Env is the environment of the processes; that of esched when nil.
	Env []string
}

// Host runs commands on this machine. Its methods may be called from several
// goroutines.
type Host struct {
	config Config

	mu      sync.Mutex
	closed  bool
	running map[*deploy.Guarded]struct{}
}

// New returns a Host.
func New(c Config) (*Host, error) {
	if len(c.Guard) == 0 {
		return nil, errors.New("local host: no guard command")
	}
	if c.Name == "" {
		c.Name = "localhost"
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1"
	}
	return &Host{config: c, running: map[*deploy.Guarded]struct{}{}}, nil
}

// Name implements deploy.Host.
func (h *Host) Name() string { return h.config.Name }

// Addr implements deploy.Addresser.
func (h *Host) Addr() string { return h.config.Addr }

// Binary implements deploy.Carrier.
func (h *Host) Binary(context.Context) (string, error) { return h.config.Guard[0], nil }

// Dial implements deploy.Dialer.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// Run implements deploy.Host.
func (h *Host) Run(ctx context.Context, c deploy.Command) ([]byte, error) {
	var out bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	var complaint deploy.Tail
	p, err := h.start(ctx, c, &complaint)
	if err != nil {
		return nil, err
	}
	<-p.Done()
	if ctx.Err() != nil {
		return out.Bytes(), fmt.Errorf("%s on %s: %w", c.Name, h.Name(), context.Cause(ctx))
	}
	if err := p.Err(); err != nil {
		if text := complaint.String(); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return out.Bytes(), err
	}
	return out.Bytes(), nil
}

// Start implements deploy.Host.
func (h *Host) Start(ctx context.Context, c deploy.Command) (deploy.Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: log: %w", c.Name, h.Name(), err)
	}
	defer log.Close() // the guard has its own descriptor
	p, err := h.start(ctx, c, log)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (h *Host) start(ctx context.Context, c deploy.Command, stderr io.Writer) (*deploy.Guarded, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s on %s: %w", c.Name, h.Name(), context.Cause(ctx))
	}
	link, err := h.link(c.Name, stderr)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: guard: %w", c.Name, h.Name(), err)
	}
	p, err := deploy.Supervise(ctx, link, h.Name(), h.config.Records, c)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	closed := h.closed
	h.running[p] = struct{}{}
	h.mu.Unlock()
	if closed {
		return nil, errors.Join(fmt.Errorf("%s on %s: host is closed", c.Name, h.Name()), p.Stop(0))
	}
	go func() {
		<-p.Done()
		h.mu.Lock()
		delete(h.running, p)
		h.mu.Unlock()
	}()
	return p, nil
}

// link starts a guard in a session of its own, where no Ctrl-C of the terminal
// reaches it.
func (h *Host) link(name string, stderr io.Writer) (deploy.Link, error) {
	argv := append(append([]string{}, h.config.Guard...), name)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = h.config.Env
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return deploy.Link{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return deploy.Link{}, err
	}
	if err := cmd.Start(); err != nil {
		return deploy.Link{}, err
	}
	letGo := sync.OnceFunc(func() {
		// After its last frame a guard ends by itself; one that does not is
		// killed, and with it, by the kernel, its command.
		timer := time.AfterFunc(guardBound, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		_ = cmd.Wait()
	})
	return deploy.Link{In: in, Out: out, Close: letGo}, nil
}

// guardBound is how long a guard may take to end after its last word.
const guardBound = 2 * time.Second

// Close implements deploy.Host.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	var all []*deploy.Guarded
	for p := range h.running {
		all = append(all, p)
	}
	h.mu.Unlock()
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, p := range all {
		wait.Go(func() { errs[i] = p.Stop(deploy.DefaultGrace) })
	}
	wait.Wait()
	return errors.Join(errs...)
}
