package report

import (
	"fmt"
	"strings"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// leastOfSequence is the number of repetitions below which a rule that looks
// at the data makes intervals that hold the truth clearly less often than they
// say (simulated in package stats).
const leastOfSequence = 10

// stoppingMethods tells how the repetitions of a run came to their number when
// the data decided it.
func stoppingMethods(m record.Manifest) string {
	s := m.Stopping
	if s == nil {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, " The number of repetitions was not fixed: after each whole repetition, from %d on, the %.0f %% interval of the geometric mean of every cell was computed, and another repetition of all cells added until each was within %s of its centre, at most %d",
		max(s.Least, stats.MinSample), 100*stats.Confidence, record.Percent(s.Precision), s.Most)
	if s.BudgetS > 0 {
		fmt.Fprintf(&text, ", and as long as deployments, warm-ups and trials took no longer than %s s together", count(int(s.BudgetS)))
	}
	if s.Outcome == "" {
		text.WriteString(". The run ended before the rule did")
	} else {
		fmt.Fprintf(&text, ". It stopped after %s because %s (%s)", plural(s.Repetitions, "repetition"), s.Reason(), s.Standing())
	}
	text.WriteString(". A rule that looks at the data tends to stop when they happen to agree, so these intervals hold the true value somewhat less often than their level says: " +
		"in simulations about 94 % of the time from ten repetitions on and 90 % from three on where logarithms of times are normal, about 90 % and 80 % where they are strongly skewed.")
	return text.String()
}

// stoppedEarly warns of runs that are not as precise as they were asked to be,
// and of rules that looked too soon.
func (b *builder) stoppedEarly() []string {
	var all []string
	for _, run := range b.runs {
		s := run.Manifest.Stopping
		switch {
		case s == nil:
		case s.Outcome == record.StopPrecise && s.GivenUp > 0, s.Outcome != record.StopPrecise && s.Outcome != "":
			all = append(all, fmt.Sprintf("Not as precise as asked for: run %s stopped after %s because %s (%s).",
				run.Manifest.ID, plural(s.Repetitions, "repetition"), s.Reason(), s.Standing()))
		case s.Outcome == record.StopPrecise && s.Repetitions < leastOfSequence:
			all = append(all, fmt.Sprintf("The data of run %s ended its repetitions after only %d: such intervals hold the true value less often than they say (set repetitions to %d or more).",
				run.Manifest.ID, s.Repetitions, leastOfSequence))
		}
	}
	return all
}
