package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// launch starts esched as a process of its own. Wait returns its exit code.
func (s *shell) launch(args ...string) (c *exec.Cmd, wait func() int) {
	s.t.Helper()
	s.out, s.err = &lockedBuffer{}, &lockedBuffer{}
	c = exec.Command(s.p.Executable, args...)
	c.Dir, c.Env = s.p.Dir, s.p.Environ()
	c.Stdout, c.Stderr = s.out, s.err
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	late := time.AfterFunc(runLimit, func() { _ = c.Process.Kill() })
	return c, func() int {
		defer late.Stop()
		err := c.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		} else if err != nil {
			s.t.Errorf("%s: %v", strings.Join(args, " "), err)
		}
		return 0
	}
}

// TestRunSignalled stops a real esched in the middle of a trial, in each way
// in which people and queues do, and completes the run.
func TestRunSignalled(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.writeUnending(need.Python(t), `workers_per_node = 1
schedulers = ["dask"]`)
	args := []string{"run"}
	run := ""
	for _, signal := range []struct {
		signal syscall.Signal
		name   string
		again  bool // while the tear-down hangs
	}{{syscall.SIGINT, "Ctrl-C", false}, {syscall.SIGTERM, "SIGTERM", false}, {syscall.SIGINT, "Ctrl-C", true}} {
		c, wait := s.launch(args...)
		s.awaitWork()
		said := []string{signal.name + ": stopping now", "run ended  0 ok, 1 not run", reportFile}
		if signal.again {
			// A worker whose guard is frozen does not end in order.
			if err := syscall.Kill(processRecord(s, "w0").Guard, syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			said = append(said, signal.name+" again: killing at once", "maybe still there")
		}
		if err := c.Process.Signal(signal.signal); err != nil {
			t.Fatal(err)
		}
		if signal.again {
			eventually(t, runLimit, "tear-down", func() bool { return strings.Contains(s.out.String(), "deployment stopping") })
			if err := c.Process.Signal(signal.signal); err != nil {
				t.Fatal(err)
			}
		}
		code := wait()
		run = s.onlyRun()
		result{code, s.out.String(), s.err.String()}.wants(t, 130, said, []string{"interrupted", "Try: esched run --resume " + run})
		nothingLeft(t, s, run)
		r := s.records(run)
		if len(measured(t, r)) != 0 || r.Manifest.ExitCode != 130 || r.Manifest.Ended.IsZero() {
			t.Errorf("after %s: %d records, exit code %d, ended %v", signal.name, len(r.Records), r.Manifest.ExitCode, r.Manifest.Ended)
		}
		if _, err := s.p.stat(filepath.Join(run, reportFile)); err != nil {
			t.Errorf("after %s: %v", signal.name, err)
		}
		args = []string{"run", "--resume", run}
		if err := os.Remove(s.p.path("at-work")); err != nil {
			t.Fatal(err)
		}
	}
	s.finish()
	s.esched(args...).wants(t, 0, []string{"run ended  1 ok"}, nil)
	have := s.records(run)
	if all := measured(t, have); len(all) != 1 || all[0].Status != record.StatusOK || have.Manifest.Sessions != 4 {
		t.Errorf("%d records, %d sessions", len(all), have.Manifest.Sessions)
	}
	nothingLeft(t, s, run)
}
