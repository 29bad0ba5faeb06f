package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// TestRunSurvivesLosses strikes a process in the middle of a trial. The trial
// ends with the right result, and its record says what happened.
func TestRunSurvivesLosses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		victim    string // process record's name
		signal    syscall.Signal
		fallbacks bool
		disturbed string
	}{
		{"service killed", "service", syscall.SIGKILL, true, "service lost"},
		{"service stopped", "service", syscall.SIGSTOP, true, ""},
		{"worker killed", "w1", syscall.SIGKILL, false, "w1 lost"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newShell(t)
			s.write("experiments.toml", fmt.Sprintf(`name = "losses"
repetitions = 1
claim_time = "00:10:00"
timeout = "120s"
retries = 0
warmup = 0
environment = %q
workers_per_node = 2
schedulers = ["sidekick"]
policies = ["earliest-start"]
[[workload]]
name = "merge"
tasks = 3000
`, need.Python(t)))
			done := make(chan struct{})
			go func() {
				defer close(done)
				strike(t, s, test.victim, test.signal)
			}()
			r := s.esched("run")
			<-done
			r.wants(t, 0, []string{"run ended  1 ok"}, nil)
			run := s.onlyRun()
			nothingLeft(t, s, run)
			all := measured(t, s.records(run))
			if len(all) != 1 {
				t.Fatalf("want one record, have %d", len(all))
			}
			x := all[0]
			if x.Status != record.StatusOK || x.ResultDigest == "" || len(x.Attempts) != 0 {
				t.Errorf("record %+v", x)
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

// strike sends a signal to a process of the run when Dask's scheduler has
// worked on the trial for a while.
func strike(t *testing.T, s *shell, victim string, signal syscall.Signal) {
	began := time.Duration(-1)
	for end := time.Now().Add(runLimit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if began < 0 {
			events, _ := filepath.Glob(filepath.Join(s.p.Dir, "runs", "*", record.EventsFile))
			if len(events) != 1 {
				continue
			}
			if text, _ := os.ReadFile(events[0]); !strings.Contains(string(text), string(record.EventTrialStarted)) {
				continue
			}
			if began = cpuOf(processRecord(s, "scheduler").PID); began < 0 {
				continue
			}
		}
		if cpuOf(processRecord(s, "scheduler").PID) < began+500*time.Millisecond {
			continue
		}
		if err := syscall.Kill(processRecord(s, victim).PID, signal); err != nil {
			t.Errorf("strike at %s: %v", victim, err)
		}
		return
	}
	t.Errorf("no moment to strike at %s", victim)
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

// cpuOf returns the CPU time of a process, -1 when there is none.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || pid == 0 {
		return -1
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}
