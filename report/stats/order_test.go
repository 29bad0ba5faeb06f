package stats_test

import (
	"testing"

	"github.com/esched/esched/report/stats"
)

func ramp(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[(i*7)%n] = float64(i + 1) // in no order; 7 divides none of the sizes
	}
	return x
}

// TestQuantileInterval has the ranks of Le Boudec, Performance Evaluation of
// Computer and Communication Systems, 2010, appendix A: of n values, which two
// are a 95 % interval of the median.
func TestQuantileInterval(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][2]float64{6: {1, 6}, 9: {2, 8}, 10: {2, 9}, 20: {6, 15}, 31: {10, 22}} {
		have := stats.QuantileInterval(ramp(n), 0.5)
		if have == nil || have.Lo != want[0] || have.Hi != want[1] || have.Method != stats.MethodOrder {
			t.Errorf("median of %d: have %+v, want %v", n, have, want)
		}
	}
	for _, test := range []struct {
		n    int
		p    float64
		have bool
	}{{0, 0.5, false}, {5, 0.5, false}, {367, 0.99, false}, {368, 0.99, true}} {
		if have := stats.QuantileInterval(ramp(test.n), test.p); (have != nil) != test.have {
			t.Errorf("%g of %d values: have %+v, want one: %t", test.p, test.n, have, test.have)
		}
	}
}

// TestMedianInterval works out n = 6: ranks 1 and 6 hold the median in 1 - 2/64
// of all samples, 2 and 5 in 1 - 14/64. Of the way between, (62 - 0.95 x 64)/12
// = 0.1 is too much, which is 5 x 0.1/(1 + 4 x 0.1) of the distance.
func TestMedianInterval(t *testing.T) {
	t.Parallel()
	have := stats.MedianInterval(ramp(6))
	near(t, "lo", have.Lo, 1+0.5/1.4, 1e-12)
	near(t, "hi", have.Hi, 6-0.5/1.4, 1e-12)
	for n := stats.MinMedian; n < 60; n++ {
		if n%7 == 0 {
			continue
		}
		inner, outer := stats.MedianInterval(ramp(n)), stats.QuantileInterval(ramp(n), 0.5)
		if inner.Lo < outer.Lo || inner.Hi > outer.Hi || inner.Lo >= inner.Hi {
			t.Errorf("median of %d: have %+v, not within %+v", n, inner, outer)
		}
	}
}
