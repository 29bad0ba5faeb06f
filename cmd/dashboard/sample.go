package dashboard

import (
	"math"
	"slices"
)

// median returns the middle of the values, 0 when there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// spread is an interval around a median.
type spread struct {
	low, high float64
	// confident marks a 95 % confidence interval of the median; otherwise it is
	// the range of the values, which are too few for one.
	confident bool
}

// spreadOf returns the interval between the two order statistics that enclose
// the median with a confidence of at least 95 %, whatever the distribution.
// It takes six values; of fewer it returns the range.
func spreadOf(values []float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	// The k-th smallest is above the median with the probability that fewer than
	// k of n fair coins show heads.
	k, below, p := 0, 0.0, math.Pow(0.5, float64(n))
	for below+p <= 0.025 {
		below += p
		k++
		p *= float64(n-k+1) / float64(k)
	}
	if k == 0 {
		return spread{v[0], v[n-1], false}
	}
	return spread{v[k-1], v[n-k], true}
}

func (s spread) apart(o spread) bool { return s.high < o.low || o.high < s.low }
