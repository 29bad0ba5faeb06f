package dashboard

import (
	"slices"

	"github.com/esched/esched/report/stats"
)

// median is 0 when there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Median(values)
}

// mean is 0 when there are no values.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Mean(values)
}

// figures are what the screen shows of a row: the same centre, interval and
// ratio as the report, so that nobody has to reconcile the two.
type figures struct {
	n      int
	centre float64         // geometric mean
	spread *stats.Interval // of 95 % confidence; nil when n is too small
	low    float64         // the range
	high   float64
	ratio  *stats.Ratio // to the baseline; nil for want of values
}

// bootSeed makes intervals repeatable; the report's need not be equal to the
// last digit.
const bootSeed = 1

// figuresOf summarises makespans by repetition, against those of a baseline.
func figuresOf(values, baseline map[string]float64) figures {
	var x []float64
	for _, v := range values {
		x = append(x, v)
	}
	slices.Sort(x)
	f := figures{n: len(x)}
	if f.n == 0 {
		return f
	}
	f.low, f.high = x[0], x[f.n-1]
	f.centre = stats.GeoMean(x)
	f.spread = stats.GeoMeanInterval(x, bootSeed)
	f.ratio = stats.CompareTimes(values, baseline, bootSeed)
	return f
}

// sign is -1 if the row is faster than the baseline, 1 if it is slower, and 0
// if that is not clear.
func (f figures) sign() int {
	if f.ratio == nil || f.ratio.Interval == nil {
		return 0
	}
	switch f.ratio.Verdict {
	case stats.Faster:
		return -1
	case stats.Slower:
		return 1
	}
	return 0
}
