package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/term"
)

// Process is what a command may know of the process it runs in. [Current]
// makes the real one; tests make their own. Paths given to its methods may be
// relative to Dir.
type Process struct {
	// Args is the command line without the program's name.
	Args []string
	// Stdin, Stdout and Stderr are the standard streams; the flags beside them
	// tell whether they are terminals.
	Stdin                                         io.Reader
	Stdout, Stderr                                io.Writer
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	// LookupEnv reads one environment variable; Environ lists all, "K=V".
	LookupEnv func(name string) (string, bool)
	Environ   func() []string
	// Dir is the working directory, Home the user's home directory ("" when
	// there is none), Temp the directory for temporary files. All absolute.
	Dir, Home, Temp string
	// Executable is the absolute path of esched's own binary.
	Executable string
	// PID is the process id, UID the user's.
	PID, UID int
	// Now is the clock.
	Now func() time.Time
	// LookPath finds a program as a shell does.
	LookPath func(program string) (string, error)
	// Signals delivers the requests to stop (SIGINT, SIGTERM, SIGHUP) by name
	// until the returned function is called.
	Signals func() (<-chan string, func())
	// Guard turns this process into the guard of another; see package deploy.
	Guard func(args []string) int
	// Failpoints end this process where a test wants it to; nil elsewhere.
	Failpoints failpoint.Points
}

// Current returns the process that this program runs in.
func Current() Process {
	dir, _ := os.Getwd()             // a deleted directory shows when a file in it is opened
	home, _ := os.UserHomeDir()      // "" is documented
	executable, _ := os.Executable() // only needed where processes are started, checked there
	return Process{
		Args:  os.Args[1:],
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal:  term.IsTerminal(os.Stdin),
		StdoutTerminal: term.IsTerminal(os.Stdout),
		StderrTerminal: term.IsTerminal(os.Stderr),
		LookupEnv:      os.LookupEnv,
		Environ:        os.Environ,
		Dir:            dir, Home: home, Temp: os.TempDir(),
		Executable: executable,
		PID:        os.Getpid(), UID: os.Getuid(),
		Now:      time.Now,
		LookPath: exec.LookPath,
		Signals:  stopSignals,
		Guard: func(args []string) int {
			return deploy.GuardMain(args, os.Stdin, os.Stdout, os.Stderr)
		},
		Failpoints: failpoint.Armed(os.Getenv(failpoint.Variable), crash),
	}
}

// crash ends this process as nothing can be ended in order: by SIGKILL.
func crash() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // one may always kill oneself
	select {}
}

// stopSignals translates the signals by which people and queues stop a
// program into names.
func stopSignals() (<-chan string, func()) {
	raw := make(chan os.Signal, 4)
	names := make(chan string, 4)
	done := make(chan struct{})
	// SIGPIPE only to survive it: a reader of the output that went away must
	// not take the run with it.
	signal.Notify(raw, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-raw:
				name, stops := map[os.Signal]string{os.Interrupt: "Ctrl-C", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}[s]
				if !stops {
					continue
				}
				select {
				case names <- name:
				case <-done:
					return
				}
			}
		}
	}()
	return names, func() {
		signal.Stop(raw)
		close(done)
	}
}

// env returns the value of an environment variable, "" when it is unset.
func (p Process) env(name string) string {
	v, _ := p.LookupEnv(name)
	return v
}

// path makes a path absolute.
func (p Process) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Dir, path)
}

func (p Process) readFile(path string) ([]byte, error) { return os.ReadFile(p.path(path)) }

// directory is a directory as a file system.
func (p Process) directory(path string) fs.FS { return os.DirFS(p.path(path)) }

func (p Process) stat(path string) (fs.FileInfo, error) { return os.Stat(p.path(path)) }

func (p Process) exists(path string) bool {
	_, err := p.stat(path)
	return err == nil
}

func (p Process) readDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(p.path(path)) }

func (p Process) mkdirAll(path string, mode fs.FileMode) error {
	return os.MkdirAll(p.path(path), mode)
}

