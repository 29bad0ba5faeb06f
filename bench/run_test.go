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

// smokeLimit bounds bench/smoke.toml on a busy machine.
const smokeLimit = 5 * time.Minute

// TestSmoke runs the benchmarks at tiny sizes, the way "make bench" does.
func TestSmoke(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "esched")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/esched").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), smokeLimit)
	defer cancel()
	c := exec.CommandContext(ctx, "./run.sh", "smoke", "decision", python)
	c.Env = append(os.Environ(), "ESCHED="+binary, "RESULTS="+dir)
	var errs strings.Builder
	c.Stderr = &errs
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) } // what Ctrl-C does
	out, err := c.Output()
	have := string(out)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, have, errs.String())
	}
	for _, want := range []string{
		"## smoke, Dask 20", "20 of 20 trials ok", "| merge | 100 tasks | 2 | ", "| tree | 64 leaves | 2 | ", "| montecarlo | 50 chunks | 2 | ",
		"| groupby | 12 partitions | 2 | ", "| shuffle | 6 partitions | 2 | ", "(too few for an interval)", "| groupby | sidekick-stock | ",
		"## Decisions with 64 workers", "| asked | 4096 | ",
	} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
}
