package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	xterm "github.com/charmbracelet/x/term"

	"github.com/esched/esched/internal/term"
	"github.com/esched/esched/runners/record"
)

// farewell bounds the wait for a terminal that does not take output any more
// (stopped with ctrl+s, a connection that hangs) after the last event.
const farewell = 5 * time.Second

var errStuck = fmt.Errorf("terminal: no output taken for %v", farewell)

// Run shows the dashboard on the terminal out and reads keys from in (nil for
// none). It takes every event, until they are closed, without delay whatever
// the terminal does. Then it closes the screen, leaves a summary on the
// terminal, and returns.
//
// When ctx ends, or the dashboard itself, before the events do, the screen is
// closed and the rest of the events follows as plain lines. The error tells
// of a dashboard that ended like this by itself, or whose terminal went away;
// the run is not touched by that. A dashboard that only watches returns when
// the user closes it, too; the events are then still taken until they are
// closed.
func Run(ctx context.Context, in io.Reader, out io.Writer, opts Options, events <-chan record.Event, control Control) error {
	m := NewModel(opts)
	f := newFeed(m, false, events)
	s := newScreen(m, control)
	p := &program{feed: f, screen: s, view: s.opened(f)}

	restore := termios(in)
	err := show(ctx, p, in, out)
	restore()

	if errors.Is(err, errStuck) {
		return err // whatever is written now would not return either
	}
	if !f.over() && p.left {
		return nil
	}
	rest := make(chan error, 1)
	go func() { rest <- leave(ctx, f, s, out, err) }()
	werr := f.unlessStuck(rest)
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(err, werr)
}

// leave writes what follows the closed screen: the rest of the events, if there
// are more, and the summary.
func leave(ctx context.Context, f *feed, s *screen, out io.Writer, ended error) error {
	if !f.over() {
		f.keepLines()
		if ended != nil && ctx.Err() == nil {
			_, _ = fmt.Fprintf(out, "the dashboard ended (%v); the run goes on, as plain lines\n", firstLine(ended))
		}
		_ = f.write(out)
	}
	_, err := io.WriteString(out, s.closed(f))
	return err
}

// unlessStuck returns what comes from done, or errStuck when nothing does within
// farewell after the last event.
func (f *feed) unlessStuck(done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-f.ended:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(farewell):
		return errStuck
	}
}

// opened draws the first screen.
func (s *screen) opened(f *feed) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return s.render(s.opts.Now())
}

// closed is what stays on the terminal.
func (s *screen) closed(f *feed) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(s.summaryLines(), "\n") + "\n"
}

// show runs the program until it ends, or until the terminal blocks it for
// longer than farewell after the last event.
func show(ctx context.Context, p *program, in io.Reader, out io.Writer) error {
	prog := tea.NewProgram(p,
		tea.WithContext(ctx),
		tea.WithInput(in),
		tea.WithOutput(out),
		tea.WithAltScreen(),
		tea.WithoutSignalHandler(), // signals are the command's, not the screen's
		tea.WithFPS(15),            // how soon a key shows; idle ticks cost CPU that trials are measured on
	)
	done := make(chan error, 1)
	go func() {
		_, err := prog.Run()
		done <- err
	}()
	err := p.feed.unlessStuck(done)
	if errors.Is(err, errStuck) {
		prog.Kill()
		return errStuck
	}
	return ended(p, err)
}

func ended(p *program, err error) error {
	switch {
	case p.crash != nil:
		return p.crash
	case err != nil:
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// termios notes the modes of the terminal and returns a function that
// restores them, in whatever way the program ended.
func termios(in io.Reader) (restore func()) {
	file, ok := in.(term.File)
	if !ok || !term.IsTerminal(file) {
		return func() {}
	}
	state, err := xterm.GetState(file.Fd())
	if err != nil {
		return func() {}
	}
	return func() { _ = xterm.Restore(file.Fd(), state) }
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
