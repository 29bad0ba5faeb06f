package das_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/preservedouble"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/das"
	"github.com/esched/esched/reserve/reservetest"
)

// bound is generous: nodes are granted within seconds on an idle machine.
const bound = 2 * time.Minute

// newReserver runs preserve as the world's user.
func newReserver(t *testing.T, w *slurmworld.World, dir string) (*das.Reserver, *reserve.Ledger) {
	t.Helper()
	bin := t.TempDir()
	preservedouble.Install(t, bin)
	w.Install(t, slurmworld.User, filepath.Join(bin, "preserve"))
	ledger := reserve.OpenLedger(dir)
	return das.New(das.Config{User: slurmworld.User, Batch: reserve.Batch{
		Profile: reserve.Profile{Ledger: ledger, Now: time.Now}, Exec: w.Runner(t, slurmworld.User),
	}}), ledger
}

func TestConformance(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		reservetest.Run(t, func(t *testing.T, dir string) reservetest.Setup {
			r, ledger := newReserver(t, w, dir)
			return reservetest.Setup{Reserver: r, Ledger: ledger, TooMany: len(w.Nodes) + 1, Fixed: true, Bound: bound}
		})
	})
}

// TestFullCluster waits for nodes that others have, and loses its own.
func TestFullCluster(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		r, ledger := newReserver(t, w, t.TempDir())
		_, free := w.Occupy(t, 1)
		v, err := r.Reserve(t.Context(), reserve.Request{Run: "/runs/x", Nodes: 2, Claim: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if have := reservetest.Await(t, v, bound, reserve.Pending); len(have.Hosts) > 0 || have.Reason == "" {
			t.Errorf("pending: have %+v", have)
		}
		entries, err := ledger.Entries()
		if err != nil || len(entries) != 1 {
			t.Fatalf("want one entry, have %v, %v", entries, err)
		}
		next := reserve.Request{Run: "/runs/y", Nodes: 2, Claim: 10 * time.Minute}
		if v, err = r.Adopt(t.Context(), next, entries[0]); err != nil || v == nil {
			t.Fatalf("want the pending reservation adopted, have %v, %v", v, err)
		}
		free()
		have := reservetest.Await(t, v, bound, reserve.Running)
		if strings.Join(have.Hosts, " ") != "node001 node002" || have.Deadline.IsZero() {
			t.Errorf("running: have %+v", have)
		}
		if out, err := exec.CommandContext(t.Context(), "scancel", v.ID()).CombinedOutput(); err != nil {
			t.Fatalf("scancel: %v\n%s", err, out)
		}
		if have := reservetest.Await(t, v, bound, reserve.Gone); !strings.Contains(have.Reason, "somebody cancelled it") {
			t.Errorf("cancelled: have %+v", have)
		}
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if entries, err := ledger.Entries(); err != nil || len(entries) > 0 {
			t.Errorf("ledger: %v, %v", entries, err)
		}
	})
}

// TestController asks while the queue is down, and gives the nodes back later.
func TestController(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 1}, func(t *testing.T, w *slurmworld.World) {
		r, ledger := newReserver(t, w, t.TempDir())
		v, err := r.Reserve(t.Context(), reserve.Request{Run: "/runs/x", Nodes: 1, Claim: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		reservetest.Await(t, v, bound, reserve.Running)
		w.AwaitProcess(t, "node001", "sleep") // a job that was never launched ends with its controller
		w.KillController(t)
		// The clients of a queue take ten seconds to give up; one round is enough.
		if err := v.Release(t.Context()); err == nil || !strings.Contains(err.Error(), "preserve -llist") {
			t.Errorf("controller down: want an error, have %v", err)
		}
		if entries, err := ledger.Entries(); err != nil || len(entries) != 1 {
			t.Errorf("controller down: ledger has %v, %v", entries, err)
		}
		w.StartController(t)
		reservetest.Await(t, v, bound, reserve.Running)
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
