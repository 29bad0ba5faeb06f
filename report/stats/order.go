package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// MethodOrder is an interval between order statistics, which supposes nothing
// about the distribution.
const MethodOrder Method = "order statistics"

// MinMedian is the number of values from which on a median has an interval:
// all five values are on one side of the median once in 16 times.
const MinMedian = 6

// MedianInterval returns the interval of the median between order statistics,
// interpolated to the level (Hettmansperger and Sheather, Statistics &
// Probability Letters 4:75, 1986): without that it would hold the median
// 99 % of the time for 8 values and 96 % for 9. It is nil below MinMedian
// values.
func MedianInterval(x []float64) *Interval {
	n := len(x)
	if n < MinMedian {
		return nil
	}
	ranks := distuv.Binomial{N: float64(n), P: 0.5}
	// The interval from the d-th value from below to the d-th from above holds
	// the median unless fewer than d values are on one side of it.
	holds := func(d int) float64 { return 1 - 2*ranks.CDF(float64(d-1)) }
	d := 1
	for holds(d+1) >= Confidence {
		d++
	}
	sorted := slices.Sorted(slices.Values(x))
	outer, inner := holds(d), holds(d+1)
	share := (outer - Confidence) / (outer - inner)
	inwards := float64(n-d) * share / (float64(d) + float64(n-2*d)*share)
	between := func(a, b float64) float64 { return (1-inwards)*a + inwards*b }
	return &Interval{between(sorted[d-1], sorted[d]), between(sorted[n-d], sorted[n-d-1]), MethodOrder}
}

// QuantileInterval returns the narrowest interval between order statistics
// that leaves at most (1-Confidence)/2 on each side of the p-quantile, 0 < p <
// 1 (Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2).
// It holds the quantile at least as often as its level says, often more. It is
// nil when the sample is too small to have one: high quantiles need many
// values, the 99 % one 368.
func QuantileInterval(x []float64, p float64) *Interval {
	n := len(x)
	if n == 0 {
		return nil
	}
	ranks := distuv.Binomial{N: float64(n), P: p}
	const side = (1 - Confidence) / 2
	lo := 0 // the largest rank with P(fewer than that many are below) <= side
	for lo < n && ranks.CDF(float64(lo)) <= side {
		lo++
	}
	hi := n + 1 // the smallest rank with P(at least that many are below) <= side
	for hi > 1 && 1-ranks.CDF(float64(hi-2)) <= side {
		hi--
	}
	if lo < 1 || hi > n {
		return nil
	}
	sorted := slices.Sorted(slices.Values(x))
	return &Interval{sorted[lo-1], sorted[hi-1], MethodOrder}
}

// MeanInterval returns the interval of the arithmetic mean: Student's t below
// BootstrapSample values, the bootstrap from there on; nil below MinSample
// values. Costs that are added up (node-seconds, bytes) have this mean; for
// times that are compared as ratios see [GeoMeanInterval].
func MeanInterval(x []float64, seed uint64) *Interval {
	if len(x) < MinSample || slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil
	}
	if len(x) >= BootstrapSample {
		lo, hi := BCa(x, Mean, expanded(len(x)), Resamples, seed)
		return &Interval{lo, hi, MethodBootstrap}
	}
	n := float64(len(x))
	half := TQuantile(0.5+Confidence/2, n-1) * StdDev(x) / math.Sqrt(n)
	return &Interval{Mean(x) - half, Mean(x) + half, MethodT}
}

// expanded is the level at which a bootstrap of n values has about the coverage
// of Confidence: resamples spread less than samples by the factor √((n-1)/n),
// and their quantiles take no account of the estimated spread, as Student's do
// (Hesterberg, The American Statistician 69:371, 2015, "expanded percentile").
func expanded(n int) float64 {
	f := float64(n)
	return 1 - 2*normCDF(math.Sqrt(f/(f-1))*TQuantile((1-Confidence)/2, f-1))
}
