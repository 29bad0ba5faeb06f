package stats_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/esched/esched/report/stats"
)

// golden is what testdata/scipy_golden.py wrote.
type golden struct {
	TQuantiles  [][3]float64 `json:"t_quantiles"`
	MannWhitney []struct {
		A, B         []float64
		Statistic, P float64
	} `json:"mann_whitney"`
	Wilcoxon []struct {
		D            []float64
		Statistic, P float64
	} `json:"wilcoxon"`
	Quantiles []struct {
		X      []float64
		P      float64
		Lo, Hi *float64
	} `json:"quantiles"`
	BCa []struct {
		X        []float64
		Of       string
		Interval [2]float64
	} `json:"bca"`
	MeanT []struct {
		X        []float64
		Interval [2]float64
	} `json:"mean_t"`
}

// TestAgainstSciPy compares with values of SciPy.
func TestAgainstSciPy(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/scipy.json")
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if len(want.TQuantiles) == 0 || len(want.MannWhitney) == 0 || len(want.Wilcoxon) == 0 || len(want.Quantiles) == 0 || len(want.BCa) == 0 || len(want.MeanT) == 0 {
		t.Fatal("a part is missing")
	}
	for _, q := range want.TQuantiles {
		near(t, "t quantile", stats.TQuantile(q[0], q[1]), q[2], 1e-10)
	}
	for _, w := range want.MannWhitney {
		have := stats.MannWhitney(w.A, w.B)
		near(t, "U", have.Statistic, w.Statistic, 1e-12)
		near(t, "P of U", have.P, w.P, 1e-9)
		near(t, "A12", stats.A12(w.A, w.B), w.Statistic/float64(len(w.A)*len(w.B)), 1e-12)
		if exact := len(w.A)+len(w.B) <= 50; have.Exact != exact {
			t.Errorf("%d and %d values: exact is %t", len(w.A), len(w.B), have.Exact)
		}
	}
	for _, w := range want.Wilcoxon {
		have := stats.Wilcoxon(w.D)
		n := float64(have.N)
		near(t, "signed rank", min(have.Statistic, n*(n+1)/2-have.Statistic), w.Statistic, 1e-12)
		near(t, "P of signed rank", have.P, w.P, 1e-9)
	}
	for _, w := range want.Quantiles {
		have := stats.QuantileInterval(w.X, w.P)
		if (have == nil) != (w.Lo == nil || w.Hi == nil) {
			t.Errorf("%d values, p %g: have %v", len(w.X), w.P, have)
		} else if have != nil && (have.Lo != *w.Lo || have.Hi != *w.Hi) {
			t.Errorf("%d values, p %g: have %v, want %v to %v", len(w.X), w.P, have, *w.Lo, *w.Hi)
		}
	}
	for _, w := range want.BCa {
		of := map[string]func([]float64) float64{"mean": stats.Mean, "median": stats.Median, "deviation": stats.StdDev}[w.Of]
		lo, hi := stats.BCa(w.X, of, stats.Confidence, 50_000, 3)
		// Both are from random resamples.
		near(t, "lower end for the "+w.Of, lo, w.Interval[0], 0.005)
		near(t, "upper end for the "+w.Of, hi, w.Interval[1], 0.005)
	}
	for _, w := range want.MeanT {
		have := stats.MeanInterval(w.X, 1)
		near(t, "lower end of the mean", have.Lo, w.Interval[0], 1e-10)
		near(t, "upper end of the mean", have.Hi, w.Interval[1], 1e-10)
	}
}
