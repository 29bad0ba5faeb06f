package cmd

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/runners/record"
)

// downFor is how long the controller is away: a restart with a large state.
const downFor = 20 * time.Second

// TestWorldQueue meets a queue that lets wait, refuses, does not answer, and
// takes back what it gave.
func TestWorldQueue(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		head := newHeadNode(t, w)
		t.Run("refused", func(t *testing.T) { testRefused(t, head.at(t), python) })
		t.Run("no nodes, no controller, then free", func(t *testing.T) { testControllerDown(t, head.at(t), python) })
		t.Run("cancelled while it waits", func(t *testing.T) { testCancelledPending(t, head.at(t), python) })
		t.Run("cancelled in a trial", func(t *testing.T) { testCancelledRunning(t, head.at(t), python) })
	})
}

// testRefused asks for what the queue never grants.
func testRefused(t *testing.T, h *headNode, python string) {
	for _, c := range []struct {
		name    string
		options string
		want    string // in the message
		mend    string
		begun   bool // only the queue itself knows it, when it is asked for nodes
	}{
		{"unknown partition", `partition = "nowhere"`, "nowhere", "set partition", false},
		{"too few nodes there", `partition = "short"`, "short", "Try: ", false},
		{"option nobody knows", `native = ["--no-such-option"]`, "no-such-option", "native", true},
	} {
		h := h.at(t)
		h.faultPlan(python, c.options)
		code, out := h.start("", "run", "--plain").ends()
		if code != hint.ExitUsage || !strings.Contains(out, c.want) || !strings.Contains(out, c.mend) {
			t.Errorf("%s: exit %d, want %q and %q in\n%s", c.name, code, c.want, c.mend, out)
		}
		if runs, _ := filepath.Glob(filepath.Join(h.dir, "runs", "*")); c.begun && len(h.run().Records) > 0 || !c.begun && len(runs) > 0 {
			t.Errorf("%s: have runs %q", c.name, runs)
		}
		h.nothingReserved()
	}
}

// testControllerDown lets a run wait for nodes, takes the controller away while
// it waits and again while it gives the nodes back.
func testControllerDown(t *testing.T, h *headNode, python string) {
	h.faultPlan(python, "")
	_, free := h.Occupy(t, 2)
	goOn := h.hold()
	x := h.start("", "run", "--plain")
	h.told(`"state":"pending"`)
	h.StopController(t)
	h.told("the queue does not answer")
	<-time.After(downFor) // the fault itself
	h.StartController(t)
	free()
	h.held()
	h.StopController(t)
	goOn()
	h.until("the end of the second trial", func() bool { return strings.Count(h.trials(), "\n") == 2 })
	<-time.After(downFor)
	h.StartController(t)
	if code, out := x.ends(); code != hint.ExitOK {
		t.Errorf("exit %d\n%s", code, out)
	}
	h.complete("")
	h.nothingLeft()
}

// testCancelledPending cancels the job of a run that waits for it.
func testCancelledPending(t *testing.T, h *headNode, python string) {
	h.faultPlan(python, "")
	_, free := h.Occupy(t, 2)
	x := h.start("", "run", "--plain")
	h.told(`"state":"pending"`)
	h.Output(t, "root", "scancel", h.job())
	code, out := x.ends()
	if code != hint.ExitNoNodes || !strings.Contains(out, "the job was cancelled") || !strings.Contains(out, "esched run --resume") {
		t.Errorf("exit %d\n%s", code, out)
	}
	free()
	h.nothingReserved()
	h.completes("")
	h.nothingLeft()
}

// testCancelledRunning cancels the job of a run in the middle of a trial.
func testCancelledRunning(t *testing.T, h *headNode, python string) {
	h.faultPlan(python, "")
	goOn := h.hold()
	x := h.start("", "run", "--plain")
	h.held()
	h.Output(t, "root", "scancel", h.job())
	code, out := x.ends()
	if code == hint.ExitOK || !strings.Contains(out, errTaken.Error()) || !strings.Contains(out, "the job was cancelled") {
		t.Errorf("exit %d\n%s", code, out)
	}
	goOn()
	h.nothingRunsAnywhere()
	before := h.trials()
	if strings.Count(before, "\n") != 1 {
		t.Errorf("want the record of the first trial, have\n%s", before)
	}
	h.completes(before)
	h.nothingRunsAnywhere()
}

// job is the only job of the user.
func (h *headNode) job() string {
	h.t.Helper()
	jobs := strings.Fields(h.Output(h.t, slurmworld.User, "squeue", "-h", "--me", "-o", "%i"))
	if len(jobs) != 1 {
		h.t.Fatalf("want one job, have %q", jobs)
	}
	return jobs[0]
}

// TestWorldDeadline lets a claim end in the middle of a trial. The trial is
// given up in time, the nodes are given back before they are taken, and the run
// is completed in another claim. The queue takes them later than it said, since
// a busy machine may need longer for an orderly end than the run keeps for it.
func TestWorldDeadline(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		h := newHeadNode(t, w)
		h.faultPlan(python, "")
		h.replaceInPlan(`claim_time = "00:30:00"`, `claim_time = "00:03:00"`)
		goOn := h.hold()
		x := h.start("", "run", "--plain")
		h.held()
		job := h.job()
		h.Output(t, "root", "scontrol", "update", "JobId="+job, "TimeLimit=+30")
		code, out := x.ends()
		if code != hint.ExitTrials || !strings.Contains(out, "claim ends at") {
			t.Errorf("exit %d\n%s", code, out)
		}
		goOn()
		h.nothingLeft()
		r := h.run()
		var deadline, ended, released time.Time
		for _, e := range r.Events {
			switch {
			case deadline.IsZero():
				deadline = e.Deadline
			case e.Kind == record.EventTrialEnded:
				ended = e.Time
			case e.Kind == record.EventReservation && e.State == "released":
				released = e.Time
			}
		}
		if ended.IsZero() || !ended.Before(deadline) || !released.After(ended) {
			t.Errorf("nodes were to be taken at %v, the trial was given up at %v, they were given back at %v", deadline, ended, released)
		}
		if state := h.Output(t, slurmworld.User, "squeue", "-h", "-t", "all", "-j", job, "-o", "%T"); state != "CANCELLED" {
			t.Errorf("job: want it cancelled by the run, have %s", state)
		}
		if all := measured(t, r); len(all) != 2 || all[0].Status != record.StatusOK || all[1].Status == record.StatusOK {
			t.Errorf("records: have %+v", all)
		}
		h.completes(h.trials())
		h.nothingLeft()
	})
}
