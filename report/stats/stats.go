package stats

import (
	"math"
	"slices"
)

// Confidence is the level of every interval in a report.
const Confidence = 0.95

// MinSample is the number of values from which on an interval is given. With
// two values, the 95 % t-interval reaches 9 standard deviations to each side:
// true and useless.
const MinSample = 3

// BootstrapSample is the number of values from which on intervals come from
// the bootstrap instead of Student's t: see [Interval].
const BootstrapSample = 15

// Mean returns the arithmetic mean, or NaN of an empty sample.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// GeoMean returns the geometric mean of positive values, or NaN when the
// sample is empty or holds a value that is not positive.
func GeoMean(x []float64) float64 {
	l, ok := logs(x)
	if !ok {
		return math.NaN()
	}
	return math.Exp(Mean(l))
}

// Quantile returns the p-quantile, 0 <= p <= 1, by linear interpolation
// between order statistics (Hyndman and Fan's type 7, the default of NumPy and
// R), or NaN of an empty sample.
func Quantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	return quantileSorted(sorted, p)
}

func quantileSorted(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	i := min(max(int(math.Floor(h)), 0), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + (h-float64(i))*(sorted[j]-sorted[i])
}

// Median returns the 0.5-quantile.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// StdDev returns the standard deviation with n-1 degrees of freedom, or NaN of
// fewer than two values.
func StdDev(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	m, sum := Mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// logs returns the natural logarithms and whether the sample has values and
// all are positive and finite.
func logs(x []float64) ([]float64, bool) {
	l := make([]float64, len(x))
	for i, v := range x {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, false
		}
		l[i] = math.Log(v)
	}
	return l, len(l) > 0
}
