package dashboard

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	xterm "github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// terminal is a pseudo-terminal with the demo on it and an emulator that
// shows what a person would see.
type terminal struct {
	t      *testing.T
	file   *os.File // our side
	tty    *os.File // the program's side
	before *xterm.State
	cmd    *exec.Cmd
	ended  chan error
	gate   *os.File // closed, it lets the run go on beyond its middle
	screen vt10x.Terminal

	mu  sync.Mutex
	raw strings.Builder
}

// openTerminal starts the demo, in 80 by 24.
func openTerminal(t *testing.T, speed, mode string) *terminal {
	t.Helper()
	file, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, file: file, tty: tty, ended: make(chan error, 1), screen: vt10x.New(vt10x.WithSize(80, 24))}
	t.Cleanup(func() { file.Close(); tty.Close() })
	term.resize(80, 24)
	if term.before, err = xterm.GetState(tty.Fd()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), playVariable+"="+speed, playVariable+"_MODE="+mode,
		"TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "ESCHED_NO_COLOR=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	inherited, gate, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	term.gate = gate
	t.Cleanup(func() { gate.Close() })
	cmd.ExtraFiles = []*os.File{inherited} // gateFile
	// As the controlling terminal, it tells the program when its size changes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term.cmd = cmd
	go func() { term.ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go term.read()
	return term
}

func (x *terminal) read() {
	buf := make([]byte, 1<<14)
	for {
		n, err := x.file.Read(buf)
		x.mu.Lock()
		x.raw.Write(buf[:n])
		x.mu.Unlock()
		_, _ = x.screen.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (x *terminal) resize(w, h int) {
	x.t.Helper()
	x.screen.Resize(w, h)
	if err := pty.Setsize(x.file, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		x.t.Fatal(err)
	}
}

// goOn opens the gate.
func (x *terminal) goOn() {
	x.t.Helper()
	if err := x.gate.Close(); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.file, keys); err != nil {
		x.t.Fatal(err)
	}
}

// patience bounds every wait; a busy machine must not make a test fail.
const patience = 90 * time.Second

// see waits until the screen shows every text.
func (x *terminal) see(texts ...string) string {
	x.t.Helper()
	var have, missing string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		have, missing = x.screen.String(), ""
		for _, text := range texts {
			if !strings.Contains(have, text) {
				missing = text
			}
		}
		if missing == "" {
			return have
		}
	}
	x.t.Fatalf("%q does not show within %v; the screen:\n%s", missing, patience, have)
	return ""
}

// end waits until the program ended and checks that the terminal is as it was:
// its modes, the main screen, a visible cursor, no bracketed paste.
func (x *terminal) end() string {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		x.t.Fatalf("the program does not end; the screen:\n%s", x.screen.String())
	}
	have, err := xterm.GetState(x.tty.Fd())
	if err != nil {
		x.t.Fatal(err)
	}
	if have.Termios != x.before.Termios {
		x.t.Errorf("modes of the terminal: have %+v, want %+v", have.Termios, x.before.Termios)
	}
	if x.screen.Mode()&vt10x.ModeAltScreen != 0 {
		x.t.Error("the alternate screen is left open")
	}
	if !x.screen.CursorVisible() {
		x.t.Error("the cursor is left hidden")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	raw := x.raw.String()
	if strings.Count(raw, "\x1b[?2004h") > 0 && strings.LastIndex(raw, "\x1b[?2004l") < strings.LastIndex(raw, "\x1b[?2004h") {
		x.t.Error("bracketed paste is left on")
	}
	return raw
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "20", "")
	x.see("esched  overhead-laptop", "so far", "now", "events", "q stop after this trial")
	x.see("4/4 workers", "● node001")
	x.see("went wrong", "tried again: worker node002/worker-1 lost")

	x.resize(120, 40)
	screen := x.see("faster ← │ → slower", "q stop after this trial")
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	if len(lines) != 40 || !strings.Contains(lines[39], "q stop") {
		t.Errorf("have %d lines, the last %q; want the keys on line 40", len(lines), lines[len(lines)-1])
	}

	x.press("?")
	x.see("faster than dask")
	x.press("l")
	x.see("deployment ready", "esc back", "/logs")
	x.press("\x1b")
	x.see("so far")
	x.press("/rand")
	x.see("filter: rand_")
	x.press("\r")
	x.see("filter: rand ·")
	x.press("\x1b[200~qQ\x1b[201~") // pasted
	x.press("q")
	x.see("stopping after this trial")
	x.goOn()
	x.see("left in good order")
	x.end()
	x.see("exit code 130", "sidekick/random", "vs dask")
}

func TestTerminalRunEnds(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "2000", "")
	x.goOn()
	x.see("report.html", "exit code 3: finished, some trials failed", "left in good order")
	if raw := x.end(); !strings.Contains(ansi.Strip(raw), "56/56 trials, 55 ok, 1 failed in 05:36") {
		t.Errorf("no summary:\n%s", raw)
	}
}

func TestTerminalCancel(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "1", "")
	x.see("q stop after this trial")
	x.press("\x03")
	x.see("cancelling", "again: do not wait")
	x.press("\x03")
	x.see("exit code 130", "left in good order")
	x.end()
}

func TestTerminalCrash(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "60", "crash")
	x.see("4/4 workers")
	x.press("q")
	x.see("the run goes on, as plain lines")
	x.goOn()
	x.see("error: dashboard: made up")
	raw := x.end()
	if !strings.Contains(raw, "the run goes on, as plain lines") || !strings.Contains(raw, "trial 56/56 ok") ||
		!strings.Contains(raw, "55 ok") {
		t.Errorf("the rest of the run is not told as lines:\n%s", raw)
	}
}

func TestTerminalWatch(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "1", "watch")
	x.see("leave (the run goes on)")
	x.press("q")
	x.see("left in good order")
	x.end()
}
