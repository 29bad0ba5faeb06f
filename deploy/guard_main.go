package deploy

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// lastWord bounds telling the parent how all ended: it may not be there, and
// nobody to tell must not keep a guard.
const lastWord = 10 * time.Second

// shortestLease is what a guard assumes of a parent that waits for an answer.
const shortestLease = 3 * time.Second

// GuardMain runs a guard and returns its exit status: 0 when it did what it was
// started for, however a supervised command ended. It is the body of the hidden
// command "esched guard NAME", where NAME only serves people who read a process
// list.
//
// A guard serves one request of the parent at the other end of its standard
// streams: it supervises a command, takes files, or ends what an earlier run
// left.
//
// For a command the guard makes itself the reaper of all descendants, starts it
// in a session of its own, and ends all of them (SIGTERM, grace, SIGKILL) when
// its input ends: that is what happens when esched dies in any way or the
// connection breaks. With a lease it does so also when it has heard nothing for
// that long. When the guard itself is killed, the kernel kills the command.
func GuardMain(_ []string, stdin io.Reader, stdout io.Writer, stderr *os.File) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Caught, not ignored: an ignored signal would stay ignored in the command.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGINT, unix.SIGHUP, unix.SIGPIPE, unix.SIGTERM, unix.SIGCHLD)
	defer signal.Stop(signals)

	out := &frameWriter{w: stdout}
	if err := serveGuard(bufio.NewReader(stdin), out, stderr, signals); err != nil {
		finally(func() { _ = out.write(frameRefused, []byte(err.Error())) })
		return 1
	}
	return 0
}

// serveGuard does what the first frame asks for.
func serveGuard(stdin io.Reader, out *frameWriter, stderr *os.File, signals <-chan os.Signal) error {
	if _, err := io.WriteString(out.w, guardMagic); err != nil {
		return err
	}
	kind, payload, err := readWithin(stdin, startBound)
	if err != nil {
		return fmt.Errorf("guard: first frame: %w", err)
	}
	if kind == frameLaunch {
		g := &guard{out: out, copied: make(chan struct{}), replies: make(chan reply, window)}
		return g.run(payload, stdin, stderr, signals)
	}
	// The rest may take longer than the parent would wait for a sign of life.
	done := make(chan struct{})
	defer close(done)
	go beat(out, shortestLease, done, nil)
	switch kind {
	case framePut:
		return receiveFiles(payload, stdin, out)
	case frameClean:
		return answerClean(payload, out)
	case frameRemove:
		return answerRemove(payload, out)
	case frameTidy:
		return answerTidy(payload, out)
	}
	return fmt.Errorf("guard: first frame is of kind %q, which this version of esched does not know", kind)
}

// finally tells the parent something before the guard ends, if it still takes
// it.
func finally(tell func()) {
	told := make(chan struct{})
	go func() {
		defer close(told)
		tell()
	}()
	select {
	case <-told:
	case <-time.After(lastWord):
	}
}
