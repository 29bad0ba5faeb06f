package stats

import "math"

// A12 is the probability that a value of a is larger than one of b, equal ones
// counting half: 0.5 means no difference, and of two schedulers' times, 0.1
// that the first one is faster nine times of ten (Vargha and Delaney, Journal
// of Educational and Behavioral Statistics 25:101, 2000). It is NaN when a
// sample is empty.
func A12(a, b []float64) float64 {
	above := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				above++
			case x == y:
				above += 0.5
			}
		}
	}
	return above / float64(len(a)*len(b))
}

// CliffsDelta is the probability that a value of a is larger than one of b,
// less that of the reverse, from -1 to 1 (Cliff, Psychological Bulletin
// 114:494, 1993): 2 A12 - 1.
func CliffsDelta(a, b []float64) float64 { return 2*A12(a, b) - 1 }

// Magnitude puts an effect into words.
type Magnitude string

// The magnitudes.
const (
	Negligible Magnitude = "negligible"
	Small      Magnitude = "small"
	Medium     Magnitude = "medium"
	Large      Magnitude = "large"
)

// MagnitudeOf judges an A12 by the limits of Vargha and Delaney: 0.56, 0.64 and
// 0.71, and as far below 0.5. They are conventions; how much faster an arm is
// stands in the [Ratio].
func MagnitudeOf(a12 float64) Magnitude {
	switch above := max(a12, 1-a12); {
	case above >= 0.71:
		return Large
	case above >= 0.64:
		return Medium
	case above >= 0.56:
		return Small
	}
	return Negligible
}

// MinOutlier is the number of values from which on outliers are told: quartiles
// of fewer are about single values.
const MinOutlier = 5

// Fences are limits beyond which a value is far from the others. Outliers are
// marked and shown, and count in every result: a slow trial is a result, too.
type Fences struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

// OutlierFences returns Tukey's inner fences, 1.5 interquartile ranges beyond
// the quartiles (Exploratory Data Analysis, 1977, section 2E), on logarithms:
// times are skewed, and their right tail would count as far out. Quartiles are
// those of [Quantile]. It is nil below MinOutlier values, or when one is not
// positive.
func OutlierFences(x []float64) *Fences {
	l, ok := logs(x)
	if !ok || len(l) < MinOutlier {
		return nil
	}
	lower, upper := Quantile(l, 0.25), Quantile(l, 0.75)
	reach := 1.5 * (upper - lower)
	return &Fences{math.Exp(lower - reach), math.Exp(upper + reach)}
}

// Outlier reports whether a value is beyond the fences; without fences, no
// value is.
func (f *Fences) Outlier(v float64) bool {
	// Beyond by more than rounding: with no spread the fences are the value.
	const rounding = 1e-12
	return f != nil && (v < f.Lo*(1-rounding) || v > f.Hi*(1+rounding))
}
