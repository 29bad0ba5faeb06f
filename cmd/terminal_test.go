package cmd

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/esched/esched/internal/need"
)

// TestSilentStart runs a command on a terminal that answers no questions, as
// nothing in the program may ask any: each costs seconds there.
func TestSilentStart(t *testing.T) {
	t.Parallel()
	c := exec.Command(os.Args[0], "version")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CI=") { // it silences, too
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, asMain+"=1", "TERM=xterm-256color", "NO_COLOR=1")
	terminal, err := pty.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	late := time.AfterFunc(shortly, func() { _ = c.Process.Kill() })
	defer late.Stop()
	b, _ := io.ReadAll(terminal) // Linux reports the end of a terminal as an error
	if err := c.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	if !strings.HasPrefix(string(b), "esched ") || strings.Contains(string(b), "\x1b") {
		t.Errorf("have %q", b)
	}
}

// TestRunOnTerminal runs an experiment in a pseudo-terminal of the smallest
// size: the dashboard is drawn, closed, and followed by the report's path.
func TestRunOnTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := tiny(need.Python(t), `"dask", "sidekick"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "experiments.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "run")
	c.Dir = dir
	c.Env = append(os.Environ(), asMain+"=1", "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	late := time.AfterFunc(runLimit, func() { _ = c.Process.Kill() })
	defer late.Stop()
	b, _ := io.ReadAll(terminal)
	if err := c.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	screen := string(b)
	for _, want := range []string{"\x1b[?1049h", "so far", "stop after this trial", "\x1b[?1049l", "report: runs/"} {
		at := strings.Index(screen, want)
		if at < 0 {
			t.Fatalf("want %q in %q", want, screen)
		}
		screen = screen[at:]
	}
}
