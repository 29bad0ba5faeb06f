package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
)

// TestAdoptedReservation kills a run that waits in the queue. The run that
// resumes it has not to wait at the queue's end again.
func TestAdoptedReservation(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		h := newHeadNode(t, w)
		h.write(python, `"dask"`, "\n[clusters.slurm]\nkind = \"slurm\"\nscratch = \"/var/tmp\"\n")
		_, free := w.Occupy(t, 1)
		jobs := func() string { return w.Output(t, slurmworld.User, "squeue", "-h", "--me", "-o", "%i") }
		first := h.command(t.Context(), "run", "--plain", "--cluster", "slurm")
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		first.Stdout, first.Stderr = log, log
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, worldLimit, "a job", func() bool { return jobs() != "" })
		ledger := filepath.Join(h.Home(t, slurmworld.User), ".local/state/esched/ledger/slurm-*.json")
		eventually(t, worldLimit, "its id in the ledger", func() bool {
			have, _ := filepath.Glob(ledger)
			return len(have) == 1 && strings.HasSuffix(have[0], "slurm-"+jobs()+".json")
		})
		job := jobs()
		if err := first.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = first.Wait() // it was killed
		runs, err := filepath.Glob(filepath.Join(h.dir, "runs", "*"))
		if err != nil || len(runs) != 1 {
			t.Fatalf("want one run, have %q, %v", runs, err)
		}
		second := make(chan result, 1)
		go func() {
			code, out := h.esched("run", "--plain", "--resume", runs[0])
			second <- result{code: code, stdout: out}
		}()
		waiting := func() bool {
			for _, e := range h.run().Events {
				if strings.Contains(e.Message, job+" was left by ") {
					return true
				}
			}
			return false
		}
		eventually(t, worldLimit, "the reservation adopted", waiting)
		if have := jobs(); have != job {
			t.Errorf("want the one job %s, have %q", job, have)
		}
		free()
		select {
		case r := <-second:
			r.wants(t, hint.ExitOK, nil, nil)
		case <-time.After(clusterLimit):
			t.Fatal("the resumed run does not end")
		}
		h.nothingLeft()
	})
}
