package dashboard

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/esched/esched/runners/record"
)

// send hands events over and fails when that is held up.
func send(t *testing.T, ch chan<- record.Event, events []record.Event) {
	t.Helper()
	for _, e := range events {
		select {
		case ch <- e:
		case <-time.After(patience):
			t.Fatal("the run is held up by its dashboard")
		}
	}
}

func outcome(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("the dashboard does not end")
	}
	return nil
}

// TestTerminalGoesAway hangs up in the middle of a run.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	seen := make(chan struct{})
	go func() { // until something was drawn
		buf := make([]byte, 1<<12)
		for total := 0; total < 1000; {
			n, err := master.Read(buf)
			if err != nil {
				break
			}
			total += n
		}
		close(seen)
	}()
	d := demo{repetitions: 2, workers: 2, nodes: 1}
	ch, done := make(chan record.Event), make(chan error, 1)
	go func() {
		done <- Run(t.Context(), slave, slave, demoOptions(d.manifest()), ch, Control{Cancel: func() {}})
	}()
	all := d.events()
	send(t, ch, all[:20])
	select {
	case <-seen:
	case <-time.After(patience):
		t.Fatal("nothing is drawn")
	}
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
	send(t, ch, all[20:])
	close(ch)
	_ = outcome(t, done) // with or without an error, depending on what noticed first
}

// clog writes to a terminal that nobody reads until it takes no more.
func clog(t *testing.T, terminal *os.File) {
	t.Helper()
	fd, err := syscall.Open(terminal.Name(), syscall.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	block := []byte(strings.Repeat("x", 1<<10))
	// What was taken moves from one buffer to the next, which makes room again.
	for full := 0; full < 20; {
		_, err := syscall.Write(fd, block)
		switch {
		case err == nil:
			full = 0
		case errors.Is(err, syscall.EAGAIN):
			full++
			time.Sleep(10 * time.Millisecond)
		case !errors.Is(err, syscall.EINTR):
			t.Fatal(err)
		}
	}
}

// TestTerminalStuck never reads what is drawn, as a connection that hangs.
func TestTerminalStuck(t *testing.T) {
	t.Parallel()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	// slave stays open: what hangs on it may still look at it after the test.
	defer master.Close()
	d := demo{repetitions: 2, workers: 2, nodes: 1}
	ch := make(chan record.Event)
	clog(t, slave)
	done := make(chan error, 1)
	go func() {
		done <- Run(t.Context(), slave, slave, demoOptions(d.manifest()), ch, Control{Cancel: func() {}})
	}()
	send(t, ch, d.events())
	close(ch)
	if err := outcome(t, done); err == nil || !strings.Contains(err.Error(), "no output taken") {
		t.Errorf("have error %v", err)
	}
}

// sheet collects output.
type sheet struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *sheet) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *sheet) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestContextEndsTheScreen(t *testing.T) {
	t.Parallel()
	d := demo{repetitions: 1, workers: 2, nodes: 1}
	ctx, cancel := context.WithCancel(t.Context())
	ch, done := make(chan record.Event), make(chan error, 1)
	var out sheet
	go func() { done <- Run(ctx, nil, &out, demoOptions(d.manifest()), ch, Control{Cancel: func() {}}) }()
	all := d.events()
	send(t, ch, all[:10])
	cancel()
	for deadline := time.Now().Add(patience); !strings.Contains(out.String(), "\x1b[?1049l"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the screen stays open")
		}
	}
	send(t, ch, all[10:])
	close(ch)
	if err := outcome(t, done); err != nil {
		t.Errorf("have error %v", err)
	}
	have := out.String()
	have = have[strings.LastIndex(have, "\x1b[?1049l"):]
	for _, want := range []string{"8/8 trials", "report: runs/", "exit code 3"} {
		if !strings.Contains(have, want) {
			t.Errorf("%q is not on the terminal after the screen:\n%s", want, have)
		}
	}
}
