package stats

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples is the number of bootstrap resamples: 2,000 put the ends of a
// 95 % interval within a few per cent of their limit (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, section 14.3).
const Resamples = 2000

// Seed is what reports give their bootstraps, and what a rule that decides by
// the same intervals has to give its own.
const Seed = 20110611

// BCa returns the bias-corrected and accelerated bootstrap interval of a
// statistic. The same sample and seed give the same interval.
func BCa(x []float64, statistic func([]float64) float64, level float64, resamples int, seed uint64) (lo, hi float64) {
	theta := statistic(x)
	random := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) // the second word only has to be fixed
	boot := make([]float64, resamples)
	draw := make([]float64, len(x))
	below := 0.0
	for i := range boot {
		for j := range draw {
			draw[j] = x[random.IntN(len(x))]
		}
		boot[i] = statistic(draw)
		switch { // ties count half
		case boot[i] < theta:
			below++
		case boot[i] == theta:
			below += 0.5
		}
	}
	slices.Sort(boot)
	if boot[0] == boot[resamples-1] {
		return theta, theta
	}
	z0 := normQuantile(below / float64(resamples))
	a := acceleration(x, statistic)
	end := func(p float64) float64 {
		z := z0 + normQuantile(p)
		q := normCDF(z0 + z/(1-a*z))
		return quantileSorted(boot, min(max(q, 0), 1))
	}
	return end((1 - level) / 2), end((1 + level) / 2)
}

// acceleration estimates, from the jackknife, how the standard error changes
// with the value of the statistic.
func acceleration(x []float64, statistic func([]float64) float64) float64 {
	jack := make([]float64, len(x))
	rest := make([]float64, 0, len(x))
	for i := range x {
		rest = append(append(rest[:0], x[:i]...), x[i+1:]...)
		jack[i] = statistic(rest)
	}
	m := Mean(jack)
	var cubes, squares float64
	for _, v := range jack {
		d := m - v
		cubes += d * d * d
		squares += d * d
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

func sortedKeys(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }
