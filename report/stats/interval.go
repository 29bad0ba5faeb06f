package stats

import "math"

// Method names how an interval was made.
type Method string

// The methods. MethodPaired and MethodWelch are for ratios.
const (
	MethodT         Method = "t"         // Student's t on logarithms
	MethodPaired    Method = "paired t"  // Student's t on the logarithms of the ratios of pairs
	MethodWelch     Method = "Welch"     // Welch's t on logarithms, arms that cannot be paired
	MethodBootstrap Method = "bootstrap" // BCa bootstrap of the mean (of logarithms, for a geometric mean)
)

// Interval is an interval of confidence at level [Confidence]: for a geometric
// mean from [GeoMeanInterval] and in a [Ratio], for others from
// [MeanInterval], [MedianInterval] and [QuantileInterval].
//
// That of a geometric mean: below BootstrapSample values it is Student's: exp(m ± t(n-1) s/√n) with mean
// m and standard deviation s of the logarithms (Student 1908, on logarithms as
// in Altman and Bland, BMJ 312:1153, 1996). From there on it is the
// bias-corrected and accelerated bootstrap (Efron, JASA 82:171, 1987), which
// does not suppose a shape, at a level that makes up for the resamples' lack of
// spread (see expanded). Not before: bootstrap intervals of few values are too
// narrow (Hesterberg, The American Statistician 69:371, 2015), and three values
// have only ten different resamples.
//
// In simulations, 93 to 97 % of the intervals hold the truth when logarithms
// are normal, uniform, moderately skewed, or of two moods with ten values or
// more. Exponential ones bring that down to 89 % for 5 values and 93 % for 15,
// heavy tails to 92 % for 15.
type Interval struct {
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Method Method  `json:"method"`
}

// GeoMeanInterval returns the interval of the geometric mean of positive
// values; nil when there are fewer than MinSample of them. The seed makes the
// bootstrap repeatable.
func GeoMeanInterval(x []float64, seed uint64) *Interval {
	l, ok := logs(x)
	if !ok || len(l) < MinSample {
		return nil
	}
	return expInterval(l, MethodT, seed)
}

// expInterval makes the interval of exp(mean) from logarithms.
func expInterval(l []float64, small Method, seed uint64) *Interval {
	if len(l) >= BootstrapSample {
		lo, hi := BCa(l, Mean, expanded(len(l)), Resamples, seed)
		return &Interval{math.Exp(lo), math.Exp(hi), MethodBootstrap}
	}
	n := float64(len(l))
	half := TQuantile(0.5+Confidence/2, n-1) * StdDev(l) / math.Sqrt(n)
	m := Mean(l)
	return &Interval{math.Exp(m - half), math.Exp(m + half), small}
}

// Verdict tells what an interval of a ratio of times says about the first arm.
type Verdict string

// The verdicts. Undecided means that the interval holds 1.
const (
	Faster    Verdict = "faster"
	Slower    Verdict = "slower"
	Undecided Verdict = "undecided"
)

// Ratio compares the times of two arms: Value below 1 means that the first one
// took less.
type Ratio struct {
	Value float64 `json:"value"`
	// Interval is nil when there are not enough repetitions.
	Interval *Interval `json:"interval"`
	// N is the number of pairs, or the smaller number of values of unpaired arms.
	N       int     `json:"n"`
	Paired  bool    `json:"paired"`
	Verdict Verdict `json:"verdict"`
}

// CompareTimes compares the times a with the times b, both by the name of the
// block they were measured in (a repetition of a run). It pairs within blocks:
// what changes from one repetition to the next (the state of a shared machine)
// then cancels. Blocks that only one arm has are left out, unless fewer than
// MinSample pairs remain and both arms have MinSample values: then the arms
// are compared as independent samples (Welch, Biometrika 34:28, 1947). It
// returns nil when an arm is empty or has a time that is not positive.
func CompareTimes(a, b map[string]float64, seed uint64) *Ratio {
	la, lb, pairs, ok := arms(a, b)
	if !ok {
		return nil
	}
	r := &Ratio{N: min(len(la), len(lb)), Verdict: Undecided}
	switch {
	case len(pairs) >= MinSample:
		r.Value, r.N, r.Paired = math.Exp(Mean(pairs)), len(pairs), true
		r.Interval = expInterval(pairs, MethodPaired, seed)
	case r.N >= MinSample:
		r.Value = math.Exp(Mean(la) - Mean(lb))
		r.Interval = welch(la, lb)
	case len(pairs) > 0:
		r.Value, r.N, r.Paired = math.Exp(Mean(pairs)), len(pairs), true
	default:
		r.Value = math.Exp(Mean(la) - Mean(lb))
	}
	if r.Interval != nil && r.Interval.Hi < 1 {
		r.Verdict = Faster
	}
	if r.Interval != nil && r.Interval.Lo > 1 {
		r.Verdict = Slower
	}
	return r
}

// TestTimes tests the same arms as [CompareTimes] by ranks: Wilcoxon's test of
// the ratios of pairs where that pairs, else Mann and Whitney's. P is not
// corrected for the number of comparisons: see [Holm].
func TestTimes(a, b map[string]float64) *Test {
	la, lb, pairs, ok := arms(a, b)
	switch {
	case !ok:
		return nil
	case len(pairs) >= MinSample || len(pairs) > 0 && min(len(la), len(lb)) < MinSample:
		return Wilcoxon(pairs)
	}
	return MannWhitney(la, lb)
}

// arms returns the logarithms of two arms, in the order of their blocks, and
// of the ratios of their pairs; ok tells that both have times and all are
// positive.
func arms(a, b map[string]float64) (la, lb, pairs []float64, ok bool) {
	for _, k := range sortedKeys(a) {
		if !(a[k] > 0) {
			return nil, nil, nil, false
		}
		la = append(la, math.Log(a[k]))
		if v, both := b[k]; both && v > 0 {
			pairs = append(pairs, math.Log(a[k])-math.Log(v))
		}
	}
	for _, k := range sortedKeys(b) {
		if !(b[k] > 0) {
			return nil, nil, nil, false
		}
		lb = append(lb, math.Log(b[k]))
	}
	return la, lb, pairs, len(la) > 0 && len(lb) > 0
}

// welch returns exp of Welch's interval for mean(a) - mean(b).
func welch(a, b []float64) *Interval {
	lo, hi := welchEnds(a, b)
	return &Interval{math.Exp(lo), math.Exp(hi), MethodWelch}
}
