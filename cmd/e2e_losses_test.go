package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// TestRunSurvivesLosses strikes a process in the middle of a trial, which goes on
// until that is done. It ends with the right result, and its record says what
// happened.
func TestRunSurvivesLosses(t *testing.T) {
	t.Parallel()
	kill := func(victim string) func(*shell) {
		return func(s *shell) {
			s.signal(victim, syscall.SIGKILL)
			s.awaitLoss(victim)
		}
	}
	tests := []struct {
		name      string
		strike    func(*shell)
		impatient bool // with the preload's own deadline for answers
		fallbacks bool
		disturbed string
		attempts  int // that failed
	}{
		{"service killed", kill("service"), false, true, "service lost", 0},
		{"service stopped", func(s *shell) { s.signal("service", syscall.SIGSTOP) }, true, true, "", 0},
		{"worker killed", kill("w1"), false, false, "w1 lost", 0},
		{"scheduler killed", kill("scheduler"), false, false, "", 1},
		{"service answers garbage", func(s *shell) { s.write("garble", "") }, false, true, "", 0},
	}
	digest := "" // of the first trial; all compute the same
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newShell(t)
			s.env[garbled] = s.p.path("garble")
			if test.impatient {
				s.programs = builtin()
			}
			s.writeUnending(need.Python(t), `retries = 1
workers_per_node = 2
schedulers = ["sidekick"]
policies = ["earliest-start"]`)
			done := make(chan result, 1)
			go func() { done <- s.esched("run") }()
			s.awaitWork()
			test.strike(s)
			s.finish()
			r := <-done
			r.wants(t, 0, []string{"run ended  1 ok"}, nil)
			run := s.onlyRun()
			nothingLeft(t, s, run)
			all := measured(t, s.records(run))
			if len(all) != 1 {
				t.Fatalf("want one record, have %d", len(all))
			}
			x := all[0]
			if x.Status != record.StatusOK || x.ResultDigest == "" || len(x.Attempts) != test.attempts {
				t.Errorf("record %+v", x)
			}
			for _, a := range x.Attempts {
				if a.Status != record.StatusFailed || !strings.Contains(a.Error, errNoScheduler.Error()) {
					t.Errorf("attempt %+v", a)
				}
			}
			if digest == "" {
				digest = x.ResultDigest
			}
			if x.ResultDigest != digest {
				t.Errorf("digest: want %s, have %s", digest, x.ResultDigest)
			}
			if (x.Fallbacks > 0) != test.fallbacks || x.Decisions == 0 {
				t.Errorf("%d decisions, %d fallbacks", x.Decisions, x.Fallbacks)
			}
			if !strings.Contains(x.Disturbed, test.disturbed) || (test.disturbed == "") != (x.Disturbed == "") {
				t.Errorf("disturbed: want %q in it, have %q", test.disturbed, x.Disturbed)
			}
		})
	}
}

// signal sends a signal to a process of the run.
func (s *shell) signal(victim string, signal syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(processRecord(s, victim).PID, signal); err != nil {
		s.t.Fatalf("%s to %s: %v", signal, victim, err)
	}
}

// awaitLoss returns when esched knows that a process of the run is lost.
func (s *shell) awaitLoss(victim string) {
	s.t.Helper()
	eventually(s.t, shortly, "news of the loss of "+victim, func() bool {
		return slices.ContainsFunc(s.records(s.onlyRun()).Events, func(e record.Event) bool {
			return e.Kind == record.EventNode && e.State == deploy.StateLost && strings.HasSuffix(e.Node, victim)
		})
	})
}

// processRecord returns the record of the run's process whose name ends so.
func processRecord(s *shell, suffix string) deploy.ProcessRecord {
	files, _ := filepath.Glob(filepath.Join(s.p.Dir, "runs", "*", deploy.ProcessesDir, "*.json"))
	for _, f := range files {
		var r deploy.ProcessRecord
		if text, err := os.ReadFile(f); err == nil && json.Unmarshal(text, &r) == nil && strings.HasSuffix(r.Name, suffix) {
			return r
		}
	}
	return deploy.ProcessRecord{}
}
