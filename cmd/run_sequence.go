package cmd

import (
	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// stoppingOf is what a manifest says of the end of repetitions before there is
// anything to look at; nil when their number is fixed.
func stoppingOf(e *runners.Experiment) *record.Stopping {
	if e.Stop.Precision == 0 {
		return nil
	}
	return &record.Stopping{Precision: e.Stop.Precision, Least: e.Repetitions, Most: e.Stop.Most, BudgetS: e.Stop.Time.Seconds()}
}

// sequence lets the plan go on as the experiment says; nil when the number of
// repetitions is fixed. The rule looks at the intervals of the report.
func (s *session) sequence() *runners.Sequence {
	if s.experiment.Stop.Precision == 0 {
		return nil
	}
	rule := stats.Stopping{Precision: s.experiment.Stop.Precision}
	q := &runners.Sequence{
		Stop: s.experiment.Stop, Least: s.experiment.Repetitions,
		Repetition: func(number int) []runners.Block { return s.experiment.Repetition(number, s.Only) },
		Look: func(times []float64) runners.Look {
			p := rule.Next(times, 1, stats.Seed)
			look := runners.Look{Precise: p.Outcome == stats.Precise, Further: p.Further}
			if p.HalfWidth != nil {
				look.HalfWidth = *p.HalfWidth
			}
			return look
		},
		Decided: func(d record.Stopping) error {
			return s.store.UpdateManifest(func(m *record.Manifest) { m.Plan, m.Stopping = s.plan.Planned(), &d })
		},
	}
	if s.earlier != nil {
		q.Spent = runners.TimeSpent(s.earlier.Records)
	}
	return q
}
