package cmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// TestReplay runs the replayed workflow of the examples and one that is drawn,
// and looks for their bounds in record and report.
func TestReplay(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	s := newShell(t)
	example, err := filepath.Abs("../examples/replay.toml")
	if err != nil {
		t.Fatal(err)
	}
	s.esched("run", "--env", python, "--only", "scheduler=dask,repetition=1", "--output", "out", example).wants(t, 0, []string{"run ended  2 ok"}, nil)
	dirs, err := filepath.Glob(filepath.Join(s.p.Dir, "out", "*-replay"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("have %v, %v", dirs, err)
	}
	run, err := record.Read(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	work := map[string]float64{"wfcommons": 6, "synthetic": 3}
	for _, r := range run.Records {
		if r.Warmup {
			continue
		}
		want := work[r.Workload]
		if off := r.NominalWorkS - want; off > 0.01 || off < -0.01 || r.NominalPathS <= 0 || r.NominalPathS > want || r.MakespanS < r.NominalPathS {
			t.Errorf("%s: have work of %g s, path of %g s in %g s; want work of %g s", r.Trial, r.NominalWorkS, r.NominalPathS, r.MakespanS, want)
		}
		if r.Workload == "wfcommons" && (r.Params["instance"] != "variant-calling.json" || r.Program == "") {
			t.Errorf("have %v, text %q; want the name as it is written, and the file identified", r.Params, r.Program)
		}
		if r.Workload == "wfcommons" {
			kept, err := os.ReadFile(filepath.Join(dirs[0], inputsDir, r.Program, "variant-calling.json"))
			original, err2 := os.ReadFile("../examples/variant-calling.json")
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(kept, original) {
				t.Errorf("the instance is not with the run as it was: %v", err)
			}
		}
	}
	bounds := s.esched("report", dirs[0], "--csv", "--table", "bounds")
	bounds.wants(t, 0, []string{"work_s,at_once,work_bound_s,path_s,bound_s", "variant-calling"}, nil)
	if strings.Contains(bounds.stdout, ",,") { // a bound is missing
		t.Errorf("have\n%s", bounds.stdout)
	}
}

// TestInstanceFile holds that an instance is looked for beside the experiment,
// that its mistakes are told with their place, and that it is part of what a
// trial is.
func TestInstanceFile(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if err := os.Mkdir(filepath.Join(s.p.Dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	const experiment = "name = \"x\"\nschedulers = [\"dask\"]\n\n[[workload]]\nname = \"wfcommons\"\ninstance = \"w.json\"\n"
	s.write("sub/x.toml", experiment)
	s.esched("plan", "sub/x.toml").wants(t, 2, nil, []string{"x.toml:4", filepath.Join(s.p.Dir, "sub", "w.json") + ": no such file", "Try: name a JSON file in WfFormat"})

	const instance = `{"schemaVersion": "1.5", "workflow": {
 "specification": {"tasks": [{"name": "a", "id": "a", "parents": ["b"], "children": []}]},
 "execution": {"tasks": [{"id": "a", "runtimeInSeconds": 1}]}}}`
	s.write("sub/w.json", instance)
	s.esched("plan", "sub/x.toml").wants(t, 2, nil, []string{`w.json: workflow.specification.tasks[0].parents[0]: no task "b"`, "Try: "})

	trial := func(text string) string {
		t.Helper()
		s.write("sub/w.json", text)
		var plan struct {
			Trials []record.Trial `json:"trials"`
		}
		s.esched("plan", "sub/x.toml", "--json").into(t, &plan)
		if len(plan.Trials) == 0 || plan.Trials[0].Size != "w, 1 task" {
			t.Fatalf("have %+v", plan)
		}
		return plan.Trials[0].ID
	}
	sound := strings.Replace(instance, `["b"]`, `[]`, 1)
	first, again, longer := trial(sound), trial(sound+"\n"), trial(strings.Replace(sound, `Seconds": 1`, `Seconds": 2`, 1))
	if first == again || first == longer || first != trial(sound) {
		t.Errorf("have trials %s, %s, %s: want one for each text", first, again, longer)
	}
}
