package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/browser"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// runLimit bounds one small run on a busy machine.
const runLimit = 5 * time.Minute

// tiny is an experiment that takes a few seconds.
func tiny(python string, schedulers string, repetitions int) string {
	policies := ""
	if strings.Contains(schedulers, "sidekick") {
		policies = `policies = ["random", "earliest-start"]`
	}
	return fmt.Sprintf(`name = "tiny"
repetitions = %d
seed = 3
claim_time = "00:10:00"
timeout = "300s"
retries = 0
warmup = 1
environment = %q
workers_per_node = [1]
schedulers = [%s]
%s

[[workload]]
name = "montecarlo"
simulations = 2000
chunk = 100
`, repetitions, python, schedulers, policies)
}

// onlyRun returns the one run directory there is.
func (s *shell) onlyRun() string {
	s.t.Helper()
	runs, err := s.p.runDirs("runs")
	if err != nil || len(runs) != 1 {
		s.t.Fatalf("want one run, have %q, %v", runs, err)
	}
	return runs[0]
}

func (s *shell) records(run string) *record.Run {
	s.t.Helper()
	r, err := record.Read(s.p.path(run))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// measured returns the records that are no warm-ups, and checks that no trial
// has two.
func measured(t *testing.T, r *record.Run) []record.Record {
	t.Helper()
	seen := map[string]bool{}
	var all []record.Record
	for _, x := range r.Records {
		if x.Warmup {
			continue
		}
		if seen[x.ID] {
			t.Errorf("trial %s is recorded twice", x.ID)
		}
		seen[x.ID] = true
		all = append(all, x)
	}
	return all
}

// nothingLeft fails when a process or directory of the run is still there.
func nothingLeft(t *testing.T, s *shell, run string) {
	t.Helper()
	eventually(t, shortly, "end of all processes", func() bool {
		left, _ := filepath.Glob(filepath.Join(s.p.path(run), deploy.ProcessesDir, "*.json"))
		return len(left) == 0 && len(processesOf(s.p.Dir)) == 0
	})
}

// processesOf lists the processes, but this one, that have dir in their
// command line or environment.
func processesOf(dir string) []string {
	var found []string
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		if filepath.Base(e) == fmt.Sprint(os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile(e + "/cmdline")
		environment, _ := os.ReadFile(e + "/environ")
		if bytes.Contains(command, []byte(dir)) || bytes.Contains(environment, []byte("="+dir)) {
			found = append(found, string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func TestRunEndToEnd(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	// The kernel tells CPU time in steps of 10 ms, which some tasks must fill.
	file := strings.Replace(tiny(need.Python(t), `"dask", "sidekick"`, 1), "simulations = 2000\nchunk = 100", "simulations = 4000\nchunk = 10", 1)
	s.write("experiments.toml", file)
	r := s.esched("run")
	r.wants(t, 0, []string{"montecarlo", "sidekick/random", "report: runs/"}, nil)
	if strings.Contains(r.stdout, "\x1b") {
		t.Error("escape codes off a terminal")
	}
	run := s.onlyRun()
	nothingLeft(t, s, run)
	have := s.records(run)
	all := measured(t, have)
	if len(all) != 3 || len(have.Warnings) != 0 {
		t.Fatalf("have %d records, warnings %q", len(all), have.Warnings)
	}
	for _, x := range all {
		if x.Status != record.StatusOK || x.MakespanS <= 0 || x.Tasks < 400 || x.ResultDigest != all[0].ResultDigest ||
			x.DeployS <= 0 || x.WarmupS <= 0 || x.RunS < x.MakespanS || x.SchedulerCPUS <= 0 || len(x.Hosts) != 1 {
			t.Errorf("%s: %+v", x.Trial, x)
		}
		if x.Kind == kindSidekick && (x.Decisions == 0 || x.DecisionUS == nil || x.ServiceCPUS <= 0) {
			t.Errorf("%s: decisions %d, latency %v, service CPU %g", x.Trial, x.Decisions, x.DecisionUS, x.ServiceCPUS)
		}
	}
	m := have.Manifest
	// One worker has all of the machine, unless its control group has less.
	if limit := all[0].PerWorker[0].LimitBytes; limit < 1<<26 || len(m.Hosts) > 0 && limit > m.Hosts[0].MemoryB {
		t.Errorf("a worker may hold %d bytes", limit)
	}
	if m.Ended.IsZero() || m.ExitCode != 0 || len(m.Hosts) != 1 || m.Hosts[0].Cores == 0 || len(m.Environments) != 1 || len(m.Plan) != 5 {
		t.Errorf("manifest %+v", m)
	}
	if !slices.ContainsFunc(m.Notes, func(note string) bool { return strings.HasPrefix(note, "work stealing is off under sidekick") }) {
		t.Errorf("work stealing: nothing in the notes %q", m.Notes)
	}
	if _, err := os.Lstat(s.p.path(filepath.Join(run, scratchLink))); err == nil {
		t.Error("the scratch directory is still noted")
	}
	opensInBrowser(t, s.p.path(filepath.Join(run, reportFile)))

	s.esched("status").wants(t, 0, []string{"complete, 3 of 3 trials recorded, 3 ok"}, nil)
	s.esched("report", run).wants(t, 0, []string{reportFile}, nil)
	s.esched("report", run, "--csv").wants(t, 0, []string{"montecarlo"}, nil)
	s.esched("report", run, "--markdown").wants(t, 0, []string{"sidekick/random"}, nil)
	s.esched("plan").wants(t, 0, []string{"by earlier runs"}, nil)
	s.esched("run", "--resume", run).wants(t, 0, []string{"3 trial(s) done"}, nil)
	if again := measured(t, s.records(run)); len(again) != 3 {
		t.Errorf("resuming a complete run recorded something: %d", len(again))
	}
}

// opensInBrowser looks at a report as a person would: figures are drawn,
// nothing is complained about, and nothing is fetched.
func opensInBrowser(t *testing.T, path string) {
	t.Helper()
	page, err := browser.Open(t.Context(), path, browser.Look{Program: need.Program(t, "chromium")})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Errors) > 0 || len(page.Requests) > 0 {
		t.Errorf("console %q, requests %q", page.Errors, page.Requests)
	}
	if len(page.Charts) == 0 {
		t.Error("no figure")
	}
	for id, c := range page.Charts {
		if c.Shapes == 0 {
			t.Errorf("figure %s is empty", id)
		}
	}
}

func TestRunInstantWorkers(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := tiny(need.Python(t), `"dask", "sidekick"`, 1) + "worker = \"instant\"\n" // in the table of the workload
	s.write("experiments.toml", file)
	s.esched("plan").wants(t, 2, nil, []string{`unknown key "worker"`})
	file = strings.Replace(tiny(need.Python(t), `"dask", "sidekick"`, 1), "seed = 3", "seed = 3\nworker = \"instant\"", 1)
	s.write("experiments.toml", file)
	s.esched("plan").wants(t, 2, nil, []string{"montecarlo: its result means nothing on instant workers", "use one of: groupby, merge, pipeline, shuffle, synthetic, tree, wfcommons"})

	file, _, _ = strings.Cut(strings.Replace(file, "workers_per_node = [1]", "workers_per_node = [6]", 1), "[[workload]]")
	s.write("experiments.toml", file+"[[workload]]\nname = \"merge\"\ntasks = 300\n[[workload]]\nname = \"groupby\"\npartitions = 12\n")
	s.esched("run").wants(t, 0, []string{"merge 300 tasks, instant workers"}, nil)
	run := s.onlyRun()
	nothingLeft(t, s, run)
	if text := s.read(filepath.Join(run, record.EventsFile)); strings.Count(text, `"first-task"`) != 2 || strings.Contains(text, string(record.EventProgress)+`"`) {
		t.Errorf("want the first task of a node told once for each deployment, and no progress, have\n%s", text)
	}
	all := measured(t, s.records(run))
	if len(all) != 6 {
		t.Fatalf("have %d records", len(all))
	}
	for _, x := range all {
		if x.Status != record.StatusOK || x.Worker != record.WorkerInstant || x.Workers != 6 || x.ResultDigest != "instant" ||
			len(x.PerWorker) != 0 || x.Tasks < 12 || x.Workload == "merge" && x.Tasks != 301 {
			t.Errorf("%s: %+v", x.Trial, x)
		}
		if x.Kind == kindSidekick && (x.HitUS == nil || x.Fallbacks != 0) {
			t.Errorf("%s: look-ahead %v, %d fallbacks", x.Trial, x.HitUS, x.Fallbacks)
		}
	}
}

func TestRunInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("experiments.toml", tiny(need.Python(t), `"dask"`, 3))
	s.p.Failpoints = atPoint(trialEnded, 2, func() { s.signals <- "Ctrl-C" }) // after a warm-up
	r := s.esched("run", "--plain")
	s.p.Failpoints = nil
	run := s.onlyRun()
	r.wants(t, 130, []string{"trial 1/3 ok", "stopping now", reportFile},
		[]string{"interrupted", "Try: esched run --resume " + run})
	nothingLeft(t, s, run)
	if n := len(measured(t, s.records(run))); n < 1 || n > 2 {
		t.Errorf("%d records before resuming", n)
	}

	s.esched("run", "--resume", run).wants(t, 0, []string{"trial(s) done", "report: "}, nil)
	have := s.records(run)
	if all := measured(t, have); len(all) != 3 || have.Manifest.Sessions != 2 || len(have.Superseded) != 0 {
		t.Errorf("%d records, %d sessions, %d superseded", len(all), have.Manifest.Sessions, len(have.Superseded))
	}
}

func TestRunKilledAndResumed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("experiments.toml", tiny(need.Python(t), `"sidekick"`, 2))
	s.env[standStill] = "2 " + s.p.path("standing") // after a warm-up
	c, wait := s.launch("run")
	eventually(t, runLimit, "first record", func() bool { return s.there("standing") })
	run := s.onlyRun()
	s.esched("run", "--resume", run).wants(t, 2, nil, []string{"another esched writes to this run", "Try: "})
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait()
	nothingLeft(t, s, run)

	s.esched("run", "--resume", run).wants(t, 0, []string{"trial(s) done"}, nil)
	have := s.records(run)
	if all := measured(t, have); len(all) != 4 || have.Manifest.Sessions != 2 || len(have.Superseded) != 0 {
		t.Errorf("%d records, %d sessions, %d superseded, %q", len(all), have.Manifest.Sessions, len(have.Superseded), have.Warnings)
	}
	nothingLeft(t, s, run)
}

func TestRunRefusals(t *testing.T) {
	t.Parallel()
	sample := tiny("default", `"dask"`, 1)
	tests := []struct {
		name string
		file string
		args string
		env  map[string]string
		code int
		want []string
	}{
		{"no file", "", "run", nil, 2, []string{"experiments.toml: no such file", "Try: esched init"}},
		{"no named file", sample, "run other.toml", nil, 2, []string{"other.toml: no such file", "Try: name an experiment file"}},
		{"mistake in the file", sample + "\nrepetitons = 3\n", "run", nil, 2, []string{"experiments.toml:", "repetitons"}},
		{"unknown cluster", sample, "run --cluster das9", nil, 2, []string{`unknown cluster "das9"`, "choose one of"}},
		{"unknown environment", sample, "run --env defalt", nil, 2, []string{`unknown environment "defalt"`, "choose one of"}},
		{"nothing selected", sample, "run --only workers>=9", nil, 2, []string{"no trial of the plan", "Try: "}},
		{"unwritable directory", sample, "run --output experiments.toml/runs", nil, 1, []string{"not a directory", "Try: "}},
		{"no run to resume", sample, "run --resume runs/none", nil, 2, []string{"runs/none", "Try: "}},
		{"no Python", sample, "run", map[string]string{"PATH": "/nowhere"}, 1, []string{"Python", "Try: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			if test.file != "" {
				s.write("experiments.toml", test.file)
			}
			for k, v := range test.env {
				s.env[k] = v
			}
			s.esched(strings.Fields(test.args)...).wants(t, test.code, nil, test.want)
			if test.code == 2 {
				s.beganNothing()
			}
		})
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("init").wants(t, 0, nil, nil)
	s.esched("plan").wants(t, 0, []string{"WORKLOAD", "90 trials", "sidekick/random", "node-seconds", "the claim of"}, nil)
	var all plannedRun
	s.esched("plan", "--json").into(t, &struct{ Trials *[]record.Planned }{&all.Trials})
	if len(all.Trials) < 90 {
		t.Errorf("have %d trials", len(all.Trials))
	}
	r := s.esched("plan", "--only", "scheduler=dask,workers=2,repetition=1")
	r.wants(t, 0, []string{": 2 trials"}, nil)
	if a, b := s.esched("plan", "--seed", "7").stdout, s.esched("plan").stdout; a == b {
		t.Error("--seed changes nothing")
	}
}
