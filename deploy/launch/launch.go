package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
)

// Placeholders in the arguments of a launcher.
const (
	placeNode  = "{node}"
	placeGuard = "{guard}"
)

const (
	// defaultLease is how long guard and esched may be silent.
	defaultLease = 30 * time.Second
	// endBound is how long a launcher may take to end after its guard.
	endBound = 10 * time.Second
)

// SLURM is a launcher for a job of SLURM: a step for each process, beside
// others on the same node. Without -u srun would hold output back until a line
// ends, with -K0 a step that fails leaves the job alone.
func SLURM(job string) []string {
	return []string{
		"srun", "--jobid=" + job, "--nodelist=" + placeNode, "--nodes=1", "--ntasks=1", "--overlap", "--quiet", "-u", "-K0",
		"--mem=0", "--input=0", placeGuard,
	}
}

// DAS is a launcher for a reservation made with preserve.
func DAS(reservation string) []string {
	return []string{"prun", "-reserve", reservation, "-np", "1", "-1", "-native", "-w " + placeNode, placeGuard}
}

// Config describes a Host.
type Config struct {
	// Node is the node's name. Required.
	Node string
	// Argv is the launcher. In each argument {node} is replaced by Node; an
	// argument {guard} by the arguments of the guard's command line. Required,
	// as is {guard}.
	Argv []string
	// Guard is the command line that makes esched a guard on the node, where it
	// must exist: on a file system that this machine shares, for instance.
	// Required.
	Guard []string
	// Records is the directory on the node for records of running processes.
	// Without it nothing is recorded. Recommended.
	Records string
	// Addr is the address under which other nodes reach this one; Node when
	// empty.
	Addr string
	// Env is the environment of the launcher; that of esched when nil.
	Env []string
	// Lease is how long the node may be silent before it is taken for dead, and
	// esched by the guards on it; 30 s when 0.
	Lease time.Duration
	// Until returns when the node is given back, as [deploy.Link] has it.
	// Optional.
	Until func() time.Time
}

// Host is a node behind a launcher. Its methods may be called from several
// goroutines.
type Host struct {
	*deploy.Node
	config Config
}

// New returns a Host. It starts nothing yet.
func New(c Config) (*Host, error) {
	switch {
	case c.Node == "" || len(c.Guard) == 0 || len(c.Argv) == 0:
		return nil, errors.New("launcher: node, guard and command line are needed")
	case !strings.Contains(strings.Join(c.Argv, "\x00")+"\x00", "\x00"+placeGuard+"\x00"):
		err := fmt.Errorf("launcher %s: no argument %s", c.Argv[0], placeGuard)
		return nil, hint.WithExit(hint.With(err, "put "+placeGuard+" where the launcher takes the command to run"), hint.ExitUsage)
	}
	if c.Addr == "" {
		c.Addr = c.Node
	}
	if c.Lease <= 0 {
		c.Lease = defaultLease
	}
	h := &Host{config: c}
	h.Node = deploy.NewNode(c.Node, c.Records, h.open)
	return h, nil
}

// Addr implements deploy.Addresser.
func (h *Host) Addr() string { return h.config.Addr }

// Binary implements deploy.Carrier.
func (h *Host) Binary(context.Context) (string, error) { return h.config.Guard[0], nil }

// argv is the command line that starts a guard for a process of that name.
func (h *Host) argv(name string) []string {
	var all []string
	for _, arg := range h.config.Argv {
		if arg == placeGuard {
			all = append(append(all, h.config.Guard...), name)
			continue
		}
		all = append(all, strings.ReplaceAll(arg, placeNode, h.config.Node))
	}
	return all
}

// open is the deploy.Opener of the host. The launcher runs in a session of its
// own, where no Ctrl-C of the terminal reaches it.
func (h *Host) open(_ context.Context, name string, stderr io.Writer) (deploy.Link, error) {
	argv := h.argv(name)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = h.config.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var complaint deploy.Tail
	cmd.Stderr = io.MultiWriter(&complaint, stderr)
	cmd.WaitDelay = time.Second // for what a launcher left with the pipe open
	in, err := cmd.StdinPipe()
	if err != nil {
		return deploy.Link{}, err
	}
	out, outW := io.Pipe()
	cmd.Stdout = outW
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = hint.With(err, "load the module that brings "+argv[0]+", or choose ssh as the launcher")
		}
		return deploy.Link{}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := cmd.Wait()
		if err == nil {
			err = io.EOF
		} else {
			err = fmt.Errorf("%s: %w", argv[0], err)
		}
		outW.CloseWithError(err)
	}()
	letGo := sync.OnceFunc(func() {
		timer := time.NewTimer(endBound)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
			_ = cmd.Process.Kill()
		}
		out.CloseWithError(io.ErrClosedPipe)
	})
	return deploy.Link{
		In: in, Out: out, Close: letGo, Lease: h.config.Lease, Until: h.config.Until, Complaint: complaint.String,
	}, nil
}
