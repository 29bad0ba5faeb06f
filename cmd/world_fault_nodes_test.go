package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/runners/record"
)

// repairBound is how long SLURM may take to use a mended node again.
const repairBound = 4 * time.Minute

// connectWithin writes the user's configuration of ssh: how many seconds a node
// gets to answer.
func (h *headNode) connectWithin(seconds int) {
	h.t.Helper()
	h.file("nodes.conf", fmt.Sprintf("Include ~/.ssh/config\nConnectTimeout %d\n", seconds))
}

// Seconds that nodes get which answer, at last, and which never will.
const (
	patiently = 60
	briefly   = 15
)

// nodeFault is something that happens to a node.
type nodeFault struct {
	strike, mend func(w *slurmworld.World, t testing.TB, node string)
}

// TestWorldCrash, TestWorldFreeze and TestWorldUnplug strike a node in three
// sessions of one run: before, while and after something is deployed on it.
func TestWorldCrash(t *testing.T) {
	t.Parallel()
	testNodeFault(t, nodeFault{(*slurmworld.World).Crash, (*slurmworld.World).Boot})
}

func TestWorldFreeze(t *testing.T) {
	t.Parallel()
	testNodeFault(t, nodeFault{(*slurmworld.World).Freeze, (*slurmworld.World).Thaw})
}

func TestWorldUnplug(t *testing.T) {
	t.Parallel()
	testNodeFault(t, nodeFault{(*slurmworld.World).Unplug, (*slurmworld.World).Plug})
}

func testNodeFault(t *testing.T, f nodeFault) {
	event := func(kind record.EventKind, state string) string {
		return `"kind":"` + string(kind) + `","state":"` + state + `"`
	}
	stages := []struct {
		name    string
		victim  string // node001 has the scheduler
		moment  string // an event that is told for the first time in the session; "" for the second trial
		records int    // at the end of the session that are ok
	}{
		{"before", "node002", event(record.EventReservation, "running"), 0},
		{"during", "node002", event(record.EventDeployment, "starting"), 0},
		{"after", "node001", "", 1},
	}
	slurmworld.Run(t, slurmworld.Config{Nodes: 2, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		h := newHeadNode(t, w)
		h.faultPlan(filepath.Dir(filepath.Dir(need.Python(t))), "silence = 20\nssh_config = \"nodes.conf\"\n")
		goOn := h.hold()
		args := []string{"run", "--plain"}
		for _, stage := range stages {
			earlier, release := h.events(), func() {}
			h.connectWithin(patiently)
			if stage.moment != "" { // no trial may end, and no login wait for long, before the fault
				release = h.holdFirst()
				h.connectWithin(briefly)
			}
			x := h.start("", args...)
			if stage.moment == "" {
				h.held()
			} else {
				h.until(stage.moment, func() bool { return strings.Contains(strings.TrimPrefix(h.events(), earlier), stage.moment) })
			}
			f.strike(w, t, stage.victim)
			h.connectWithin(briefly)
			code, out := x.ends()
			release()
			if code == hint.ExitOK {
				t.Errorf("%s: exit %d\n%s", stage.name, code, out)
			}
			if !h.blamed(stage.victim, earlier) {
				t.Errorf("%s: no event tells what happened to %s\n%s", stage.name, stage.victim, out)
			}
			h.nothingReserved()
			f.mend(w, t, stage.victim)
			h.connectWithin(patiently)
			h.nothingRunsAnywhere()
			for _, node := range h.Nodes {
				w.AwaitState(t, node, "idle", repairBound)
			}
			if n := len(h.ok()); n != stage.records {
				t.Errorf("%s: want %d trials that are ok, have %d", stage.name, stage.records, n)
			}
			code, out = h.esched("clean")
			if code != hint.ExitOK || stage.name != "before" && !h.staysOn(stage.victim, out) { // before, nothing was there yet
				t.Errorf("%s: want what %s keeps named, have exit %d\n%s", stage.name, stage.victim, code, out)
			}
			args = []string{"run", "--plain", "--resume", h.runDir()}
		}
		goOn()
		h.connectWithin(patiently)
		before := h.trials()
		h.completes(before)
		h.cleans()
		h.nothingLeft() // the runs since then have removed it
		if code, out := h.esched("clean"); code != hint.ExitOK || strings.Contains(out, kindFiles+" ") {
			t.Errorf("clean: exit %d\n%s", code, out)
		}
	})
}

