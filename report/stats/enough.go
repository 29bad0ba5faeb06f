package stats

import "math"

// Demand is how many repetitions something needs.
type Demand struct {
	// What is a noun phrase: "interval of the median".
	What string `json:"what"`
	N    int    `json:"n"`
}

// Demands lists what repetitions are needed for, fewest first, at the level of
// Confidence and with arms of the same size.
func Demands() []Demand {
	return []Demand{
		{"interval of the geometric mean", MinSample},
		{"independent arms to differ by a rank test", demand(func(n float64) float64 { return 2 / choose(2*n, n) })},
		{"mark on outliers", MinOutlier},
		{"interval of the median", MinMedian},
		{"pairs to differ by a rank test", demand(func(n float64) float64 { return 2 / math.Pow(2, n) })},
		{"interval without a supposed shape", BootstrapSample},
	}
}

// demand is the least n whose smallest P is below the level.
func demand(least func(n float64) float64) int {
	n := 1
	for least(float64(n)) > 1-Confidence {
		n++
	}
	return n
}

// NotEnough lists what n repetitions are too few for.
func NotEnough(n int) []Demand {
	var missing []Demand
	for _, d := range Demands() {
		if n < d.N {
			missing = append(missing, d)
		}
	}
	return missing
}
