package stats_test

import (
	"math"
	"testing"

	"github.com/esched/esched/report/stats"
)

func TestEffects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		a, b      []float64
		a12       float64
		magnitude stats.Magnitude
	}{
		{"always above", []float64{4, 5}, []float64{1, 2, 3}, 1, stats.Large},
		{"always below", []float64{1}, []float64{2, 3}, 0, stats.Large},
		{"equal", []float64{1, 1}, []float64{1}, 0.5, stats.Negligible},
		{"one of six below, a tie", []float64{3, 5}, []float64{1, 3, 4}, 4.5 / 6, stats.Large},        // 1 + 0.5 + 0, then 3
		{"half of sixteen", []float64{1, 4, 6, 7}, []float64{2, 3, 5, 8}, 8.0 / 16, stats.Negligible}, // 0 + 2 + 3 + 3
	}
	for _, test := range tests {
		near(t, test.name, stats.A12(test.a, test.b), test.a12, 1e-12)
		near(t, test.name+": delta", stats.CliffsDelta(test.a, test.b), 2*test.a12-1, 1e-12)
		if have := stats.MagnitudeOf(test.a12); have != test.magnitude {
			t.Errorf("%s: have %s, want %s", test.name, have, test.magnitude)
		}
	}
	for a12, want := range map[float64]stats.Magnitude{0.55: stats.Negligible, 0.57: stats.Small, 0.43: stats.Small, 0.65: stats.Medium, 0.35: stats.Medium, 0.72: stats.Large, 0.28: stats.Large} {
		if have := stats.MagnitudeOf(a12); have != want {
			t.Errorf("%g: have %s, want %s", a12, have, want)
		}
	}
	if !math.IsNaN(stats.A12(nil, []float64{1})) {
		t.Error("nothing has an effect")
	}
}

// TestOutlierFences uses powers of ten, so that logarithms are 0 to 4 and 9:
// the quartiles 1.25 and 3.75, the fences 3.75 beyond them.
func TestOutlierFences(t *testing.T) {
	t.Parallel()
	x := []float64{1, 1e1, 1e2, 1e3, 1e4, 1e9}
	fences := stats.OutlierFences(x)
	near(t, "log of the lower fence", math.Log10(fences.Lo), -2.5, 1e-9)
	near(t, "log of the upper fence", math.Log10(fences.Hi), 7.5, 1e-9)
	for _, v := range x {
		if have, want := fences.Outlier(v), v == 1e9; have != want {
			t.Errorf("%g: have %t, want %t", v, have, want)
		}
	}
	same := stats.OutlierFences([]float64{2.3, 2.3, 2.3, 2.3, 2.3})
	if same.Outlier(2.3) || !same.Outlier(2.4) || !same.Outlier(2.2) {
		t.Errorf("equal values have the fences %+v", same)
	}
	for _, x := range [][]float64{nil, {1, 2, 3, 100}, {1, 2, 3, 4, 0}} {
		if fences := stats.OutlierFences(x); fences != nil || fences.Outlier(1e9) {
			t.Errorf("%v has fences", x)
		}
	}
}

func TestNotEnough(t *testing.T) {
	t.Parallel()
	demands := stats.Demands()
	for i, d := range demands[1:] {
		if d.N < demands[i].N {
			t.Errorf("%q stands behind %q", d.What, demands[i].What)
		}
	}
	for n, want := range map[int]int{0: 6, 2: 6, 3: 5, 4: 4, 5: 3, 6: 1, 14: 1, 15: 0, 100: 0} {
		if have := stats.NotEnough(n); len(have) != want {
			t.Errorf("%d repetitions: have %v, want %d demands", n, have, want)
		}
	}
	// The demands of intervals are those of the functions that make them.
	x := []float64{1, 2, 3, 4, 5, 6}
	if stats.MedianInterval(x) == nil || stats.MedianInterval(x[:5]) != nil || stats.MeanInterval(x[:3], 1) == nil || stats.MeanInterval(x[:2], 1) != nil {
		t.Error("an interval where there is not enough, or none where there is")
	}
}
