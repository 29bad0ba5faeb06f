package cmd

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
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
	late := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
	defer late.Stop()
	b, _ := io.ReadAll(terminal) // Linux reports the end of a terminal as an error
	if err := c.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	if !strings.HasPrefix(string(b), "esched ") || strings.Contains(string(b), "\x1b") {
		t.Errorf("have %q", b)
	}
}
