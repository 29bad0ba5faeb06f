package workloads

import (
	"math"
	"math/rand/v2"
)

// The distributions of task times and sizes of results.
const (
	constant    = "constant"
	uniform     = "uniform"
	exponential = "exponential"
	lognormal   = "lognormal"
	pareto      = "pareto"
)

func distributions() []string { return []string{constant, uniform, exponential, lognormal, pareto} }

const (
	// paretoShape makes a tail as heavy as those of job times on clusters; the
	// largest value is paretoRange times the smallest, as without an end the
	// mean of a sample says nothing.
	paretoShape = 1.5
	paretoRange = 1000
	// lognormalSpread is the standard deviation of the logarithm: sqrt(ln 2), so
	// that values spread as far around their mean as exponential ones.
	lognormalSpread = 0.8325546111576977
)

// source draws numbers. Only its 64 random bits a call come from a library
// whose stream is fixed; what is made of them is here, so that no other
// version of Go draws other graphs.
type source struct{ bits *rand.PCG }

// Streams of a seed: what one aspect draws does not move the others.
const (
	streamTimes = iota + 1
	streamSizes
	streamShape
)

func newSource(seed int64, stream uint64) source { return source{rand.NewPCG(uint64(seed), stream)} }

// unit returns a number of [0, 1).
func (s source) unit() float64 { return float64(s.bits.Uint64()>>11) / (1 << 53) }

// below returns a whole number of [0, n); n is far below 2^32, so that the
// remainder's bias is none that anyone could see.
func (s source) below(n int) int { return int(s.bits.Uint64() % uint64(n)) }

// draw returns a positive number with the mean 1.
func (s source) draw(distribution string) float64 {
	switch distribution {
	case uniform:
		return 2 * s.unit()
	case exponential:
		return -math.Log1p(-s.unit())
	case lognormal:
		// Box and Muller's transformation makes a normal number of two uniform ones.
		normal := math.Sqrt(-2*math.Log1p(-s.unit())) * math.Cos(2*math.Pi*s.unit())
		return math.Exp(lognormalSpread*normal - lognormalSpread*lognormalSpread/2)
	case pareto:
		const mean = paretoShape / (paretoShape - 1)
		tail := math.Pow(paretoRange, -paretoShape)
		smallest := (1 - tail) / (mean * (1 - math.Pow(paretoRange, 1-paretoShape)))
		return smallest * math.Pow(1-s.unit()*(1-tail), -1/paretoShape)
	}
	return 1
}

// sample returns n numbers with the mean 1, exactly: the same work under each
// seed and distribution.
func (s source) sample(distribution string, n int) []float64 {
	all := make([]float64, n)
	sum := 0.0
	for i := range all {
		all[i] = s.draw(distribution)
		sum += all[i]
	}
	for i := range all {
		all[i] *= float64(n) / sum
	}
	return all
}

// shuffle puts the values into a random order.
func (s source) shuffle(values []float64) {
	for i := len(values) - 1; i > 0; i-- {
		j := s.below(i + 1)
		values[i], values[j] = values[j], values[i]
	}
}
