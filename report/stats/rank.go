package stats

import (
	"math"
	"slices"
)

// TestName names a test.
type TestName string

// The tests. Both suppose nothing about the distribution of times.
const (
	MannWhitneyTest TestName = "Mann-Whitney U"
	WilcoxonTest    TestName = "Wilcoxon signed rank"
)

// Test is what a two-sided test of "the two arms do not differ" says.
type Test struct {
	Name TestName `json:"test"`
	// Statistic is U of the first arm, or the sum of the ranks of positive
	// differences.
	Statistic float64 `json:"statistic"`
	// P is the probability of what was seen, or of more, if they do not differ.
	P float64 `json:"p"`
	// Exact tells that P was counted; otherwise it is by the normal
	// approximation, corrected for ties and continuity.
	Exact bool `json:"exact"`
	// N is the number of values of the first arm, or of pairs that differ; M
	// that of the second arm, or 0.
	N int `json:"n"`
	M int `json:"m,omitempty"`
	// Least is the smallest P that samples of these sizes can have. A test with
	// a Least above 0.05 cannot find anything.
	Least float64 `json:"least"`
}

// exactSize is the number of values, of both arms together, up to which P is
// counted. Numbers of arrangements are exact in a float64 up to there.
const exactSize = 50

// MannWhitney tests two independent samples (Mann and Whitney, The Annals of
// Mathematical Statistics 18:50, 1947). Up to 50 values P is exact, also with
// ties. It returns nil when a sample is empty or a value not finite.
func MannWhitney(a, b []float64) *Test {
	pooled := slices.Concat(a, b)
	if len(a) == 0 || len(b) == 0 || !finite(pooled) {
		return nil
	}
	ranks, ties := midranks(pooled)
	sum := 0
	for _, r := range ranks[:len(a)] {
		sum += r
	}
	n, m := float64(len(a)), float64(len(b))
	u := float64(sum)/2 - n*(n+1)/2
	t := &Test{Name: MannWhitneyTest, Statistic: u, N: len(a), M: len(b), Least: min(1, 2/choose(n+m, min(n, m)))}
	if len(pooled) <= exactSize {
		t.Exact = true
		t.P = twoSided(arrangements(ranks, len(a)), sum)
		return t
	}
	size := n + m
	spread := math.Sqrt(n * m / 12 * (size + 1 - ties/(size*(size-1))))
	t.P = approximate(u-n*m/2, spread)
	return t
}

// Wilcoxon tests whether differences of pairs are as often and as far above 0
// as below (Wilcoxon, Biometrics Bulletin 1:80, 1945). Pairs without a
// difference are left out. Up to 50 pairs P is exact, also with ties. It
// returns nil when there are no values or one is not finite.
func Wilcoxon(differences []float64) *Test {
	if len(differences) == 0 || !finite(differences) {
		return nil
	}
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool { return v == 0 })
	sizes := make([]float64, len(d))
	for i, v := range d {
		sizes[i] = math.Abs(v)
	}
	ranks, ties := midranks(sizes)
	sum := 0
	for i, r := range ranks {
		if d[i] > 0 {
			sum += r
		}
	}
	n := float64(len(d))
	t := &Test{Name: WilcoxonTest, Statistic: float64(sum) / 2, N: len(d), Least: min(1, 2/math.Pow(2, n))}
	if len(d) <= exactSize {
		t.Exact = true
		t.P = twoSided(arrangements(ranks, -1), sum)
		return t
	}
	spread := math.Sqrt(n*(n+1)*(2*n+1)/24 - ties/48)
	t.P = approximate(t.Statistic-n*(n+1)/4, spread)
	return t
}

// midranks returns the doubled ranks of the values, which are whole numbers
// also where values are equal and share the mean of their ranks; and the sum
// of t³-t over groups of t equal values.
func midranks(x []float64) (doubled []int, ties float64) {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case x[i] < x[j]:
			return -1
		case x[i] > x[j]:
			return 1
		}
		return 0
	})
	doubled = make([]int, len(x))
	for from := 0; from < len(x); {
		to := from + 1
		for to < len(x) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			doubled[i] = from + 1 + to
		}
		t := float64(to - from)
		ties += t*t*t - t
		from = to
	}
	return doubled, ties
}

// arrangements counts, for each sum, the ways to choose size of the ranks with
// that sum; any number of them for a size of -1.
func arrangements(ranks []int, size int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	if size < 0 {
		ways := make([]float64, total+1)
		ways[0] = 1
		for _, r := range ranks {
			for s := total; s >= r; s-- {
				ways[s] += ways[s-r]
			}
		}
		return ways
	}
	ways := make([][]float64, size+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := size; k >= 1; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	return ways[size]
}

// twoSided is twice the smaller share of arrangements on one side of the sum,
// that sum included.
func twoSided(ways []float64, sum int) float64 {
	var all, below, above float64
	for s, w := range ways {
		all += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	return min(1, 2*min(below, above)/all)
}

// approximate is the two-sided P of a distance from the mean, corrected by half
// a step.
func approximate(distance, spread float64) float64 {
	if spread == 0 { // all values are equal
		return 1
	}
	return min(1, 2*normCDF(-(math.Abs(distance)-0.5)/spread))
}

// choose is the number of ways to choose k of n.
func choose(n, k float64) float64 {
	ways := 1.0
	for i := 1.0; i <= k; i++ {
		ways *= (n - k + i) / i
	}
	return math.Round(ways)
}

func finite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Holm returns the P of a family of tests, corrected so that the probability of
// any false finding among them stays below the level that they are compared
// with (Holm, Scandinavian Journal of Statistics 6:65, 1979). The order is that
// of the argument.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if p[i] < p[j] {
			return -1
		} else if p[i] > p[j] {
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	largest := 0.0
	for place, i := range order {
		largest = max(largest, min(1, float64(len(p)-place)*p[i]))
		adjusted[i] = largest
	}
	return adjusted
}
