package deploy

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweep is how often a guard that is ending its group looks for processes that
// are still there; SIGCHLD tells most of it sooner.
const sweep = 20 * time.Millisecond

// outputBound is how long a guard waits for its parent to take the rest of the
// output of a command that has ended.
const outputBound = 10 * time.Second

// leftoverGrace is what processes get that a command left behind when it
// ended by itself.
const leftoverGrace = time.Second

// guard supervises one command. Everything but copying and answering
// happens in one goroutine, locked to its thread: the command's parent death
// signal is bound to the thread that started it, and a guard that alone scans,
// kills and reaps its children can never hit a process id that was reused.
type guard struct {
	launch  launch
	out     *frameWriter
	replies chan reply
	pid     int
	input   *os.File // the command's standard input; nil for /dev/null
	record  string
	copied  chan struct{} // closed when the command's output has been forwarded
	ending  bool
	killing bool
	kill    *time.Timer
	killAt  time.Time
	lease   *time.Timer // runs out when the parent has been silent for too long
	left    *time.Timer // runs out when the node is given back
	result  *exited
}

// request is what the parent asked for; gone means it closed the stream.
type request struct {
	kind    byte
	payload []byte
	gone    bool
}

// reply is a frame for the parent.
type reply struct {
	kind    byte
	payload []byte
}

// run supervises one command from its launch to its end.
func (g *guard) run(payload []byte, stdin io.Reader, stderr *os.File, signals <-chan os.Signal) error {
	if err := g.open(payload, stderr); err != nil {
		return err
	}
	go g.reply()
	requests := make(chan request)
	go g.listen(stdin, requests)
	g.supervise(requests, signals)

	// Every process that could hold the output open has ended.
	select {
	case <-g.copied:
	case <-time.After(outputBound):
		g.forget() // and no last word: nobody takes anything
		return nil
	}
	g.forget()
	finally(func() { _ = g.out.writeJSON(frameExited, g.result) })
	return nil
}

