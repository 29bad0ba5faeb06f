package slurmworld

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
)

// The ordinary users of a world.
const (
	User  = "das"
	Other = "eve"
)

// variable is set for everything that runs on a head, to where the world
// keeps its own files.
const variable = "SLURMWORLD"

//go:embed world.sh
var script string

// Config describes a world.
type Config struct {
	// Nodes is how many it has, 1 to 200. Required.
	Nodes int
	// PAM lets users in by ssh only where they have a job.
	PAM bool
	// Env returns further variables for the test in its world, where files and
	// directories are, too, that they name in the machine's /tmp. It is called
	// outside, and by [Run] only. Optional.
	Env func(t *testing.T) []string
}

// World is the cluster around the test. Methods that take a testing.TB fail
// it when they do not succeed, and may be called from several goroutines
// unless they act on the same node.
type World struct {
	// Nodes are the names of the nodes, sorted.
	Nodes []string
	// Head is the host name of the machine with the controller, which is where
	// the test runs.
	Head string
	dir  string
}

// Run runs f on the head of a new world, as root. It skips the test when this
// machine cannot have one. The test must not do anything outside of f that
// it would not do twice.
func Run(t *testing.T, c Config, f func(t *testing.T, w *World)) {
	t.Helper()
	if os.Getenv(variable) != "" {
		w := Here(t)
		if len(w.Nodes) < c.Nodes {
			t.Fatalf("world of %d nodes, %d wanted", len(w.Nodes), c.Nodes)
		}
		f(t, w)
		return
	}
	if reason := missing(); reason != "" {
		need.Skip(t, reason)
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.count=1"}
	if end, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(end).String())
	}
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.") || strings.HasPrefix(a, "-test.short") {
			args = append(args, a)
		}
	}
	cmd := c.command(t.Context(), args)
	if c.Env != nil {
		cmd.Env = append(cmd.Env, c.Env(t)...)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The kernel ends the world when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	text := strings.TrimSpace(out.String())
	switch {
	case err != nil:
		t.Fatalf("in a world of %d nodes: %v\n%s", c.Nodes, err, text)
	case strings.Contains(text, "--- SKIP: "+t.Name()+" "):
		need.Skip(t, text)
	case !strings.Contains(text, "--- PASS: "+t.Name()+" "):
		t.Fatalf("the test did not run in its world:\n%s", text)
	default:
		t.Log(text)
	}
}

// Main runs the tests of a package on the head of a world and returns the exit
// code. When this machine cannot have one the tests run outside, where [Here]
// skips them. It must be called from TestMain, as its last act.
func Main(m *testing.M, c Config) int {
	if os.Getenv(variable) != "" || missing() != "" {
		return m.Run()
	}
	cmd := c.command(context.Background(), os.Args[1:])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurmworld:", err)
		return 1
	}
	return 0
}

