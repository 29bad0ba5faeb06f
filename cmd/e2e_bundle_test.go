package cmd

import (
	"strings"
	"testing"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// TestCompareAndBundleOfRealRun measures, packs, unpacks, and compares what was
// unpacked with what was packed.
func TestCompareAndBundleOfRealRun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("experiments.toml", tiny(need.Python(t), `"dask"`, 3))
	r := s.esched("run", "--json", "--trace", "50")
	r.wants(t, 0, nil, []string{"run ended  3 ok", "report: runs/"})
	run := s.onlyRun()
	var facts runFacts
	r.into(t, &facts)
	if facts.Run != run || facts.State != "complete" || facts.Trials[record.StatusOK] != 3 || facts.ExitCode == nil || *facts.ExitCode != 0 || !s.p.exists(facts.Report) {
		t.Errorf("run --json: have %+v", facts)
	}
	nothingLeft(t, s, run)
	s.esched("bundle", run, "--output", "a.tar.gz").wants(t, 0, []string{"a.tar.gz"}, nil)
	s.esched("bundle", "--verify", "a.tar.gz").wants(t, 0, []string{"ok   "}, nil)
	if out, err := s.p.output(t.Context(), s.p.Dir, "sh", "-c", "mkdir x && tar -C x --strip-components 1 -xzf a.tar.gz && cd x && sha256sum --check --quiet SHA256SUMS"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := s.p.output(t.Context(), s.p.Dir, "grep", "-rlF", s.p.Home+"/", "x"); err == nil {
		t.Errorf("the home directory is in %s", text)
	}
	if log := s.read("x/removed.json"); !strings.Contains(log, "home directory") {
		t.Errorf("removed.json has no home directory:\n%s", log)
	}
	for _, want := range [][2]string{{"x/report/report.html", "gantt-1"}, {"x/README.md", "run/tasks/"}, {"x/esched.json", `"sha256": "`}} {
		if !strings.Contains(s.read(want[0]), want[1]) {
			t.Errorf("%s has no %q", want[0], want[1])
		}
	}
	var c report.Comparison
	s.esched("compare", run, "x/run", "--json").into(t, &c)
	if len(c.Cells) != 1 || !c.Paired || c.Cells[0].Ratio.N != 3 || c.Cells[0].Ratio.Interval == nil || c.Cells[0].Ratio.Value != 1 || len(c.Uncompared) > 0 {
		t.Errorf("have %+v", c)
	}
	for _, d := range c.Differences { // an environment in the home directory has lost the name of that
		if !strings.HasPrefix(d.What, "environment") || !strings.HasPrefix(d.B, "~/") {
			t.Errorf("difference: have %+v", d)
		}
	}
	s.esched("plan", "x/experiment.toml").wants(t, 0, []string{"montecarlo"}, nil)
}
