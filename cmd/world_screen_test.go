package cmd

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"github.com/esched/esched/internal/slurmworld"
)

// console is a terminal of the smallest usual size with a program of the user's
// on it, and an emulator that shows what a person sees.
type console struct {
	t      *testing.T
	c      *exec.Cmd
	file   *os.File // our side
	screen vt10x.Terminal
	ended  chan struct{}
	drawn  chan struct{} // closed when all output is on the screen, and nobody can write more

	mu    sync.Mutex
	shown []string // what it has shown since a key was pressed, or something seen
}

// console starts esched on a terminal.
func (h *headNode) console(args ...string) *console {
	h.t.Helper()
	return h.onConsole(h.command(context.WithoutCancel(h.t.Context()), args...))
}

// login starts a shell of the user's on a terminal, as one does over ssh.
func (h *headNode) login() *console {
	h.t.Helper()
	c := h.Command(context.WithoutCancel(h.t.Context()), h.t, slurmworld.User, "bash", "--norc", "-i")
	c.Dir = h.dir
	return h.onConsole(c)
}

func (h *headNode) onConsole(c *exec.Cmd) *console {
	h.t.Helper()
	c.Env = append(c.Env, "TERM=xterm-256color")
	master, err := pty.StartWithSize(c, &usualSize)
	if err != nil {
		h.t.Fatal(err)
	}
	file := unblocked(h.t, master)
	x := &console{
		t: h.t, c: c, file: file, ended: make(chan struct{}), drawn: make(chan struct{}),
		screen: vt10x.New(vt10x.WithSize(int(usualSize.Cols), int(usualSize.Rows))),
	}
	go func() {
		defer close(x.ended)
		_ = c.Wait() // its state says all
	}()
	go func() {
		defer close(x.drawn)
		buf := make([]byte, 1<<14)
		for {
			n, err := file.Read(buf)
			x.draw(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	h.t.Cleanup(func() {
		_ = c.Process.Kill()
		<-x.ended
		file.Close()
		<-x.drawn
	})
	return x
}

// frame is what a new picture of the dashboard begins with.
const frame = "\x1b[H"

// draw gives output to the emulator. Each picture is kept, since this process may
// stand still while several of them come.
func (x *console) draw(output []byte) {
	for i, part := range bytes.SplitAfter(output, []byte(frame)) {
		if i > 0 {
			x.mu.Lock()
			x.shown = append(x.shown, x.screen.String())
			x.mu.Unlock()
		}
		_, _ = x.screen.Write(part)
	}
}

// showed tells whether the screen shows a match, or has shown one since what was
// seen last.
func (x *console) showed(want *regexp.Regexp) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.IndexFunc(x.shown, want.MatchString); i >= 0 {
		x.shown = x.shown[i:] // the next one may be in the same picture
		return true
	}
	if !want.MatchString(x.screen.String()) {
		return false
	}
	x.shown = nil
	return true
}

// unblocked returns the same file in a form whose Close ends a Read.
func unblocked(t *testing.T, f *os.File) *os.File {
	t.Helper()
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// hangUp closes the terminal, and waits for the end of the program on it.
func (x *console) hangUp() {
	x.t.Helper()
	if err := x.file.Close(); err != nil {
		x.t.Fatal(err)
	}
	select {
	case <-x.ended:
	case <-time.After(clusterLimit):
		x.t.Fatalf("the program stays without its terminal for %v", clusterLimit)
	}
}

// see waits until the screen shows a text that the pattern matches, also when
// something else is there by now.
func (x *console) see(pattern string) {
	x.t.Helper()
	want := regexp.MustCompile(pattern)
	for end := time.Now().Add(clusterLimit); !x.showed(want); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("%q does not show within %v; the screen:\n%s", pattern, clusterLimit, x.screen.String())
		}
		select {
		case <-x.drawn:
			if !x.showed(want) {
				x.t.Fatalf("%q was not seen before the end; the screen:\n%s", pattern, x.screen.String())
			}
		default:
		}
	}
}

func (x *console) press(keys string) {
	x.t.Helper()
	x.mu.Lock()
	x.shown = nil
	x.mu.Unlock()
	press(x.t, x.file, keys)
}

// ends waits for the end of the program, and of everything it left on the
// terminal, and returns its exit code and the last screen. The terminal must be
// as it was.
func (x *console) ends() (int, string) {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(clusterLimit):
		x.t.Fatalf("no end within %v; the screen:\n%s", clusterLimit, x.screen.String())
	}
	select {
	case <-x.drawn:
	case <-time.After(shortly):
		x.t.Fatalf("something keeps the terminal of a program that ended; the screen:\n%s", x.screen.String())
	}
	if x.screen.Mode()&vt10x.ModeAltScreen != 0 || !x.screen.CursorVisible() {
		x.t.Errorf("not the usual screen with a cursor:\n%s", x.screen.String())
	}
	return x.c.ProcessState.ExitCode(), strings.TrimSpace(x.screen.String())
}