// command runs this test binary in a new world, with the environment that it
// was started with: what a TestMain set for children is set again by the
// TestMain inside.
func (c Config) command(ctx context.Context, args []string) *exec.Cmd {
	argv := append([]string{"-c", script, "slurmworld", "run", strconv.Itoa(c.Nodes), "/proc/self/exe"}, args...)
	if self, err := os.Executable(); err == nil {
		argv[5] = self
	}
	cmd := exec.CommandContext(ctx, "bash", argv...)
	cmd.Env = os.Environ()
	if text, err := os.ReadFile("/proc/self/environ"); err == nil {
		cmd.Env = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	}
	if c.PAM {
		cmd.Env = append(cmd.Env, "SLURMWORLD_PAM=1")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Need skips the test when this machine cannot have a world, for tests that
// start one by other means.
func Need(t testing.TB) {
	t.Helper()
	if reason := missing(); reason != "" {
		need.Skip(t, reason)
	}
}

// missing says why this machine cannot have a world; "" when it can.
func missing() string {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return "a SLURM cluster of namespaces needs Linux and root"
	}
	for _, name := range []string{"slurmctld", "slurmd", "sbatch", "munged", "/usr/sbin/sshd", "ip", "ss", "unshare"} {
		if _, err := exec.LookPath(name); err != nil {
			return name + " is not installed (packages: slurmctld slurmd slurm-client munge openssh-server iproute2)"
		}
	}
	return ""
}

// Here returns the world around the test. Outside of one it skips the test.
func Here(t testing.TB) *World {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		reason := missing()
		if reason == "" {
			t.Fatal("slurmworld.Here outside of a world: use Run or Main")
		}
		need.Skip(t, reason)
	}
	text, err := os.ReadFile(filepath.Join(dir, "count"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Head: "head", dir: dir}
	for i := range n {
		w.Nodes = append(w.Nodes, fmt.Sprintf("node%03d", i+1))
	}
	return w
}

// Home is a user's home directory, on every machine of the world.
func (w *World) Home(t testing.TB, name string) string {
	t.Helper()
	return account(t, name).HomeDir
}

// SSHConfig is the ssh configuration of a user. The keys and known_hosts are
// beside it.
func (w *World) SSHConfig(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(w.Home(t, name), ".ssh", "config")
}

func account(t testing.TB, name string) *user.User {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Command is a command on the head by a user, in the home, with the
// environment of a fresh log-in.
func (w *World) Command(ctx context.Context, t testing.TB, name string, argv ...string) *exec.Cmd {
	t.Helper()
	u := account(t, name)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = u.HomeDir
	cmd.Env = []string{
		"HOME=" + u.HomeDir, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/bash", "LANG=C.UTF-8",
		"PATH=" + filepath.Join(u.HomeDir, "bin") + ":" + os.Getenv("PATH"), variable + "=" + w.dir,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: id(t, u.Uid), Gid: id(t, u.Gid), Groups: []uint32{id(t, u.Gid)}},
		Pdeathsig:  0,
	}
	return cmd
}

func id(t testing.TB, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// commandLimit bounds commands that are not expected to wait: a client of
// SLURM gives up on a silent controller after 10 s.
const commandLimit = 2 * time.Minute

// Output runs a command by a user on the head and returns what it wrote to
// standard output.
func (w *World) Output(t testing.TB, name string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), commandLimit)
	defer cancel()
	cmd := w.Command(ctx, t, name, argv...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q by %s: %v\n%s%s", argv, name, err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// Runner runs programs by a user on the head, those in ~/bin before others, with
// further variables, and returns what they print.
func (w *World) Runner(t testing.TB, name string, env ...string) func(ctx context.Context, argv []string) (stdout, stderr []byte, err error) {
	return func(ctx context.Context, argv []string) ([]byte, []byte, error) {
		own := filepath.Join(w.Home(t, name), "bin", argv[0])
		if _, err := os.Stat(own); err == nil {
			argv = append([]string{own}, argv[1:]...)
		}
		var stdout, stderr bytes.Buffer
		c := w.Command(ctx, t, name, argv...)
		c.Env = append(c.Env, env...)
		c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, 10*time.Second
		err := c.Run()
		return stdout.Bytes(), stderr.Bytes(), err
	}
}

// TempDir makes a directory in a user's home, on the file system that all
// machines share, and removes it after the test.
func (w *World) TempDir(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp(w.Home(t, name), "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.give(t, name, dir)
	return dir
}

// Install copies a program into a user's ~/bin, which is on PATH of
// [World.Command], and returns its path.
func (w *World) Install(t testing.TB, name, program string) string {
	t.Helper()
	dir := filepath.Join(w.Home(t, name), "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, filepath.Base(program))
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	w.give(t, name, dir)
	w.give(t, name, path)
	return path
}

func (w *World) give(t testing.TB, name, path string) {
	t.Helper()
	u := account(t, name)
	if err := os.Chown(path, int(id(t, u.Uid)), int(id(t, u.Gid))); err != nil {
		t.Fatal(err)
	}
}

// known fails the test when there is no such node.
func (w *World) known(t testing.TB, node string) {
	t.Helper()
	if !slices.Contains(w.Nodes, node) {
		t.Fatalf("no node %q in the world", node)
	}
}
