package stats

import "math"

// Difference compares the times of two arms by what they cost: the mean of the
// first one less that of the second, in their unit.
type Difference struct {
	Value float64 `json:"value"`
	// Interval is nil when there are not enough repetitions. Its method is not on
	// logarithms here: costs add up.
	Interval *Interval `json:"interval"`
	Paired   bool      `json:"paired"`
}

// CompareMeans is the difference of the arithmetic means of a and b, both by
// the name of the block they were measured in. It pairs as [CompareTimes] does,
// so that the two tell of the same values. It returns nil when an arm is empty
// or has a time that is not positive.
func CompareMeans(a, b map[string]float64, seed uint64) *Difference {
	la, lb, pairs, ok := arms(a, b)
	if !ok {
		return nil
	}
	few := min(len(la), len(lb)) < MinSample
	if len(pairs) >= MinSample || len(pairs) > 0 && few {
		x := make([]float64, 0, len(pairs))
		for _, k := range sortedKeys(a) {
			if v, both := b[k]; both {
				x = append(x, a[k]-v)
			}
		}
		d := &Difference{Value: Mean(x), Interval: MeanInterval(x, seed), Paired: true}
		if d.Interval != nil && d.Interval.Method == MethodT {
			d.Interval.Method = MethodPaired
		}
		return d
	}
	x, y := valuesOf(a), valuesOf(b)
	d := &Difference{Value: Mean(x) - Mean(y)}
	if !few {
		lo, hi := welchEnds(x, y)
		d.Interval = &Interval{lo, hi, MethodWelch}
	}
	return d
}

func valuesOf(m map[string]float64) []float64 {
	x := make([]float64, 0, len(m))
	for _, k := range sortedKeys(m) {
		x = append(x, m[k])
	}
	return x
}

// welchEnds are the ends of Welch's interval for mean(a) - mean(b), with the
// degrees of freedom after Welch and Satterthwaite.
func welchEnds(a, b []float64) (lo, hi float64) {
	na, nb := float64(len(a)), float64(len(b))
	va, vb := math.Pow(StdDev(a), 2)/na, math.Pow(StdDev(b), 2)/nb
	d := Mean(a) - Mean(b)
	if va+vb == 0 {
		return d, d
	}
	df := (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
	half := TQuantile(0.5+Confidence/2, df) * math.Sqrt(va+vb)
	return d - half, d + half
}
