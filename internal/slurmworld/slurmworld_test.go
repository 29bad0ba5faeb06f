package slurmworld_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/slurmworld"
)

// bound is how long anything may take on a loaded machine.
const bound = 2 * time.Minute

// TestNodes looks at what a test finds in the world.
func TestNodes(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3}, func(t *testing.T, w *slurmworld.World) {
		if want := []string{"node001", "node002", "node003"}; !slices.Equal(w.Nodes, want) {
			t.Errorf("nodes: want %v, have %v", want, w.Nodes)
		}
		for _, name := range []string{slurmworld.User, slurmworld.Other, "root"} {
			if have := w.Output(t, name, "ssh", "node002", "hostname; id -un"); have != "node002\n"+name {
				t.Errorf("ssh by %s: have %q", name, have)
			}
		}
		w.Output(t, slurmworld.User, "srun", "-N3", "-t5", "true")
		nodes := w.Output(t, slurmworld.User, "srun", "-N3", "-t5", "hostname")
		if got := strings.Fields(nodes); len(got) != 3 || !slices.Contains(got, "node003") {
			t.Errorf("srun: have %q", nodes)
		}
		w.OnNode(t, "node001", "timeout", "60", "bash", "-c", "read -r </dev/tcp/node003.ib.cluster/22")
		dir := w.TempDir(t, slurmworld.User)
		w.Output(t, slurmworld.User, "ssh", "node001", "touch "+dir+"/here")
		w.Output(t, slurmworld.User, "ssh", "node003", "ls "+dir+"/here")
		w.Output(t, slurmworld.User, "ssh", "node001", "touch /var/tmp/mine")
		if err := ssh(t, w, "node003", "ls /var/tmp/mine").Run(); err == nil {
			t.Error("/var/tmp is shared, want each node's own")
		}
		path := w.Install(t, slurmworld.User, "/bin/echo")
		if have := w.Output(t, slurmworld.User, path, "hello"); have != "hello" {
			t.Errorf("installed program: have %q", have)
		}
	})
}

// TestPrivate writes where worlds must not leave anything, or meet others.
func TestPrivate(t *testing.T) {
	const path = "/tmp/slurmworld-probe"
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		w.Output(t, slurmworld.User, "ssh", "node001", "touch "+path)
		w.Output(t, slurmworld.User, "ssh", "node002", "ls "+path)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("/tmp is not shared with nodes: %v", err)
		}
	})
	if _, err := os.Stat(path); err == nil && os.Getenv("SLURMWORLD") == "" {
		t.Errorf("%s is there after the world", path)
	}
}

// ssh runs a command on a node that is expected to answer, however slowly.
func ssh(t *testing.T, w *slurmworld.World, node, command string) *exec.Cmd {
	return w.Command(t.Context(), t, slurmworld.User, "ssh", "-o", "ConnectTimeout=60", node, command)
}

// silent checks that a node does not answer.
func silent(t *testing.T, w *slurmworld.World, fault, node string) {
	t.Helper()
	if w.Command(t.Context(), t, slurmworld.User, "ssh", "-o", "ConnectTimeout=3", node, "true").Run() == nil {
		t.Errorf("%s: ssh still works", fault)
	}
}

// TestLeftovers looks for processes and listeners, of jobs and of ssh.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		for _, node := range w.Nodes {
			if have := w.Processes(t, node); len(have) > 0 {
				t.Errorf("%s: want no processes at first, have %+v", node, have)
			}
			if have := w.Listening(t, node); len(have) > 0 {
				t.Errorf("%s: want no listeners at first, have %+v", node, have)
			}
		}
		w.Output(t, slurmworld.User, "ssh", "node002",
			"setsid python3 -m http.server 8123 --bind 10.77.1.2 >/dev/null 2>&1 </dev/null & setsid sh -c 'sleep 0.1 & exec sleep 1000' >/dev/null 2>&1 </dev/null &")
		eventually(t, "listener", func() bool {
			have := w.Listening(t, "node002")
			return len(have) == 1 && have[0].Address == "10.77.1.2:8123" && have[0].Protocol == "tcp"
		})
		eventually(t, "two processes", func() bool { return len(w.Processes(t, "node002")) == 2 })
		for _, p := range w.Processes(t, "node002") {
			if fmt.Sprint(p.UID) != w.Output(t, slurmworld.User, "id", "-u") || len(p.Args) == 0 {
				t.Errorf("process: have %+v", p)
			}
		}
		w.Crash(t, "node002")
		w.Boot(t, "node002")
		if have := w.Processes(t, "node002"); len(have) > 0 {
			t.Errorf("after a crash: want no processes, have %+v", have)
		}
	})
}

// TestFaults does to nodes what may happen to them.
func TestFaults(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3}, func(t *testing.T, w *slurmworld.World) {
		for _, c := range []struct {
			name        string
			strike, end func(testing.TB, string)
		}{{"crash", w.Crash, w.Boot}, {"freeze", w.Freeze, w.Thaw}, {"unplug", w.Unplug, w.Plug}} {
			c.strike(t, "node002")
			silent(t, w, c.name, "node002")
			w.Output(t, slurmworld.User, "ssh", "node001", "true")
			c.end(t, "node002")
			eventually(t, c.name+" mended", func() bool { return ssh(t, w, "node002", "true").Run() == nil })
			w.AwaitState(t, "node002", "idle", bound)
		}
	})
}

// TestController stops and kills the controller, and lets jobs expire.
func TestController(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 1}, func(t *testing.T, w *slurmworld.World) {
		job, free := w.Occupy(t, 1)
		w.StopController(t)
		ask := w.Command(t.Context(), t, slurmworld.User, "squeue", "-h")
		if out, err := ask.CombinedOutput(); err == nil {
			t.Errorf("stopped controller answers: %s", out)
		}
		w.StartController(t)
		state := func() string { return w.Output(t, slurmworld.User, "squeue", "-h", "-t", "all", "-j", job, "-o", "%T") }
		if have := state(); have != "RUNNING" {
			t.Errorf("job after the controller's pause: have %s", have)
		}
		w.Expire(t, job)
		eventually(t, "time limit", func() bool { return state() == "TIMEOUT" })
		w.KillController(t)
		w.StartController(t)
		w.AwaitState(t, "node001", "idle", bound)
		free()
	})
}

// TestPAM checks that ssh needs a job where it is configured so.
func TestPAM(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 1, PAM: true}, func(t *testing.T, w *slurmworld.World) {
		if out, err := ssh(t, w, "node001", "true").CombinedOutput(); err == nil || !strings.Contains(string(out), "no active jobs") {
			t.Errorf("ssh without a job: have %v, %s", err, out)
		}
		w.Output(t, slurmworld.User, "sbatch", "-o", "/dev/null", "--wrap", "sleep 100")
		eventually(t, "ssh with a job", func() bool { return ssh(t, w, "node001", "true").Run() == nil })
	})
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, bound)
		}
	}
}
