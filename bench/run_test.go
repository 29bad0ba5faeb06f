package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
)

// runLimit bounds one call of run.sh where go test has no bound of its own.
const runLimit = 20 * time.Minute

// runGrace is kept of go test's bound to end a call and to show what it said.
const runGrace = 2 * time.Minute

// TestSmoke runs the benchmarks at tiny sizes, the way "make bench" does.
func TestSmoke(t *testing.T) {
	t.Parallel()
	have := runScript(t, "smoke", "decision")
	for _, want := range []string{
		"## smoke, Dask 20", "Made by esched ", "20 of 20 trials ok", "| merge | 100 tasks | 2 | ", "| tree | 64 leaves | 2 | ", "| montecarlo | 50 chunks | 2 | ",
		"| groupby | 12 partitions | 2 | ", "| shuffle | 6 partitions | 2 | ", "(too few for an interval)", "| groupby | 12 partitions | sidekick-stock | ", "| 100 | 0 | ",
		"## Decisions with 64 workers", "| asked | 4096 | ",
	} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
}

// TestQuick measures once what "bench/run.sh quick" measures.
func TestQuick(t *testing.T) {
	t.Parallel()
	have := runScript(t, "quick")
	for _, want := range []string{
		"## What people wait for", "Made by esched ", "| Enter to the first trial, a warm-up | 1 | ",
		"| Enter to the first task, told with the result of its trial | 1 | ", "| Enter to the first measured trial | 1 | ",
		"| report of 1000 trials (`esched report`) | 1 | ", "| plan of 10000 trials (`esched plan`) | 1 | ",
	} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
}

// runScript returns what run.sh prints.
func runScript(t *testing.T, words ...string) string {
	t.Helper()
	python := need.Python(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "esched")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/esched").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	end, bound := t.Deadline()
	if !bound {
		end = time.Now().Add(runLimit + runGrace)
	}
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(-runGrace))
	defer cancel()
	c := exec.CommandContext(ctx, "./run.sh", append(words, python)...)
	c.Env = append(os.Environ(), "ESCHED="+binary, "RESULTS="+dir, "ROUNDS=1")
	var errs strings.Builder
	c.Stderr = &errs
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) } // what Ctrl-C does
	c.WaitDelay = time.Minute                                                       // for what keeps its output open
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, errs.String())
	}
	return string(out)
}
