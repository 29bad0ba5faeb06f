package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/esched/esched/internal/hint"
)

const (
	// maxChunks keeps the graph of a trial within the memory of a client.
	maxChunks = 1_000_000
	// Costs of a single core, for rough estimates.
	secondsPerPoint = 20e-9
	secondsPerTask  = 1.5e-3
)

func monteCarlo() Workload {
	return Workload{
		Name: "montecarlo",
		Doc:  "estimates pi from random points in the unit square, counted in chunks",
		Params: []Param{
			{Name: "simulations", Type: Int, Min: 1, Max: 1e12, Required: true, Doc: "points in all"},
			{Name: "chunk", Type: Int, Min: 1, Max: 1e10, Required: true, Doc: "points that one task counts"},
		},
		Sizes: []NamedSize{
			{"small", "many tiny tasks", map[string]any{"simulations": int64(200_000), "chunk": int64(100)}},
			{"medium", "few big tasks", map[string]any{"simulations": int64(240_000_000), "chunk": int64(15_000_000)}},
			{"paper", "the lab report's largest; for a cluster", map[string]any{"simulations": int64(70_000_000_000), "chunk": int64(1_000_000)}},
		},
		Result: "pi and the count it comes from, which is the same for equal parameters and seed; " +
			"within five standard deviations of pi",
		References: []string{"lab report on external scheduling for Dask, section 5.3 (experiment 1)"},
		Size: func(params map[string]any) string {
			_, chunks, err := pointsAndChunks(params)
			if err != nil {
				return "?"
			}
			if chunks == 1 {
				return "1 chunk"
			}
			return grouped(chunks) + " chunks"
		},
		Check: func(params map[string]any) error {
			_, _, err := pointsAndChunks(params)
			return err
		},
		Warmup: func(map[string]any) map[string]any {
			return map[string]any{"simulations": int64(10_000), "chunk": int64(100)}
		},
		RoughSeconds: func(params map[string]any, workers int) float64 {
			points, chunks, err := pointsAndChunks(params)
			if err != nil {
				return 0
			}
			lanes := min(int64(max(workers, 1)), chunks)
			rounds := (chunks + lanes - 1) / lanes
			perChunk := float64(points) / float64(chunks) * secondsPerPoint
			return float64(rounds)*perChunk + float64(chunks)*secondsPerTask
		},
		Verify: verifyPi,
	}
}

// pointsAndChunks checks the parameters and returns what follows from them.
func pointsAndChunks(params map[string]any) (points, chunks int64, err error) {
	points, err = whole(params, "simulations")
	if err != nil {
		return 0, 0, err
	}
	chunk, err := whole(params, "chunk")
	if err != nil {
		return 0, 0, err
	}
	switch {
	case points < 1 || chunk < 1:
		return 0, 0, errors.New("simulations and chunk must be at least 1")
	case chunk > points:
		err := fmt.Errorf("chunk (%d) larger than simulations (%d)", chunk, points)
		return 0, 0, hint.With(err, "lower chunk or raise simulations")
	}
	chunks = (points-1)/chunk + 1
	if chunks > maxChunks {
		err := fmt.Errorf("%s chunks, more than %s", grouped(chunks), grouped(maxChunks))
		return 0, 0, hint.With(err, "raise chunk to at least "+strconv.FormatInt((points-1)/maxChunks+1, 10))
	}
	return points, chunks, nil
}

// verifyPi checks that digest and text tell of the same count, and that the
// count is plausible. Each of n points is inside with probability p = pi/4, so
// the estimate 4*inside/n has the standard deviation 4*sqrt(p(1-p)/n) =
// sqrt(pi(4-pi)/n). A sound result is more than five of them off less than
// once in a million seeds; tiny n, where that does not hold, cannot exceed
// the bound by much either.
func verifyPi(params map[string]any, digest, result string) error {
	n, _, err := pointsAndChunks(params)
	if err != nil {
		return err
	}
	var pi float64
	var inside, total int64
	if _, err := fmt.Sscanf(result, "pi = %g (%d/%d)", &pi, &inside, &total); err != nil {
		return fmt.Errorf("result %q: not of the form \"pi = 3.14 (inside/total)\"", result)
	}
	if total != n || inside < 0 || inside > n {
		return fmt.Errorf("result %q: not a count of %d points", result, n)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d", inside, total))
	if digest != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("digest %.12s: not that of %d/%d", digest, inside, total)
	}
	off := math.Abs(4*float64(inside)/float64(n) - math.Pi)
	if bound := 5 * math.Sqrt(math.Pi*(4-math.Pi)/float64(n)); off > bound {
		return fmt.Errorf("result %q: off by %.3g, more than five standard deviations (%.3g)", result, off, bound)
	}
	return nil
}

// grouped writes 2000 as "2,000".
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
