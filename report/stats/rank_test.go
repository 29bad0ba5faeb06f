package stats_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/esched/esched/report/stats"
)

// TestPublishedTests follows examples of Hollander and Wolfe, Nonparametric
// Statistical Methods, 1973: pages 69 (permeability of membranes) and 29
// (depression scale), which give the one-sided 0.1272 and 0.0195; and Darwin's
// maize in Fisher, The Design of Experiments, 1935, chapter III, with the ranks
// of Wilcoxon's test as in Cureton, JASA 62:1068, 1967.
func TestPublishedTests(t *testing.T) {
	t.Parallel()
	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	early := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	have := stats.MannWhitney(term, early)
	near(t, "U", have.Statistic, 35, 1e-12)
	near(t, "P", have.P/2, 0.1272, 1e-4)

	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	d := make([]float64, len(before))
	for i := range d {
		d[i] = before[i] - after[i]
	}
	have = stats.Wilcoxon(d)
	near(t, "signed rank", have.Statistic, 40, 1e-12)
	near(t, "P", have.P/2, 0.0195, 1e-4)

	have = stats.Wilcoxon([]float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75})
	near(t, "signed rank of the maize", have.Statistic, 96, 1e-12)
	near(t, "P of the maize", have.P, 0.041259765625, 1e-12)
}

func TestTestsOfLittle(t *testing.T) {
	t.Parallel()
	if stats.MannWhitney(nil, []float64{1}) != nil || stats.Wilcoxon(nil) != nil || stats.Wilcoxon([]float64{math.NaN()}) != nil {
		t.Error("nothing was tested, with a result")
	}
	tests := []struct {
		name     string
		have     *stats.Test
		p, least float64
	}{
		{"equal arms", stats.MannWhitney([]float64{1, 1}, []float64{1, 1, 1}), 1, 0.2}, // of 10 choices, one on each side
		{"one value each", stats.MannWhitney([]float64{1}, []float64{2}), 1, 1},
		{"three and three", stats.MannWhitney([]float64{1, 2, 3}, []float64{4, 5, 6}), 0.1, 0.1}, // 2 of 20
		{"no differences", stats.Wilcoxon([]float64{0, 0}), 1, 1},
		{"five pairs", stats.Wilcoxon([]float64{1, 2, 3, 4, 5}), 0.0625, 0.0625}, // 2 of 32
		{"a hundred equal values", stats.MannWhitney(slices.Repeat([]float64{1}, 60), slices.Repeat([]float64{1}, 40)), 1, 0},
	}
	for _, test := range tests {
		near(t, test.name+": P", test.have.P, test.p, 1e-12)
		near(t, test.name+": least", test.have.Least, test.least, 1e-12)
	}
}

// TestRankProperties holds for any samples: P is a probability, and does not
// depend on which arm is the first.
func TestRankProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.IntRange(-9, 9), func(i int) float64 { return float64(i) / 4 }) // often equal
		a := rapid.SliceOfN(value, 1, 40).Draw(t, "a")
		b := rapid.SliceOfN(value, 1, 40).Draw(t, "b")
		there, back := stats.MannWhitney(a, b), stats.MannWhitney(b, a)
		if !(there.P >= 0 && there.P <= 1) || math.Abs(there.P-back.P) > 1e-12 {
			t.Errorf("P %v, and %v with the arms exchanged", there.P, back.P)
		}
		if sum := there.Statistic + back.Statistic; sum != float64(len(a)*len(b)) {
			t.Errorf("both U are %v together", sum)
		}
		mirror := make([]float64, len(a))
		for i, v := range a {
			mirror[i] = -v
		}
		there, back = stats.Wilcoxon(a), stats.Wilcoxon(mirror)
		if !(there.P >= 0 && there.P <= 1) || math.Abs(there.P-back.P) > 1e-12 {
			t.Errorf("signed ranks: P %v, and %v mirrored", there.P, back.P)
		}
		if delta := stats.CliffsDelta(a, b); !(delta >= -1 && delta <= 1) || math.Abs(delta+stats.CliffsDelta(b, a)) > 1e-12 {
			t.Errorf("delta %v", delta)
		}
	})
}

// TestHolm works out the procedure by hand: the smallest P is multiplied by
// the number of tests, the next by one less, and none is below one before it.
func TestHolm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}}, // 4 x 0.005, 3 x 0.01, 2 x 0.03, then not 0.04
		{[]float64{0.5, 0.4}, []float64{0.8, 0.8}},
		{[]float64{0.9, 0.6, 0.02}, []float64{1, 1, 0.06}},
	} {
		have := stats.Holm(test.p)
		if !slices.EqualFunc(have, test.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%v: have %v, want %v", test.p, have, test.want)
		}
	}
}

func TestTestTimes(t *testing.T) {
	t.Parallel()
	paired := stats.TestTimes(block(1, 2, 3, 4, 5, 6), block(2, 4.1, 6.3, 8.5, 11, 13))
	if paired.Name != stats.WilcoxonTest || paired.N != 6 || paired.P != 2.0/64 {
		t.Errorf("pairs: have %+v", paired)
	}
	other := map[string]float64{"p": 11, "q": 12, "r": 13, "s": 14}
	if free := stats.TestTimes(block(1, 2, 3, 4), other); free.Name != stats.MannWhitneyTest || math.Abs(free.P-2.0/70) > 1e-12 {
		t.Errorf("independent arms: have %+v", free)
	}
	if stats.TestTimes(block(1, 0), block(1, 2)) != nil || stats.TestTimes(nil, block(1)) != nil {
		t.Error("nothing can be tested and yet there is a result")
	}
}