// staysOn tells whether "esched clean" names what the run left on a node.
func (h *headNode) staysOn(node, out string) bool {
	h.t.Helper()
	for line := range strings.Lines(out) {
		if strings.Contains(line, h.runDir()+": "+kindFiles+" esched-"+slurmworld.User+"/r") && strings.Contains(line, node) &&
			strings.Contains(line, "stays (no reservation of yours runs there; your next run there removes it)") {
			return true
		}
	}
	return false
}

// testLeftOnHosts lets a host of a static cluster be unreachable when its run
// ends, and cleans it later, and at last the copies on all hosts.
func testLeftOnHosts(t *testing.T, h *headNode, python string) {
	h.faultPlan(python, "hosts = [\"node[001-002]\"]\nsilence = 20\nssh_config = \"nodes.conf\"\nenvironment_on = \"node\"\n")
	h.replaceInPlan(`kind = "slurm"`, `kind = "static"`)
	h.connectWithin(patiently)
	goOn := h.hold()
	x := h.start("", "run", "--plain")
	h.held()
	const victim = "node002"
	h.Unplug(t, victim)
	h.connectWithin(3)
	goOn()
	x.ends()
	if code, out := h.esched("clean"); code != hint.ExitError || !strings.Contains(out, victim) || !strings.Contains(out, "not removed (") {
		t.Errorf("while it is unplugged: exit %d\n%s", code, out)
	}
	h.Plug(t, victim)
	h.connectWithin(patiently)
	eventually(t, leftoverBound, "end of all processes on "+victim, func() bool { return len(h.Processes(t, victim)) == 0 })
	if files := h.OnNode(t, victim, "sh", "-c", "ls -d /var/tmp/esched-*/r*/stay.json"); files == "" {
		t.Error("nothing was left; there is nothing to clean")
	}
	code, out := h.esched("clean", "--dry-run")
	if code != hint.ExitOK || !strings.Contains(out, " on "+victim+": would be removed") {
		t.Errorf("dry run: exit %d\n%s", code, out)
	}
	code, out = h.esched("clean")
	if code != hint.ExitOK || !strings.Contains(out, " on "+victim+": removed") ||
		!strings.Contains(out, "copies of esched and environments in /var/tmp/esched-das on node001, node002: stays (later runs use them;") {
		t.Errorf("clean: exit %d\n%s", code, out)
	}
	h.nothingLeft()
	code, out = h.esched("clean", "--copies")
	if code != hint.ExitOK || !strings.Contains(out, "on node001, node002: removed") {
		t.Errorf("copies: exit %d\n%s", code, out)
	}
	for _, node := range []string{"node001", victim} {
		if files := h.OnNode(t, node, "find", "/var/tmp", "-mindepth", "1", "-user", slurmworld.User); files != "" {
			t.Errorf("left on %s: %s", node, files)
		}
	}
	if code, out = h.esched("clean"); code != hint.ExitOK || !strings.Contains(out, "nothing left behind") || strings.Contains(out, kindCopies) {
		t.Errorf("at last: exit %d\n%s", code, out)
	}
}

// blamed tells whether an event since then names the node and why it is of no
// use.
func (h *headNode) blamed(node, earlier string) bool {
	h.t.Helper()
	for _, e := range h.run().Events[strings.Count(earlier, "\n"):] {
		bad := e.State == deploy.StateLost || e.State == deploy.StateFailed
		if e.Kind == record.EventNode && bad && strings.HasPrefix(e.Node, node) && e.Message != "" {
			return true
		}
		if e.Kind == record.EventTrialEnded && e.Record != nil && strings.Contains(e.Record.Error, node) {
			return true
		}
	}
	return false
}

// ok are the records of trials that are ok.
func (h *headNode) ok() []record.Record {
	h.t.Helper()
	var all []record.Record
	for _, r := range h.run().Records {
		if r.Status == record.StatusOK {
			all = append(all, r)
		}
	}
	return all
}
