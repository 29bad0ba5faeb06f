package record

import (
	"fmt"
	"strings"
)

// Stopping says how the number of repetitions came about in a run whose
// experiment asks for a precision instead of a number.
type Stopping struct {
	// Precision is the relative half-width that the interval of every cell
	// should have: 0.05 for an interval within 5 % of its centre.
	Precision float64 `json:"precision"`
	// Least and Most bound the repetitions, BudgetS the seconds spent on
	// deployments, warm-ups and trials (0: no bound).
	Least   int     `json:"least"`
	Most    int     `json:"most"`
	BudgetS float64 `json:"budget_s,omitempty"`
	// Outcome says why no repetition was added any more; "" while the run goes
	// on, and of one that was stopped before.
	Outcome StopOutcome `json:"outcome,omitempty"`
	// What was seen the last time it was looked, after so many repetitions:
	// SpentS of the budget; of Cells so many Precise, others GivenUp because most
	// of their trials failed.
	Repetitions int     `json:"repetitions"`
	SpentS      float64 `json:"spent_s"`
	Cells       int     `json:"cells"`
	Precise     int     `json:"precise"`
	GivenUp     int     `json:"given_up,omitempty"`
	// Further estimates how many repetitions the others still need; 0 when it
	// cannot be told.
	Further int `json:"further,omitempty"`
	// Widest names the cell with the widest interval, which is HalfWidth
	// relative to its centre; "" when no cell has an interval.
	Widest    string  `json:"widest,omitempty"`
	HalfWidth float64 `json:"half_width,omitempty"`
}

// StopOutcome says why a run added no further repetition.
type StopOutcome string

// The outcomes.
const (
	StopPrecise     StopOutcome = "precise"     // every cell that was not given up is known as precisely as asked for
	StopRepetitions StopOutcome = "repetitions" // their largest number was reached
	StopTime        StopOutcome = "time"        // another one would have exceeded the budget
	StopClaim       StopOutcome = "claim"       // another one would not have fitted into the last claim
	StopFailures    StopOutcome = "failures"    // every cell was given up
	StopSelection   StopOutcome = "selection"   // the selected trials have no further repetition
	StopSkipped     StopOutcome = "skipped"     // the rest of the run was skipped
)

// Reason says the outcome in words, to follow "stopped because".
func (s Stopping) Reason() string {
	switch s.Outcome {
	case StopPrecise:
		return fmt.Sprintf("every interval was within %s of its time", Percent(s.Precision))
	case StopRepetitions:
		return fmt.Sprintf("the largest number of repetitions, %d, was reached", s.Most)
	case StopTime:
		return fmt.Sprintf("another one would have exceeded the %.0f s that the experiment allows", s.BudgetS)
	case StopClaim:
		return "another one would not have fitted into the claim"
	case StopFailures:
		return "most trials of every cell failed"
	case StopSelection:
		return "the trials selected by --only have no further repetition"
	case StopSkipped:
		return "the rest of the run was skipped"
	}
	return "the run was stopped"
}

// Standing says how far the cells have come.
func (s Stopping) Standing() string {
	text := fmt.Sprintf("%d of %d cell(s) within %s", s.Precise, s.Cells, Percent(s.Precision))
	if s.GivenUp > 0 {
		text += fmt.Sprintf(", %d given up after failures", s.GivenUp)
	}
	if s.Widest != "" && s.Precise < s.Cells {
		text += fmt.Sprintf(", the widest %s: %s", Percent(s.HalfWidth), s.Widest)
	}
	if s.Further > 0 {
		text += fmt.Sprintf("; about %d more would do", s.Further)
	}
	return text
}

// Percent writes a share of 1 with two significant digits, more above 100 %:
// "5 %", "0.25 %".
func Percent(share float64) string {
	text := fmt.Sprintf("%.2g", 100*share)
	if share >= 0.995 || strings.Contains(text, "e") {
		text = fmt.Sprintf("%.0f", 100*share)
	}
	return text + " %"
}