// createFile writes a new file and fails with [fs.ErrExist] when there is one.
func (p Process) createFile(path string, data []byte) error {
	f, err := os.OpenFile(p.path(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close() // the first error tells more
		return err
	}
	return f.Close()
}

// replaceFile writes a file by way of a temporary one beside it, so that a
// reader sees the old or the new text and never a part.
func (p Process) replaceFile(path string, write func(io.Writer) error) error {
	path = p.path(path)
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// appendFile opens a file for appending, for the caller to close.
func (p Process) appendFile(path string) (io.WriteCloser, error) {
	return os.OpenFile(p.path(path), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

func (p Process) removeAll(path string) error { return os.RemoveAll(p.path(path)) }

// writable creates and removes a file in dir to find out whether that works.
func (p Process) writable(dir string) error {
	f, err := os.CreateTemp(p.path(dir), ".esched-check-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	return f.Close()
}

// roomy writes and removes a small file in dir to find out whether it has
// room for one.
func (p Process) roomy(dir string) error {
	f, err := os.CreateTemp(p.path(dir), ".esched-check-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	const enough = 64 << 10 // a few records of processes
	if _, err := f.Write(make([]byte, enough)); err != nil {
		_ = f.Close() // the first error tells more
		return err
	}
	return errors.Join(f.Sync(), f.Close()) // some file systems tell only then
}

// isFull tells whether an error is about a file system, or the user's part of
// it, that has no room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// freeBytes is the space left for this user in the file system of dir.
func (p Process) freeBytes(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(p.path(dir), &s); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// freePort finds out whether this user can listen on the loopback address.
func (p Process) freePort(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return l.Close()
}

// alive tells whether a process with this id exists and is this user's.
func (p Process) alive(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil }

// pipeGrace is how long the output of a program that has ended is waited for: a
// grandchild that keeps the pipe must not keep us, and a busy machine needs its
// time to read what is there.
const pipeGrace = 5 * time.Second

// output runs a short program in dir and returns its standard output.
func (p Process) output(ctx context.Context, dir, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env = p.path(dir), p.Environ()
	c.WaitDelay = pipeGrace
	out, err := c.Output()
	return string(out), err
}

// cacheDir is the user's directory for what can be made again, such as Python
// environments; stateDir is esched's for what cannot, such as the ledger of
// reservations.
func (p Process) cacheDir() string { return p.xdg("XDG_CACHE_HOME", ".cache") }

func (p Process) stateDir() string {
	return filepath.Join(p.xdg("XDG_STATE_HOME", ".local/state"), "esched")
}

func (p Process) xdg(variable, fallback string) string {
	if dir := p.env(variable); filepath.IsAbs(dir) { // the XDG rules tell to ignore relative paths
		return dir
	}
	if p.Home != "" {
		return filepath.Join(p.Home, fallback)
	}
	return filepath.Join(p.Temp, "esched-"+strconv.Itoa(p.UID))
}

// maxSocketPath is the longest path of a Unix socket on Linux; maxSocketDir
// leaves room for names in a directory.
const (
	maxSocketPath = 107
	maxSocketDir  = maxSocketPath - 40
)

// privateDir makes a new directory of mode 0700 with a short name for
// sockets and scratch files: under XDG_RUNTIME_DIR when that is usable, else
// under the directory for temporary files. The caller removes it.
func (p Process) privateDir(name string) (string, error) {
	var first error
	for _, base := range []string{p.env("XDG_RUNTIME_DIR"), p.Temp} {
		if !filepath.IsAbs(base) || len(base)+len(name)+12 > maxSocketDir {
			continue
		}
		dir, err := os.MkdirTemp(base, name+"-*") // MkdirTemp uses mode 0700
		if err == nil {
			return dir, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("%s: path too long for sockets (limit %d bytes)", p.Temp, maxSocketDir)
	}
	return "", first
}

// bindable makes and removes a socket to find out whether that works.
func (p Process) bindable(ctx context.Context, path string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return err
	}
	return l.Close() // removes it
}

// lockable takes a lock on a file in dir to find out whether that works.
func (p Process) lockable(dir string) error {
	f, err := os.CreateTemp(p.path(dir), ".esched-lock-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close() // gives the lock back
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// lastLines returns the end of a log file, "" when it cannot be read.
func (p Process) lastLines(path string) string {
	const most = 1000 // bytes
	text, err := os.ReadFile(p.path(path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// stdoutName is what errors of the process's standard output call it.
const stdoutName = "/dev/stdout"
