package launch_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/launch"
	"github.com/esched/esched/internal/preservedouble"
	"github.com/esched/esched/internal/slurmworld"
)

// Times on a busy machine: how long anything may take, how long a node may be
// silent, and how long it may where that is tested.
const (
	bound      = 2 * time.Minute
	lease      = time.Minute
	shortLease = 12 * time.Second
)

// TestJob launches with srun in a job of a real SLURM.
func TestJob(t *testing.T) {
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		job := w.Output(t, "root", "sbatch", "--parsable", "--exclusive", "-N2", "-t60", "-o/dev/null", "--wrap", "sleep infinity")
		deploytest.Await(t, "the job's start", bound, func() error {
			if state := w.Output(t, "root", "squeue", "-h", "-j", job, "-o", "%T"); state != "RUNNING" {
				return fmt.Errorf("job %s is %s", job, state)
			}
			return nil
		})
		guard := deploytest.Guard()
		binary, err := filepath.Abs(guard[0])
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		config := launch.Config{
			Node: "node002", Argv: launch.SLURM(job), Guard: append([]string{binary}, guard[1:]...),
			Records: filepath.Join(dir, deploy.ProcessesDir), Lease: lease,
		}
		h := host(t, config)
		testStreams(t, h)
		testFiles(t, h, dir)
		bin := t.TempDir()
		preservedouble.Install(t, bin)
		das := launch.DAS(job)
		das[0] = filepath.Join(bin, das[0])
		prun := host(t, launch.Config{
			Node: "node002", Argv: das, Guard: append([]string{binary}, guard[1:]...), Lease: lease,
		})
		testStreams(t, prun)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		config.Lease = shortLease
		h = host(t, config)
		testEnds(t, w, h, dir)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

func testStreams(t *testing.T, h *launch.Host) {
	input := bytes.Repeat([]byte("no line end, \x00 and all"), 20_000)
	have, err := h.Run(t.Context(), deploy.Command{Name: "copy", Argv: []string{"cat"}, Stdin: bytes.NewReader(input)})
	if err != nil || !bytes.Equal(have, input) {
		t.Errorf("want %d bytes back, have %d, %v", len(input), len(have), err)
	}
	have, err = h.Run(t.Context(), deploy.Command{Name: "name", Argv: []string{"hostname"}})
	if want := "node002\n"; err != nil || string(have) != want {
		t.Errorf("want it on %q, have %q, %v", want, have, err)
	}
	_, err = h.Run(t.Context(), deploy.Command{Name: "fail", Argv: []string{"sh", "-c", "echo reason >&2; exit 3"}})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "reason") {
		t.Errorf("want exit status and reason, have %v", err)
	}
}

func testFiles(t *testing.T, h *launch.Host, dir string) {
	src := fstest.MapFS{"bin/run": {Data: []byte("#!/bin/sh\necho ran\n"), Mode: 0o755}}
	if err := h.Put(t.Context(), src, filepath.Join(dir, "put")); err != nil {
		t.Fatal(err)
	}
	have, err := h.Run(t.Context(), deploy.Command{Name: "run", Argv: []string{filepath.Join(dir, "put/bin/run")}})
	if want := "ran\n"; err != nil || string(have) != want {
		t.Errorf("a file that was put: want %q, have %q, %v", want, have, err)
	}
}

// testEnds stops one process, and lets another's node be unplugged.
func testEnds(t *testing.T, w *slurmworld.World, h *launch.Host, dir string) {
	start := func(name string) deploy.Process {
		ready := filepath.Join(dir, name)
		p, err := h.Start(t.Context(), deploy.Command{
			Name: name, Argv: []string{"sh", "-c", `setsid sleep 1000 & touch "$0"; sleep 1000`, ready}, Log: filepath.Join(dir, "log"),
		})
		if err != nil {
			t.Fatal(err)
		}
		deploytest.Await(t, name+" started", bound, func() error { _, err := os.Stat(ready); return err })
		return p
	}
	left := func() error { // the job's own is on another node
		if have := w.Processes(t, "node002"); len(have) > 0 {
			return fmt.Errorf("there is %+v", have)
		}
		return nil
	}
	deploytest.Await(t, "nothing left of other tests", bound, left)
	if err := start("stopped").Stop(bound); err != nil {
		t.Error(err)
	}
	deploytest.Await(t, "nothing left after Stop", bound, left)

	p := start("unplugged")
	w.Unplug(t, "node002")
	deploytest.Ended(t, p, bound)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "guard is gone") {
		t.Errorf("want an error about the guard, have %v", err)
	} else {
		t.Log(err)
	}
	deploytest.Await(t, "nothing left on the unplugged node", bound, left)
	w.Plug(t, "node002")
}
