package deploy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Times around guards.
const (
	// DefaultGrace is the time between SIGTERM and SIGKILL when nobody says
	// otherwise: when a context ends, a host is closed, or esched is gone.
	DefaultGrace = 2 * time.Second
	// startBound is how long a guard may take until the command runs.
	startBound = time.Minute
	// endBound is how long the end of a killed process may take to be known, and
	// an answer that costs nothing to come. It is long because any process of a
	// busy machine may stand still for seconds; what was meant to happen has
	// happened much earlier.
	endBound = 12 * time.Second
)

// Link connects esched with a guard that a Host has started on its node.
type Link struct {
	// In is the guard's standard input, Out its standard output. Closing In ends
	// the guard and must not wait for it.
	In  io.WriteCloser
	Out io.Reader
	// Close lets go of the guard after its end, or of one that does not answer:
	// then it waits for a bounded time only, and ends reads of Out.
	Close func()
	// Lease is how long guard and esched let one another be silent before each
	// takes the other for dead; 0, for a pipe on the same machine, is for ever.
	Lease time.Duration
	// Until returns when the node is given back, the zero time for never: the
	// guard ends its command then by itself, also when esched lives. It is asked
	// again with each sign of life, of which there are some in a Lease only, as a
	// claim may be extended. It must not block. Optional.
	Until func() time.Time
	// Complaint returns what the guard's side wrote to its standard error so far,
	// for the error when no guard announces itself. Optional.
	Complaint func() string
}

// Guarded is a process under a guard: the [Process] of all kinds of Hosts,
// which differ only in how they start the guard.
type Guarded struct {
	name, host string
	link       Link
	frames     *frameWriter
	pid        int
	window     chan struct{} // a token for each input frame on its way
	asking     sync.Mutex
	answers    chan time.Duration
	heard      chan struct{} // a token when a frame came since the last look
	done       chan struct{}

	mu      sync.Mutex
	cpu     time.Duration
	stopped bool
	silent  bool // the guard was given up
	err     error
}

// ExitError tells how a process ended that did not end with status 0.
type ExitError struct {
	Name   string
	Host   string
	Code   int    // exit status, -1 when a signal ended it
	Signal string // "SIGKILL"; "" without
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return fmt.Sprintf("%s on %s: ended by %s", e.Name, e.Host, e.Signal)
	}
	return fmt.Sprintf("%s on %s: exit status %d", e.Name, e.Host, e.Code)
}

// Supervise hands a command to the guard at the other end of link and returns
// when the command runs. records is the directory on the node for process
// records, "" for none; a nil c.Stdout sends the output to the guard's standard
// error. When ctx ends, so does the process. Supervise takes over link.
func Supervise(ctx context.Context, link Link, host, records string, c Command) (*Guarded, error) {
	p := &Guarded{
		name: c.Name, host: host, link: link, frames: &frameWriter{w: link.In},
		window: make(chan struct{}, window), answers: make(chan time.Duration, 1),
		heard: make(chan struct{}, 1), done: make(chan struct{}),
	}
	ready := make(chan error, 1)
	go p.receive(c.Stdout, ready)
	if err := p.launch(ctx, records, c, ready); err != nil {
		link.In.Close() // ends the guard and what it may have started
		select {
		case <-p.done:
		case <-time.After(DefaultGrace + endBound):
			link.Close()
		}
		err = fmt.Errorf("%s on %s: %w", c.Name, host, err)
		if errors.Is(err, errNotAnnounced) && link.Complaint != nil {
			if text := link.Complaint(); text != "" {
				err = fmt.Errorf("%w: %s", err, text)
			}
		}
		return nil, err
	}
	if link.Lease > 0 {
		go beat(p.frames, link.Lease, p.done, func() []byte {
			return strconv.AppendInt(nil, link.left(ctx).Milliseconds(), 10)
		})
		go p.watch()
	}
	if c.Stdin != nil {
		go p.send(c.Stdin)
	}
	go func() {
		select {
		case <-ctx.Done():
			_ = p.Stop(DefaultGrace)
		case <-p.done:
		}
	}()
	return p, nil
}

func (p *Guarded) launch(ctx context.Context, records string, c Command, ready <-chan error) error {
	err := p.frames.writeJSON(frameLaunch, launch{
		Name: c.Name, Host: p.host, Argv: c.Argv, Env: c.Env, Dir: c.Dir, Record: records,
		Merge: c.Stdout == nil, Input: c.Stdin != nil, Grace: DefaultGrace, Lease: p.link.Lease, Left: p.link.left(ctx),
	})
	if err != nil {
		select { // the guard may have told why before it ended
		case said := <-ready:
			return said
		case <-time.After(endBound):
			return fmt.Errorf("guard: %w", err)
		}
	}
	timer := time.NewTimer(startBound)
	defer timer.Stop()
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("guard: no sign that the command started within %v", startBound)
	}
}

// letGo gives up the guard; receive notices the end of its output.
func (p *Guarded) letGo() {
	p.link.In.Close()
	p.link.Close()
}

// receive reads the guard's frames until its end. It is the only one that
// completes p.
func (p *Guarded) receive(stdout io.Writer, ready chan<- error) {
	err := p.read(stdout, ready)
	p.mu.Lock()
	if !p.stopped || errors.Is(err, errGuardLost) {
		p.err = err
	}
	p.mu.Unlock()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	select {
	case ready <- err: // it ended before it started
	default:
	}
	p.letGo()
	close(p.done)
}

func (p *Guarded) read(stdout io.Writer, ready chan<- error) error {
	frames := bufio.NewReader(p.link.Out)
	if err := skipTo(frames, []byte(guardMagic)); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	for {
		kind, payload, err := readFrame(frames)
		if err != nil {
			return fmt.Errorf("%s on %s: %w (%w)", p.name, p.host, errGuardLost, p.whyLost(err))
		}
		select {
		case p.heard <- struct{}{}:
		default:
		}
		switch kind {
		case frameRefused:
			return errors.New(string(payload))
		case frameStarted:
			var s started
			if err := json.Unmarshal(payload, &s); err != nil {
				return fmt.Errorf("guard: %w", err)
			}
			p.pid = s.PID
			ready <- nil
		case frameOutput:
			if stdout != nil {
				if _, err := stdout.Write(payload); err != nil {
					stdout = nil // like a closed pipe, but the process lives on
				}
			}
		case frameTaken:
			<-p.window
		case frameCPU:
			cpu, _ := strconv.ParseInt(string(payload), 10, 64)
			p.note(time.Duration(cpu))
			select {
			case p.answers <- time.Duration(cpu):
			default:
			}
		case frameExited:
			var x exited
			if err := json.Unmarshal(payload, &x); err != nil {
				return fmt.Errorf("guard: %w", err)
			}
			p.note(x.CPU)
			if x.Code == 0 && x.Signal == "" {
				return nil
			}
			return &ExitError{p.name, p.host, x.Code, x.Signal}
		}
	}
}

// send copies the command's input, never more than the window ahead of what
// the command took.
func (p *Guarded) send(stdin io.Reader) {
	buf := make([]byte, chunk)
	for {
		n, err := stdin.Read(buf)
		if n > 0 {
			select {
			case p.window <- struct{}{}:
			case <-p.done:
				return
			}
			if p.frames.write(frameInput, buf[:n]) != nil {
				return
			}
		}
		if err != nil {
			_ = p.frames.write(frameInputEnd, nil)
			return
		}
	}
}

func (p *Guarded) note(cpu time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpu = max(p.cpu, cpu)
}

// PID implements [Process].
func (p *Guarded) PID() int { return p.pid }

// Done implements [Process].
func (p *Guarded) Done() <-chan struct{} { return p.done }

// Err implements [Process]. It is nil before the end.
func (p *Guarded) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Stop implements [Process].
func (p *Guarded) Stop(grace time.Duration) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	// A connection that takes nothing more must not keep Stop from ending.
	go func() {
		if p.frames.write(frameStop, []byte(strconv.FormatInt(grace.Milliseconds(), 10))) != nil {
			p.link.In.Close()
		}
	}()
	timer := time.NewTimer(grace + endBound)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		// Without its guard the kernel kills the process, and the guard ends the
		// group when its input does.
		p.letGo()
		return fmt.Errorf("%s on %s: process %d still there %v after it was to be killed", p.name, p.host, p.pid, endBound)
	}
}

// Signal implements [Process]. The name is that of a signal without "SIG".
func (p *Guarded) Signal(name string) error {
	if unix.SignalNum("SIG"+name) == 0 {
		return fmt.Errorf("signal %q: unknown name", name)
	}
	select {
	case <-p.done:
		return fmt.Errorf("%s on %s: signal %s: %w", p.name, p.host, name, os.ErrProcessDone)
	default:
	}
	if err := p.frames.write(frameSignal, []byte(name)); err != nil {
		return fmt.Errorf("%s on %s: signal %s: %w", p.name, p.host, name, err)
	}
	return nil
}

// CPU implements [Process]. After the end it is what the process used in all.
func (p *Guarded) CPU() (time.Duration, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	select { // an answer that came after its question was given up
	case <-p.answers:
	default:
	}
	if p.frames.write(frameAsk, nil) == nil {
		timer := time.NewTimer(endBound)
		defer timer.Stop()
		select {
		case cpu := <-p.answers:
			return cpu, nil
		case <-p.done:
		case <-timer.C:
			return 0, fmt.Errorf("%s on %s: CPU time: no answer from its guard within %v", p.name, p.host, endBound)
		}
	}
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cpu, nil
}
