package deploy

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reap takes leave of ended children and tells whether none is left. The
// command itself is reaped last: as long as it is not, its process id (and so
// the id of its group) cannot be given to a stranger.
func (g *guard) reap() bool {
	if g.killing {
		g.signalAll(unix.SIGKILL)
	}
	// The command first: what it leaves behind is adopted when it ends, and
	// must be seen by the look at the adopted that follows.
	ended := g.commandEnded()
	alone := g.reapAdopted()
	if !ended {
		return false
	}
	if !alone {
		g.end(min(g.launch.Grace, leftoverGrace))
		return false
	}
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(g.pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.result.Code = status.ExitStatus()
	if status.Signaled() {
		g.result.Signal = unix.SignalName(status.Signal())
	}
	return true
}

// commandEnded tells, without reaping it, whether the command has ended, and
// notes the CPU time that it used while that can still be read.
func (g *guard) commandEnded() bool {
	if g.result != nil {
		return true
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, g.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	if err != nil || info.Signo == 0 {
		return false
	}
	used, _ := cpuTime(g.pid)
	g.result = &exited{CPU: used}
	return true
}

// reapAdopted reaps ended children but the command and tells whether there are
// no others.
func (g *guard) reapAdopted() bool {
	none := true
	for _, c := range children(os.Getpid()) {
		if c.pid == g.pid {
			continue
		}
		none = false
		if c.dead() {
			_, _ = unix.Wait4(c.pid, nil, unix.WNOHANG, nil)
		}
	}
	// A reaped child may have left children of its own: "none" needs a look
	// that saw nobody.
	return none
}

// forget removes the process record: nothing is left that it could lead to.
func (g *guard) forget() {
	if g.record != "" {
		_ = os.Remove(g.record)
	}
}

func children(parent int) []procStat {
	all, err := processes()
	if err != nil {
		return nil
	}
	own := all[:0]
	for _, s := range all {
		if s.parent == parent {
			own = append(own, s)
		}
	}
	return own
}
