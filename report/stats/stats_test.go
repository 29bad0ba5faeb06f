package stats_test

import (
	"math"
	"testing"

	"github.com/esched/esched/report/stats"
)

func near(t *testing.T, name string, have, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(have-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: have %.12g, want %.12g", name, have, want)
	}
}

// The wanted values of this file that are not worked out in a comment come
// from SciPy 1.17.1.

func TestTQuantile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.706204736174694}, {0.975, 2, 4.302652729749462}, {0.975, 4, 2.7764451051977934},
		{0.975, 9, 2.262157162798205}, {0.9, 3.7, 1.5575658388615072}, {0.995, 30, 2.7499956535672254},
		{0.025, 5, -2.5705818356363155}, {0.975, 1000, 1.9623390808264083}, {0.5, 3, 0},
	} {
		near(t, "t quantile", stats.TQuantile(test.p, test.df), test.want, 1e-9)
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	x := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	near(t, "mean", stats.Mean(x), 31.0/8, 1e-15)
	near(t, "geometric mean", stats.GeoMean([]float64{1, 10, 100}), 10, 1e-12)
	near(t, "quartile", stats.Quantile(x, 0.25), 1.75, 1e-15)
	near(t, "median", stats.Median(x), 3.5, 1e-15)
	near(t, "90 %", stats.Quantile(x, 0.9), 6.9, 1e-12)
	near(t, "standard deviation", stats.StdDev([]float64{2, 4, 4, 4, 5, 5, 7, 9}), math.Sqrt(32.0/7), 1e-12)
	for name, v := range map[string]float64{
		"mean of nothing": stats.Mean(nil), "median of nothing": stats.Median(nil), "geometric mean of nothing": stats.GeoMean(nil),
		"geometric mean with a zero": stats.GeoMean([]float64{1, 0}), "deviation of one": stats.StdDev([]float64{1}),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s: have %v, want NaN", name, v)
		}
	}
}

func TestGeoMeanInterval(t *testing.T) {
	t.Parallel()
	x := []float64{4.71, 4.62, 4.93}
	iv := stats.GeoMeanInterval(x, 1)
	near(t, "lo", iv.Lo, 4.37376281, 1e-8)
	near(t, "hi", iv.Hi, 5.16199969, 1e-8)
	if iv.Method != stats.MethodT {
		t.Errorf("method %q", iv.Method)
	}
	if stats.GeoMeanInterval(x[:2], 1) != nil {
		t.Error("two values have an interval")
	}
	if stats.GeoMeanInterval([]float64{1, 2, 0}, 1) != nil {
		t.Error("a time of 0 has an interval")
	}
	near(t, "no spread", stats.GeoMeanInterval([]float64{2, 2, 2}, 1).Hi, 2, 1e-12)

	many := []float64{1.2, 1.3, 1.1, 1.25, 1.22, 1.4, 1.19, 1.21, 1.6, 1.18, 1.23, 1.3, 1.15, 1.24, 1.9, 1.17}
	iv = stats.GeoMeanInterval(many, 1)
	near(t, "bootstrap lo", iv.Lo, 1.2176, 0.01)
	near(t, "bootstrap hi", iv.Hi, 1.4026, 0.02)
	if again := stats.GeoMeanInterval(many, 1); iv.Method != stats.MethodBootstrap || *again != *iv {
		t.Errorf("have %v, then %v", iv, again)
	}
}

// TestBCa follows table 14.2 of Efron and Tibshirani, An Introduction to the
// Bootstrap: the variance of spatial test A, whose 90 % BCa interval is
// (115.8, 259.6).
func TestBCa(t *testing.T) {
	t.Parallel()
	a := []float64{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41}
	variance := func(x []float64) float64 {
		d := stats.StdDev(x)
		return d * d * float64(len(x)-1) / float64(len(x))
	}
	near(t, "variance", variance(a), 171.5, 0.001)
	lo, hi := stats.BCa(a, variance, 0.9, 20000, 7)
	near(t, "lo", lo, 115.8, 0.03)
	near(t, "hi", hi, 259.6, 0.03)
}

func block(x ...float64) map[string]float64 {
	m := make(map[string]float64)
	for i, v := range x {
		m[string(rune('a'+i))] = v
	}
	return m
}

func TestCompareTimes(t *testing.T) {
	t.Parallel()
	t.Run("paired", func(t *testing.T) {
		t.Parallel()
		r := stats.CompareTimes(block(3.02, 2.91, 3.20), block(4.71, 4.62, 4.93), 1)
		near(t, "ratio", r.Value, 0.640000091538043, 1e-9)
		near(t, "lo", r.Interval.Lo, 0.61641902, 1e-8)
		near(t, "hi", r.Interval.Hi, 0.66448326, 1e-8)
		if !r.Paired || r.N != 3 || r.Verdict != stats.Faster {
			t.Errorf("have %+v", r)
		}
	})
	t.Run("Welch", func(t *testing.T) {
		t.Parallel()
		b := map[string]float64{"p": 4.71, "q": 4.62, "r": 4.93, "s": 4.8}
		r := stats.CompareTimes(block(3.02, 2.91, 3.20), b, 1)
		near(t, "ratio", r.Value, 0.6383794186557501, 1e-9)
		near(t, "lo", r.Interval.Lo, 0.578602319964967, 1e-8)
		near(t, "hi", r.Interval.Hi, 0.7043322643226323, 1e-8)
		if r.Paired || r.Interval.Method != stats.MethodWelch {
			t.Errorf("have %+v", r)
		}
	})
	t.Run("a missing repetition leaves its pair out", func(t *testing.T) {
		t.Parallel()
		r := stats.CompareTimes(block(2, 2, 2, 100), block(1, 1, 1), 1)
		if r.N != 3 || math.Abs(r.Value-2) > 1e-12 || r.Verdict != stats.Slower {
			t.Errorf("have %+v", r)
		}
	})
	t.Run("too few", func(t *testing.T) {
		t.Parallel()
		r := stats.CompareTimes(block(2, 2), block(1, 1), 1)
		if r.Interval != nil || r.Verdict != stats.Undecided || math.Abs(r.Value-2) > 1e-12 {
			t.Errorf("have %+v", r)
		}
		if stats.CompareTimes(nil, block(1), 1) != nil || stats.CompareTimes(block(0), block(1), 1) != nil {
			t.Error("nothing can be compared and yet there is a ratio")
		}
	})
}
