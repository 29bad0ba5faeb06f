package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// ownProgram is a script of a user: mode says how it goes.
const ownProgram = `import uuid

def double(n):
    return 2 * n

def run(client, params):
    mode = params["mode"]
    print("mode is", mode, flush=True)
    if mode == "raise":
        raise LookupError("nothing here")
    if mode == "differ":
        return str(uuid.uuid4())
    return sum(client.gather(client.map(double, range(params["n"]))))
`

// stuckProgram says so before anything that takes long, and then occupies a
// worker for as long as it is let.
const stuckProgram = `print("stuck in", __name__, flush=True)
import os, time
from distributed import Client
Client(os.environ["ESCHED_SCHEDULER"]).submit(time.sleep, 3600).result()
`

// TestRunPrograms runs a user's own workloads under both kinds of schedulers,
// over encrypted connections.
func TestRunPrograms(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("own.py", ownProgram)
	s.write("stuck.py", stuckProgram)
	python := need.Python(t)
	s.write("experiments.toml", fmt.Sprintf(`name = "programs"
repetitions = 1
claim_time = "00:30:00"
timeout = "300s"
retries = 0
warmup = 0
environment = %q
workers_per_node = 1
schedulers = ["dask", "sidekick"]
policies = ["earliest-start"]

[clusters.local]
kind = "local"
tls = true

[program.own]
script = "own.py"

[program.stuck]
command = [%q, "stuck.py"]
timeout = "15s"

[program.command]
command = ["sh", "-c", "test -s $ESCHED_TLS_CA && test -s $ESCHED_TLS_CERT && echo \"\\\"${ESCHED_SCHEDULER%%%%:*}\\\"\" > $ESCHED_RESULT"]

[[workload]]
name = "own"
n = 20
mode = ["fine", "raise", "differ"]

[[workload]]
name = "stuck"

[[workload]]
name = "command"
`, python, filepath.Join(filepath.Dir(python), "python")))
	s.esched("run").wants(t, 3, []string{"own mode=fine n=20", "exit code 3"}, nil)
	run := s.onlyRun()
	nothingLeft(t, s, run)
	want := map[string]struct {
		status record.Status
		text   string // of the error, or the result
	}{
		"fine":  {record.StatusOK, "380"},
		"":      {record.StatusOK, "tls"},
		"stuck": {record.StatusTimeout, "stuck ran longer than its limit of 15 s; its output ends with: stuck in __main__"},
		"raise": {record.StatusFailed, "ended with exit status 1; its output ends with: LookupError: nothing here (logs/"},
	}
	differing := 0
	all := measured(t, s.records(run))
	if len(all) != 10 {
		t.Errorf("want 10 records, have %d", len(all))
	}
	for _, r := range all {
		mode, _ := r.Params["mode"].(string)
		if mode == "differ" {
			if r.Status == record.StatusFailed && strings.Contains(r.Error, "result differs") {
				differing++
			}
			continue
		}
		if r.Workload == "stuck" {
			mode = r.Workload
		}
		w := want[mode]
		if r.Status != w.status || !strings.Contains(r.Error+r.Result, w.text) || r.Program == "" {
			t.Errorf("%s %s: want %s %q, have %s %q %q (%s)", r.Series(), r.ParamString(), w.status, w.text, r.Status, r.Error, r.Result, r.Program)
		}
		if mode == "fine" && (r.Tasks != 20 || r.Kind == kindSidekick && r.Decisions != 20) {
			t.Errorf("%s: %d tasks, %d decisions, want 20", r.Series(), r.Tasks, r.Decisions)
		}
	}
	if differing != 1 { // whichever came second
		t.Errorf("%d results differ, want 1", differing)
	}
	kept, err := filepath.Glob(filepath.Join(s.p.path(run), programsDir, "*", "own.py"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept scripts: %v, %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != ownProgram {
		t.Errorf("kept script: %v\n%s", err, text)
	}
}

// TestChangedProgram holds that a trial is another one when its program is.
func TestChangedProgram(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("experiments.toml", `name = "programs"
repetitions = 1
schedulers = ["dask"]
[program.own]
script = "own.py"
[program.command]
command = ["./own.sh", "--fast"]
[[workload]]
name = "own"
[[workload]]
name = "command"
`)
	s.esched("plan").wants(t, 2, nil, []string{"own.py: no such file", "own.sh: no such file"})
	s.write("own.py", "def run(client, params): return 1\n")
	s.write("own.sh", "#!/bin/sh\n")
	ids := func() map[string]string {
		var p struct{ Trials []record.Planned }
		s.esched("plan", "--json").into(t, &p)
		found := map[string]string{}
		for _, x := range p.Trials {
			if !x.Warmup {
				found[x.Workload] = x.ID
			}
		}
		return found
	}
	first := ids()
	if again := ids(); first["own"] != again["own"] || first["command"] != again["command"] || len(first) != 2 {
		t.Errorf("the same programs: have %v and %v", first, again)
	}
	s.write("own.py", "def run(client, params): return 2\n")
	s.write("own.sh", "#!/bin/sh\nexit 0\n")
	if changed := ids(); first["own"] == changed["own"] || first["command"] == changed["command"] {
		t.Errorf("changed programs: have %v and %v", first, changed)
	}
}
