package ssh_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/internal/slurmworld"
)

// Bounds of the tests about faults: how long a node may be silent, which must be
// longer than a busy machine is now and then, and how long anything may take.
const (
	shortLease = 12 * time.Second
	bound      = 2 * time.Minute
)

// TestFaults lets nodes fail while processes run on them. What counts is that
// the process ends on this side, that nothing is left on the node as soon as
// it can act, and that the Host can be used again when the node is back.
func TestFaults(t *testing.T) {
	slurmworld.Run(t, slurmworld.Config{Nodes: 4}, func(t *testing.T, w *slurmworld.World) {
		for _, c := range []struct {
			node, name string
			fail, mend func(testing.TB, string)
			acts       bool // the node can end the processes before it is mended
		}{
			{"node001", "Frozen", w.Freeze, w.Thaw, false},
			{"node002", "Unplugged", w.Unplug, w.Plug, true},
			{"node003", "Crashed", w.Crash, w.Boot, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				h, p, _ := startFamily(t, w, c.node)
				c.fail(t, c.node)
				deploytest.Ended(t, p, bound)
				if err := p.Err(); err == nil || !strings.Contains(err.Error(), "guard is gone") {
					t.Errorf("want an error about the guard, have %v", err)
				} else {
					t.Log(err)
				}
				if c.acts {
					nothingLeft(t, w, c.node)
				}
				c.mend(t, c.node)
				nothingLeft(t, w, c.node)
				have, err := h.Run(t.Context(), deploy.Command{Name: "back", Argv: []string{"hostname"}})
				if want := c.node + "\n"; err != nil || string(have) != want {
					t.Errorf("when the node is back: want %q, have %q, %v", want, have, err)
				}
			})
		}
		t.Run("Clean", func(t *testing.T) {
			t.Parallel()
			testClean(t, w, "node004")
		})
	})
}

// worldHost reaches a node, which gets a copy of the binary on its own disk: a
// node that crashed has lost it.
func worldHost(t *testing.T, w *slurmworld.World, node, records string) *ssh.Host {
	t.Helper()
	guard := deploytest.Guard()
	binary, err := filepath.Abs(guard[0])
	if err != nil {
		t.Fatal(err)
	}
	return dial(t, ssh.Config{
		Home: w.Home(t, "root"), User: "root", File: w.SSHConfig(t, "root"), Binary: private(t, binary), GuardArgs: guard[1:],
		Scratch: "/var/tmp", Records: records, Lease: shortLease, Connect: 20 * time.Second,
		Options: []string{"UserKnownHostsFile=" + filepath.Join(w.Home(t, "root"), ".ssh", "known_hosts")},
	}, node)
}

// startFamily starts a process on a node that has children, for the run in dir.
func startFamily(t *testing.T, w *slurmworld.World, node string) (h *ssh.Host, p deploy.Process, dir string) {
	t.Helper()
	dir = t.TempDir()
	h = worldHost(t, w, node, filepath.Join(dir, deploy.ProcessesDir))
	// The output keeps coming, as that of a worker would.
	script := `sleep 1000 & setsid sleep 1000 & touch "$0"; while :; do echo line; sleep 0.1; done`
	p, err := h.Start(t.Context(), deploy.Command{
		Name: "family", Argv: []string{"sh", "-c", script, filepath.Join(dir, "ready")}, Log: filepath.Join(dir, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	deploytest.Await(t, "the family's start", bound, func() error { _, err := os.Stat(filepath.Join(dir, "ready")); return err })
	return h, p, dir
}

// testClean kills a guard on a node, which leaves a process behind.
func testClean(t *testing.T, w *slurmworld.World, node string) {
	h, p, run := startFamily(t, w, node)
	for _, q := range w.Processes(t, node) {
		if strings.Contains(strings.Join(q.Args, " "), "guard family") {
			proc, err := os.FindProcess(q.PID)
			if err != nil {
				t.Fatal(err)
			}
			if err := proc.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	deploytest.Ended(t, p, bound)
	if len(w.Processes(t, node)) == 0 {
		t.Fatal("want something left by a killed guard, have nothing")
	}
	// The records are on a file system that both sides see, the processes not.
	if ended, err := deploy.Clean(run); err != nil || len(ended) > 0 {
		t.Errorf("on another machine: want nothing ended, have %v, %v", ended, err)
	}
	ended, err := h.Clean(t.Context(), run)
	if err != nil || len(ended) == 0 || ended[0].Name != "family" || ended[0].Host != node {
		t.Errorf("want family ended, have %v, %v", ended, err)
	}
	nothingLeft(t, w, node)
}

func nothingLeft(t *testing.T, w *slurmworld.World, node string) {
	t.Helper()
	deploytest.Await(t, "nothing left on "+node, bound, func() error {
		if left := w.Processes(t, node); len(left) > 0 {
			return fmt.Errorf("there is %+v", left)
		}
		return nil
	})
}
