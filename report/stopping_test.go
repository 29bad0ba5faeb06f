package report_test

import (
	"strings"
	"testing"

	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

// TestStoppingIsTold reads what a report says of a run whose repetitions the
// data ended.
func TestStoppingIsTold(t *testing.T) {
	t.Parallel()
	rule := record.Stopping{Precision: 0.05, Least: 3, Most: 30, BudgetS: 1200, Repetitions: 4, Cells: 7, Precise: 7}
	change := func(f func(*record.Stopping)) *record.Stopping { s := rule; f(&s); return &s }
	tests := []struct {
		name     string
		stopping *record.Stopping
		methods  []string
		careful  []string // parts of sentences; none of the others may be there
	}{
		{name: "fixed"},
		{"precise", change(func(s *record.Stopping) { s.Outcome = record.StopPrecise }),
			[]string{"until each was within 5 % of its centre, at most 30, and as long as", "1,200 s together", "stopped after 4 repetitions because every interval was within 5 %", "7 of 7 cell(s)", "less often than their level says"},
			[]string{"ended its repetitions after only 4"}},
		{"precise, late", change(func(s *record.Stopping) { s.Outcome, s.Repetitions = record.StopPrecise, 12 }),
			[]string{"stopped after 12 repetitions"}, nil},
		{"budget", change(func(s *record.Stopping) {
			s.Outcome, s.Precise, s.Widest, s.HalfWidth = record.StopTime, 5, "montecarlo 500 chunks, dask, 4 workers", 0.123
		}),
			[]string{"stopped after 4 repetitions because another one would have exceeded the 1200 s"},
			[]string{"Not as precise as asked for", "5 of 7 cell(s) within 5 %, the widest 12 %: montecarlo 500 chunks, dask, 4 workers"}},
		{"given up", change(func(s *record.Stopping) { s.Outcome, s.Precise, s.GivenUp = record.StopPrecise, 6, 1 }),
			[]string{"1 given up after failures"}, []string{"Not as precise as asked for"}},
		{"not ended", change(func(*record.Stopping) {}), []string{"The run ended before the rule did"}, nil},
	}
	all := []string{"Not as precise", "ended its repetitions after only"}
	for _, test := range tests {
		run := reporttest.Run(reporttest.Shape{Repetitions: 4, Sizes: []int{500}, Workers: []int{2}})
		run.Manifest.Stopping = test.stopping
		r := build(t, run)
		methods, careful := strings.Join(r.Methods, "\n"), strings.Join(r.Careful, "\n")
		for _, want := range test.methods {
			if !strings.Contains(methods, want) {
				t.Errorf("%s: methods do not say %q:\n%s", test.name, want, methods)
			}
		}
		if test.stopping == nil && strings.Contains(methods, "not fixed") {
			t.Errorf("%s: methods tell of a rule:\n%s", test.name, methods)
		}
		for _, want := range test.careful {
			if !strings.Contains(careful, want) {
				t.Errorf("%s: nothing warns of %q:\n%s", test.name, want, careful)
			}
		}
		for _, text := range all {
			if strings.Contains(careful, text) && !strings.Contains(strings.Join(test.careful, "\n"), text) {
				t.Errorf("%s: warns of %q", test.name, text)
			}
		}
	}
}
