package slurm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/slurm"
)

// asReserver names the ledger of a process that this test binary then is: it
// reserves a node and ends.
const asReserver = "ESCHED_TEST_RESERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asReserver); dir != "" {
		r := slurm.New(batch(reserve.OpenLedger(dir), execute))
		_, err := r.Reserve(context.Background(), request(1))
		fmt.Println(err)
		os.Exit(1) // it was to be killed before
	}
	os.Exit(m.Run())
}

func execute(ctx context.Context, argv []string) ([]byte, []byte, error) {
	var out, complaint bytes.Buffer
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdout, c.Stderr, c.WaitDelay = &out, &complaint, 10*time.Second
	err := c.Run()
	return out.Bytes(), complaint.Bytes(), err
}

// TestKilled kills a process with SIGKILL between its ledger entry and the
// answer of an sbatch that goes on by itself. Another process releases what
// becomes of it.
func TestKilled(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 1}, func(t *testing.T, w *slurmworld.World) {
		dir := t.TempDir()
		gate, bin := filepath.Join(dir, "gate"), filepath.Join(dir, "bin")
		if err := os.Mkdir(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/bash\nfor _ in {1..3000}; do [ -e " + gate + " ] && exec /usr/bin/sbatch \"$@\"; sleep 0.05; done\n"
		if err := os.WriteFile(filepath.Join(bin, "sbatch"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		ledger := reserve.OpenLedger(filepath.Join(dir, "ledger"))
		child := exec.Command(self)
		child.Env = append(os.Environ(), asReserver+"="+filepath.Join(dir, "ledger"), "PATH="+bin+":"+os.Getenv("PATH"))
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a slow sbatch", func() bool { return exec.Command("pgrep", "-f", bin+"/sbatch").Run() == nil })
		entries, err := ledger.Entries()
		if err != nil || len(entries) != 1 {
			t.Fatalf("want one entry before sbatch is called, have %+v, %v", entries, err)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed

		v, err := slurm.New(batch(ledger, execute)).Attach(entries[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Release(t.Context()); err == nil || !strings.Contains(err.Error(), "sbatch may still be at work") || hint.Of(err) == "" {
			t.Errorf("release before sbatch is done: want a refusal with a hint, have %v", err)
		}
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		await(t, v, reserve.Running)
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if have, err := ledger.Entries(); err != nil || len(have) > 0 {
			t.Errorf("want an empty ledger, have %+v, %v", have, err)
		}
		eventually(t, "no job", func() bool { return w.Output(t, "root", "squeue", "-h", "-t", "PENDING,RUNNING") == "" })

		// An entry whose sbatch never got through is settled after a while.
		old := entries[0]
		old.Made = old.Made.Add(-time.Hour)
		old.ID = "asked-neverdone"
		if err := ledger.Add(old); err != nil {
			t.Fatal(err)
		}
		if v, err = slurm.New(batch(ledger, execute)).Attach(old); err != nil {
			t.Fatal(err)
		}
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if have, err := ledger.Entries(); err != nil || len(have) > 0 {
			t.Errorf("want an empty ledger, have %+v, %v", have, err)
		}
	})
}

// TestInterrupted interrupts a reservation whose job is made and whose sbatch
// does not answer.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 1}, func(t *testing.T, w *slurmworld.World) {
		wrap(t, w, "sbatch", `/usr/bin/sbatch "$@" >/dev/null; exec sleep 1000`)
		q := newQueue(t, w, nil)
		stop := errors.New("stopped by the user")
		ctx, interrupt := context.WithCancelCause(t.Context())
		defer interrupt(nil)
		done := make(chan error, 1)
		go func() {
			_, err := q.Reserve(ctx, request(1))
			done <- err
		}()
		eventually(t, "a job", func() bool { return w.Output(t, slurmworld.User, "squeue", "-h", "-o", "%i") != "" })
		interrupt(stop)
		select {
		case err := <-done:
			if !errors.Is(err, stop) {
				t.Errorf("want %v, have %v", stop, err)
			}
		case <-time.After(bound):
			t.Fatal("interrupted reservation does not return")
		}
		q.entries(t, 0)
		noJobs(t, w)
	})
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, bound)
		}
	}
}

// TestSilentSubmission lets the controller fall silent as sbatch is called:
// what was sent to it is done when it wakes up.
func TestSilentSubmission(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 1}, func(t *testing.T, w *slurmworld.World) {
		run := w.Runner(t, slurmworld.User)
		q := newQueue(t, w, func(c *reserve.Batch) {
			c.Exec = func(ctx context.Context, argv []string) ([]byte, []byte, error) {
				if argv[0] == "sbatch" {
					w.StopController(t)
				}
				return run(ctx, argv)
			}
		})
		v, err := q.Reserve(t.Context(), request(1))
		if err == nil {
			t.Fatalf("want an error, have %s", v.ID())
		}
		if !strings.Contains(err.Error(), "the job may still be made") || !strings.Contains(hint.Of(err), "esched clean") {
			t.Errorf("want an error that says so, with a hint, have %v", err)
		}
		entries := q.entries(t, 1)
		w.StartController(t)
		if v, err = q.Attach(entries[0]); err != nil {
			t.Fatal(err)
		}
		await(t, v, reserve.Running)
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		q.entries(t, 0)
		noJobs(t, w)
	})
}
