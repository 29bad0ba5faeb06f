package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

// stage is one of a run in which esched is killed.
type stage struct {
	name    string
	point   failpoint.Point   // "": killed from outside, in the second trial
	records int               // that there are already
	clean   bool              // before the run is resumed
	instead func(h *headNode) // for a stage that goes another way; nil usually
}

func event(kind record.EventKind, state string) failpoint.Point {
	return failpoint.Told(string(kind), state)
}

// TestWorldKilled kills esched at each stage of a run before its first record.
// What it started on nodes ends by itself, what it reserved is in the ledger,
// and resuming completes the run.
func TestWorldKilled(t *testing.T) {
	t.Parallel()
	node := func(r deploy.Rung) failpoint.Point { return event(record.EventNode, string(r)) }
	testKilled(t, []stage{
		{"entered in the ledger", failpoint.Before("sbatch"), 0, false, nil},
		{"submitted", failpoint.After("sbatch"), 0, false, nil},
		{"submitted, cleaned", failpoint.After("sbatch"), 0, true, nil},
		{"pending", event(record.EventReservation, string(reserve.Pending)), 0, true, nil},
		{"granted", event(record.EventReservation, string(reserve.Running)), 0, false, nil},
		{"uploaded", node(deploy.RungFiles), 0, true, nil},
		{"deploying", node(deploy.RungProcess), 0, false, nil},
		{"collecting", failpoint.Result, 0, false, nil},
	})
}

// TestWorldKilledLate does the same at the stages after that.
func TestWorldKilledLate(t *testing.T) {
	t.Parallel()
	testKilled(t, []stage{
		{"in a trial", "", 1, true, nil},
		{"recorded", event(record.EventTrialEnded, ""), 1, false, nil},
		{"tearing down", event(record.EventDeployment, "stopping"), 2, true, nil},
		{"releasing", failpoint.Before("scancel"), 2, true, nil},
		{"released", failpoint.After("scancel"), 2, true, nil},
		{"asked of preserve", "", 0, false, killAtPreserve},
	})
}

func testKilled(t *testing.T, tests []stage) {
	t.Helper()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		head := newHeadNode(t, w)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				h := head.at(t)
				h.faultPlan(python, "")
				if test.instead != nil {
					test.instead(h)
					return
				}
				free := func() {}
				if test.name == "pending" {
					_, free = w.Occupy(t, 2)
				}
				if test.point == "" {
					goOn := h.hold()
					x := h.start("", "run", "--plain")
					h.held()
					x.kill()
					h.nothingRuns()
					goOn()
				} else {
					h.start(test.point, "run", "--plain").endsAt(test.point)
					h.nothingRuns()
				}
				free()
				h.allNoted()
				before := h.trials()
				if n := strings.Count(before, "\n"); n != test.records {
					t.Errorf("want %d records, have %d:\n%s", test.records, n, before)
				}
				if test.clean {
					h.cleans()
				}
				h.completes(before)
				h.forgetUnsubmitted()
				h.cleans()
				h.nothingLeft()
			})
		}
	})
}

// killAtPreserve kills esched before and after preserve makes a reservation. Of
// one whose number got lost nobody can tell whose it is: "esched clean" names
// it, and leaves it to its user.
func killAtPreserve(h *headNode) {
	h.replaceInPlan(`kind = "slurm"`, `kind = "das"`)
	jobs := func() string { return h.Output(h.t, slurmworld.User, "squeue", "-h", "--me", "-o", "%i") }
	noted := func() {
		h.t.Helper()
		if have := h.entries(); len(have) != 1 || !strings.HasPrefix(have[0].ID, "asked-") {
			h.t.Errorf("ledger: want one entry without a number, have %+v", have)
		}
	}
	point := failpoint.Before("preserve")
	h.start(point, "run", "--plain").endsAt(point)
	noted()
	h.cleans()
	point = failpoint.After("preserve")
	h.start(point, "run", "--plain", "--resume", h.runDir()).endsAt(point)
	noted()
	number := jobs()
	if number == "" || strings.Contains(number, "\n") {
		h.t.Fatalf("want one reservation, have %q", number)
	}
	code, out := h.start("", "clean").ends()
	if code != hint.ExitError || !strings.Contains(out, "its number is not known") || !strings.Contains(out, "it may be one of: "+number) {
		h.t.Errorf("clean: exit %d\n%s", code, out)
	}
	if have := jobs(); have != number {
		h.t.Errorf("want %s left to its user, have %q", number, have)
	}
	h.Output(h.t, slurmworld.User, "scancel", number) // what preserve -c does here
	h.until("the end of "+number, func() bool { return jobs() == "" })
	h.completes("")
	h.nothingLeft()
}

// cleans lets "esched clean" release all that is left.
func (h *headNode) cleans() {
	h.t.Helper()
	if code, out := h.start("", "clean").ends(); code != hint.ExitOK {
		h.t.Errorf("clean: exit %d\n%s", code, out)
	}
	h.nothingReserved()
}

// forgetUnsubmitted looks at entries of jobs that were never submitted as if they
// had been made now, and an hour ago: "esched clean" removes them when no sbatch
// can be at work any more.
func (h *headNode) forgetUnsubmitted() {
	h.t.Helper()
	for _, e := range h.entries() {
		if !strings.HasPrefix(e.ID, "asked-") {
			h.t.Errorf("ledger: have %+v after the run", e)
			continue
		}
		e = h.remade(e, time.Now())
		code, out := h.start("", "clean").ends()
		if code != hint.ExitError || !strings.Contains(out, "sbatch may still be at work") {
			h.t.Errorf("clean: exit %d\n%s", code, out)
		}
		h.remade(e, time.Now().Add(-time.Hour))
	}
}

// remade gives an entry of the ledger another time of its making.
func (h *headNode) remade(e reserve.Entry, at time.Time) reserve.Entry {
	h.t.Helper()
	e.Made = at
	text, err := json.Marshal(e)
	if err != nil {
		h.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(h.ledgerDir(), "*"+strings.TrimPrefix(e.ID, "asked-")+".json"))
	if err != nil || len(files) != 1 {
		h.t.Fatalf("entry %s: have %q, %v", e.ID, files, err)
	}
	if err := os.WriteFile(files[0], text, 0o600); err != nil { // it stays the user's
		h.t.Fatal(err)
	}
	return e
}
