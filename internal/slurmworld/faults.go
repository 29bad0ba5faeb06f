package slurmworld

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// actLimit bounds an act, whose own bounds are shorter and say what is missing.
const actLimit = 6 * time.Minute

// act lets the script of the world do something.
func (w *World) act(t testing.TB, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), actLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "bash", append([]string{w.dir + "/world.sh"}, argv...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Crash takes a node's power away: its processes are gone, its connections
// are silent. SLURM notices after about half a minute.
func (w *World) Crash(t testing.TB, node string) { w.onNode(t, "crash", node) }

// Boot starts a crashed node again. Its daemons run when Boot returns, and its
// sshd answers; SLURM may take some seconds longer to use it.
func (w *World) Boot(t testing.TB, node string) { w.onNode(t, "boot", node) }

// Freeze stops every process of a node. Its kernel still accepts connections.
func (w *World) Freeze(t testing.TB, node string) { w.onNode(t, "freeze", node) }

// Thaw continues the processes of a frozen node.
func (w *World) Thaw(t testing.TB, node string) { w.onNode(t, "thaw", node) }

// Unplug cuts a node's networks: nothing passes, no connection is told.
func (w *World) Unplug(t testing.TB, node string) { w.onNode(t, "unplug", node) }

// Plug connects an unplugged node again.
func (w *World) Plug(t testing.TB, node string) { w.onNode(t, "plug", node) }

func (w *World) onNode(t testing.TB, verb, node string) {
	t.Helper()
	w.known(t, node)
	w.act(t, verb, node)
}

// StopController freezes slurmctld: SLURM's commands hang for 10 s and fail.
func (w *World) StopController(t testing.TB) { t.Helper(); w.act(t, "controller", "stop") }

// KillController ends slurmctld with SIGKILL as soon as all that it knows of jobs
// is on disk, which takes it up to 5 s.
func (w *World) KillController(t testing.TB) { t.Helper(); w.act(t, "controller", "kill") }

// StartController continues a stopped slurmctld, or starts a killed one.
func (w *World) StartController(t testing.TB) { t.Helper(); w.act(t, "controller", "start") }

// Expire lets a job reach its time limit, in about 10 s.
func (w *World) Expire(t testing.TB, job string) {
	t.Helper()
	w.Output(t, "root", "scontrol", "update", "JobId="+job, "EndTime=now+5")
}

// grantBound is how long a grant of free nodes may take on a loaded machine.
const grantBound = 2 * time.Minute

// Occupy lets [Other] take that many nodes and returns the job, when it runs.
// The function gives them back; so does the end of the test.
func (w *World) Occupy(t testing.TB, nodes int) (job string, free func()) {
	t.Helper()
	job = w.Output(t, Other, "sbatch", "--parsable", "--exclusive", "-N", strconv.Itoa(nodes), "-t", "60",
		"-J", "occupy", "-o", "/dev/null", "--wrap", "sleep infinity")
	free = func() { w.Output(t, Other, "scancel", job) }
	t.Cleanup(free)
	poll(t, grantBound, "nodes occupied", func() string {
		state := w.Output(t, Other, "squeue", "-h", "-j", job, "-o", "%T %r")
		if strings.HasPrefix(state, "RUNNING") {
			return ""
		}
		return state
	})
	return job, free
}

// AwaitState waits until SLURM tells that state of a node, such as "idle" or
// "down*".
func (w *World) AwaitState(t testing.TB, node, state string, bound time.Duration) {
	t.Helper()
	w.known(t, node)
	poll(t, bound, node+" "+state, func() string {
		have := w.Output(t, "root", "sinfo", "-h", "-p", "defq", "-n", node, "-o", "%t")
		if have == state {
			return ""
		}
		return fmt.Sprintf("have %q", have)
	})
}

// AwaitProcess waits until a user runs a program of that name on a node.
func (w *World) AwaitProcess(t testing.TB, node, name string) {
	t.Helper()
	poll(t, grantBound, name+" on "+node, func() string {
		have := w.Processes(t, node)
		if slices.ContainsFunc(have, func(p Process) bool { return p.Name == name }) {
			return ""
		}
		return fmt.Sprintf("have %+v", have)
	})
}

// poll asks until there is nothing missing.
func poll(t testing.TB, bound time.Duration, what string, missing func() string) {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(50 * time.Millisecond) {
		have := missing()
		if have == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v: %s", what, bound, have)
		}
	}
}
