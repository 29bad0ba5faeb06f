package stats

import "math"

// Stopping is a rule that says when a cell has been repeated often enough:
// when its interval is narrow, or the budget is used up.
//
// A rule that looks at the data stops rather where they happen to agree, so
// intervals at its end hold the truth somewhat less often than their level says
// (Chow and Robbins, The Annals of Mathematical Statistics 36:457, 1965; they
// do so in the limit of narrow intervals). Least bounds that: from ten
// repetitions on the loss is small.
type Stopping struct {
	// Precision is the relative half-width that is wanted: 0.05 for an interval
	// within 5 % of the centre.
	Precision float64
	// Least and Most bound the repetitions. Least is at least MinSample; Most 0
	// means no bound.
	Least, Most int
}

// Outcome says whether to repeat once more.
type Outcome string

// The outcomes.
const (
	Continue  Outcome = "continue"
	Precise   Outcome = "precise"   // narrow enough
	Exhausted Outcome = "exhausted" // not narrow enough, and nothing left to repeat with
)

// Progress is how far a cell has come.
type Progress struct {
	Outcome Outcome `json:"outcome"`
	N       int     `json:"n"`
	// HalfWidth is that of the interval relative to its centre; nil without one.
	HalfWidth *float64 `json:"half_width"`
	// Further is an estimate of the repetitions that are still needed; -1 when
	// there is nothing yet to estimate it from. It is not bounded by the budget.
	Further int `json:"further"`
}

// Next looks at the times of a cell. room is the number of repetitions that the
// budget (the rest of the claim) still has time for. The seed is that of
// [GeoMeanInterval].
func (s Stopping) Next(x []float64, room int, seed uint64) Progress {
	n, center, interval := len(x), GeoMean(x), GeoMeanInterval(x, seed)
	p := Progress{Outcome: Continue, N: n, Further: -1}
	least := max(s.Least, MinSample)
	if interval != nil {
		half := (interval.Hi - interval.Lo) / (2 * center)
		p.HalfWidth = &half
		if half <= s.Precision {
			p.Further = max(0, least-n)
		} else if s.Precision > 0 {
			// Half-widths shrink with the root of the number of values.
			p.Further = int(math.Min(math.MaxInt32, math.Ceil(float64(n)*math.Pow(half/s.Precision, 2)))) - n
		}
		if half <= s.Precision && n >= least {
			p.Outcome = Precise
			return p
		}
	}
	if room <= 0 || s.Most > 0 && n >= s.Most {
		p.Outcome = Exhausted
	}
	return p
}
