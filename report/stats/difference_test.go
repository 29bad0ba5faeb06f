package stats_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/esched/esched/report/stats"
)

// sleep are the extra hours of sleep of ten patients under two drugs (Student,
// Biometrika 6:1, 1908), which R has as its data set of that name, raised by 10
// hours because times are positive.
func sleep() (first, second []float64) {
	first = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	second = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	for i := range first {
		first[i] += 10
		second[i] += 10
	}
	return first, second
}

// named gives values the names of blocks.
func named(prefix string, x []float64) map[string]float64 {
	m := make(map[string]float64)
	for i, v := range x {
		m[fmt.Sprintf("%s%03d", prefix, i)] = v
	}
	return m
}

func TestCompareMeans(t *testing.T) {
	t.Parallel()
	first, second := sleep()
	for _, test := range []struct {
		name   string
		a, b   map[string]float64
		value  float64
		lo, hi float64
		method stats.Method
	}{
		// The intervals that R's t.test prints in its own example.
		{"paired", named("", first), named("", second), -1.58, -2.4598858, -0.7001142, stats.MethodPaired},
		{"unpaired", named("a", first), named("b", second), -1.58, -3.3654832, 0.2054832, stats.MethodWelch},
		{"no spread", named("a", []float64{2, 2, 2}), named("b", []float64{5, 5, 5}), -3, -3, -3, stats.MethodWelch},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := stats.CompareMeans(test.a, test.b, 1)
			if d == nil || d.Interval == nil || d.Interval.Method != test.method || d.Paired != (test.method == stats.MethodPaired) {
				t.Fatalf("have %+v", d)
			}
			near(t, "value", d.Value, test.value, 1e-9)
			near(t, "lower end", d.Interval.Lo, test.lo, 1e-7)
			near(t, "upper end", d.Interval.Hi, test.hi, 1e-7)
		})
	}
}

// TestCompareMeansPairsAsCompareTimes: a difference and a ratio that stand side
// by side tell of the same values.
func TestCompareMeansPairsAsCompareTimes(t *testing.T) {
	t.Parallel()
	values := []float64{3, 4, 5, 6, 7}
	for common := range 5 {
		for _, n := range []int{1, 2, 3, 5} {
			a := named("", values[:n])
			b := named("b", values[:n])
			for k := range named("", values[:min(common, n)]) {
				b[k] = 9
			}
			r, d := stats.CompareTimes(a, b, 1), stats.CompareMeans(a, b, 1)
			if r.Paired != d.Paired || (r.Interval == nil) != (d.Interval == nil) {
				t.Errorf("%d values, %d pairs: have %+v and %+v", n, common, r, d)
			}
		}
	}
	for _, none := range []map[string]float64{nil, {"x": 0}, {"x": math.NaN()}} {
		if d := stats.CompareMeans(none, named("", values), 1); d != nil {
			t.Errorf("%v: have %+v", none, d)
		}
	}
}
