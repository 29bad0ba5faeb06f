package charts

import "math"

// NiceMax returns an end for an axis from 0 that shows v with a little room: 1,
// 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 or 10 times a power of ten. It is 1 for a v
// that is not positive.
func NiceMax(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	v *= 1.02
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v <= step*power*(1+1e-12) {
			return step * power
		}
	}
	return 10 * power
}

// LogRange returns the powers of ten around positive lo and hi.
func LogRange(lo, hi float64) (float64, float64) {
	if !(lo > 0) || !(hi >= lo) {
		return 1, 10
	}
	a, b := math.Pow(10, math.Floor(math.Log10(lo))), math.Pow(10, math.Ceil(math.Log10(hi)))
	if a == b {
		b *= 10
	}
	return a, b
}