// open starts what a launch frame asks for.
func (g *guard) open(payload []byte, stderr *os.File) error {
	if err := json.Unmarshal(payload, &g.launch); err != nil {
		return fmt.Errorf("guard: launch: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("guard: child subreaper: %w", err)
	}
	if err := g.start(stderr); err != nil {
		g.forget()
		return err
	}
	return g.out.writeJSON(frameStarted, started{PID: g.pid, Record: g.record})
}

func (g *guard) start(stderr *os.File) error {
	l := &g.launch
	if len(l.Argv) == 0 {
		return errors.New("empty command")
	}
	mark := markVariable + "=" + rand.Text()
	node, err := os.Hostname()
	if err != nil {
		return err
	}
	rec := ProcessRecord{Name: l.Name, Node: node, Host: l.Host, Argv: l.Argv, Boot: bootID(), Mark: mark, Guard: os.Getpid()}
	if self, err := readStat(os.Getpid()); err == nil {
		rec.GuardStart = self.start
	}
	// On disk before the command runs: from here on "esched clean" finds it.
	if l.Record != "" {
		path, err := rec.save(l.Record, "")
		if err != nil {
			return err
		}
		g.record = path
	}
	env := append(append(os.Environ(), l.Env...), mark)
	cmd := exec.Command(l.Argv[0], l.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr = env, l.Dir, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	inner, outer, err := g.streams(cmd, stderr)
	if err != nil {
		return err
	}
	err = cmd.Start()
	for _, f := range inner {
		f.Close()
	}
	if err != nil {
		for _, f := range outer {
			f.Close()
		}
		return err
	}
	g.pid = cmd.Process.Pid
	// The guard reaps by itself; without this a finalizer could act on the pid.
	_ = cmd.Process.Release()
	if g.record != "" {
		rec.PID = g.pid
		if s, err := readStat(g.pid); err == nil {
			rec.Start = s.start
		}
		if _, err := rec.save(l.Record, g.record); err != nil {
			_ = unix.Kill(-g.pid, unix.SIGKILL)
			return err
		}
	}
	return nil
}

// streams connects the command's standard input and output. It returns the
// ends that belong to the command and those of the guard.
func (g *guard) streams(cmd *exec.Cmd, stderr *os.File) (inner, outer []*os.File, err error) {
	if g.launch.Input {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		cmd.Stdin, g.input = r, w
		inner, outer = append(inner, r), append(outer, w)
	}
	if g.launch.Merge {
		cmd.Stdout = stderr
		close(g.copied)
		return inner, outer, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return inner, outer, err
	}
	cmd.Stdout = w
	inner, outer = append(inner, w), append(outer, r)
	go g.forward(r)
	return inner, outer, nil
}

// forward copies the command's output into frames. When nobody takes them any
// more it goes on reading, so that the command is not stopped by a full pipe
// while it is being ended.
func (g *guard) forward(r *os.File) {
	defer close(g.copied)
	defer r.Close()
	buf := make([]byte, chunk)
	lost := false
	for {
		n, err := r.Read(buf)
		if n > 0 && !lost {
			lost = g.out.write(frameOutput, buf[:n]) != nil
		}
		if err != nil {
			return
		}
	}
}

// listen turns the parent's frames into requests. Input goes to the command
// through a goroutine of its own; the window keeps its queue short.
func (g *guard) listen(stdin io.Reader, requests chan<- request) {
	input := make(chan []byte, window+1)
	go g.feed(input)
	for {
		kind, payload, err := readFrame(stdin)
		switch {
		case err != nil:
			requests <- request{gone: true}
			return
		case kind == frameInput && len(input) < cap(input):
			input <- payload
			requests <- request{kind: kind} // a sign of life
		case kind == frameInputEnd && input != nil:
			close(input)
			input = nil
			requests <- request{kind: kind}
		default:
			requests <- request{kind: kind, payload: payload}
		}
	}
}

func (g *guard) feed(input <-chan []byte) {
	if g.input == nil {
		return
	}
	defer g.input.Close()
	for data := range input {
		// A command that closed its input loses what is written to it, like in
		// a pipe; the parent is told all the same so that it goes on.
		_, _ = g.input.Write(data)
		_ = g.out.write(frameTaken, nil)
	}
}

// supervise returns when the command and all its descendants have ended.
func (g *guard) supervise(requests <-chan request, signals <-chan os.Signal) {
	g.kill, g.lease, g.left = stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer g.kill.Stop()
	defer g.lease.Stop()
	defer g.left.Stop()
	if g.launch.Lease > 0 {
		g.lease.Reset(g.launch.Lease)
	}
	if g.launch.Left > 0 {
		g.left.Reset(g.launch.Left)
	}
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		// Looking through the process list is worth it only when something may
		// have ended; answering the parent must stay cheap.
		select {
		case r := <-requests:
			g.serve(r)
			continue
		case s := <-signals:
			switch s {
			case unix.SIGTERM:
				g.end(g.launch.Grace)
				continue
			case unix.SIGCHLD:
			default:
				continue
			}
		case <-g.lease.C:
			g.end(g.launch.Grace)
			continue
		case <-g.left.C:
			g.end(g.launch.Grace)
			continue
		case <-g.kill.C:
			g.killing = true
			ticker.Reset(sweep)
		case <-ticker.C:
		}
		if g.reap() {
			return
		}
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (g *guard) serve(r request) {
	if g.launch.Lease > 0 && !r.gone {
		g.lease.Reset(g.launch.Lease)
	}
	switch {
	case r.gone:
		g.end(g.launch.Grace)
	case r.kind == frameStop:
		ms, _ := strconv.Atoi(string(r.payload))
		g.end(time.Duration(ms) * time.Millisecond)
	case r.kind == frameSignal:
		// The command stays unreaped until all is over, so the id is its own.
		if n := unix.SignalNum("SIG" + string(r.payload)); n != 0 {
			_ = unix.Kill(g.pid, n)
		}
	case r.kind == frameAsk:
		cpu, _ := g.cpu()
		g.tell(frameCPU, strconv.AppendInt(nil, int64(cpu), 10))
	case r.kind == frameBeat:
		if ms, _ := strconv.Atoi(string(r.payload)); ms > 0 {
			g.left.Reset(time.Duration(ms) * time.Millisecond)
		}
		g.tell(frameBeat, nil)
	}
}

// tell hands a frame to the goroutine that writes. The one that supervises
// must not wait for a parent that takes nothing; what is too much is dropped,
// since the parent asks again.
func (g *guard) tell(kind byte, payload []byte) {
	select {
	case g.replies <- reply{kind, payload}:
	default:
	}
}

func (g *guard) reply() {
	for r := range g.replies {
		_ = g.out.write(r.kind, r.payload)
	}
}

func (g *guard) cpu() (time.Duration, error) {
	if g.result != nil {
		return g.result.CPU, nil
	}
	return cpuTime(g.pid)
}

// end asks every descendant to end and sets the time at which they are killed.
// Called again, it can only bring that time forward.
func (g *guard) end(grace time.Duration) {
	at := time.Now().Add(grace)
	if g.ending && !at.Before(g.killAt) {
		return
	}
	g.killAt = at
	g.kill.Reset(grace)
	if g.ending {
		return
	}
	g.ending = true
	g.signalAll(unix.SIGTERM)
	// A stopped process takes SIGTERM only when it continues.
	g.signalAll(unix.SIGCONT)
}

// signalAll reaches the command's group and what left the group and was
// adopted by the guard since.
func (g *guard) signalAll(s unix.Signal) {
	_ = unix.Kill(-g.pid, s)
	for _, c := range children(os.Getpid()) {
		if c.pid != g.pid && !c.dead() {
			_ = unix.Kill(c.pid, s)
		}
	}
}
