package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"

	"github.com/esched/esched/internal/hint"
)

// maxTasks keeps the graph of a trial within the memory of a client.
const maxTasks = 1_000_000

func merge() Workload {
	return Workload{
		Name:    "merge",
		Doc:     "tasks that do nothing, and one that needs them all: the cost of scheduling",
		Instant: true,
		Params: []Param{
			{Name: "tasks", Type: Int, Min: 1, Max: maxTasks, Required: true, Doc: "tasks that the last one needs"},
		},
		Sizes: []NamedSize{
			{"small", "a second or two", map[string]any{"tasks": int64(1_000)}},
			{"medium", "as Dask's schedulers are usually compared", map[string]any{"tasks": int64(10_000)}},
			{"large", "a minute or more", map[string]any{"tasks": int64(100_000)}},
		},
		Result:     "the sum of all values, which is known",
		References: []string{"Böhm and Beránek, Runtime vs Scheduler: Analyzing Dask's Overheads, WORKS 2020 (merge-n)"},
		Size:       func(params map[string]any) string { return counted(params, "tasks", "task", "tasks") },
		Check:      func(params map[string]any) error { _, err := whole(params, "tasks"); return err },
		Warmup:     func(map[string]any) map[string]any { return map[string]any{"tasks": int64(200)} },
		RoughSeconds: func(params map[string]any, _ int) float64 {
			n, _ := whole(params, "tasks") // Check refused what is none
			return float64(n) * secondsPerTask
		},
		Verify: func(params map[string]any, digest, result string) error {
			n, err := whole(params, "tasks")
			if err != nil {
				return err
			}
			return exactly(fmt.Sprintf("sum = %d of %d values", n*(n-1)/2, n), digest, result)
		},
	}
}

func tree() Workload {
	return Workload{
		Name:    "tree",
		Doc:     "pairs of numbers added until one is left: tasks that depend on others and take no time",
		Instant: true,
		Params: []Param{
			{Name: "leaves", Type: Int, Min: 2, Max: 1 << 19, Required: true, Doc: "numbers to add, a power of two"},
		},
		Sizes: []NamedSize{
			{"small", "a second or two", map[string]any{"leaves": int64(1 << 9)}},
			{"medium", "some ten seconds", map[string]any{"leaves": int64(1 << 13)}},
			{"large", "minutes", map[string]any{"leaves": int64(1 << 16)}},
		},
		Result:     "the sum of all leaves, which is known",
		References: []string{"Böhm and Beránek, Runtime vs Scheduler: Analyzing Dask's Overheads, WORKS 2020 (tree-n)"},
		Size:       func(params map[string]any) string { return counted(params, "leaves", "leaf", "leaves") },
		Check: func(params map[string]any) error {
			n, err := whole(params, "leaves")
			if err == nil && (n < 2 || n&(n-1) != 0) {
				below := uint64(1) << (bits.Len64(uint64(max(n, 2))) - 1)
				err = hint.With(fmt.Errorf("%d leaves are no power of two", n), fmt.Sprintf("use %d or %d leaves", below, 2*below))
			}
			return err
		},
		Warmup: func(map[string]any) map[string]any { return map[string]any{"leaves": int64(64)} },
		RoughSeconds: func(params map[string]any, _ int) float64 {
			n, _ := whole(params, "leaves") // Check refused what is none
			return float64(2*n-1) * secondsPerTask
		},
		Verify: func(params map[string]any, digest, result string) error {
			n, err := whole(params, "leaves")
			if err != nil {
				return err
			}
			return exactly(fmt.Sprintf("sum = %d of %d leaves", n*(n-1)/2, n), digest, result)
		},
	}
}

// counted labels a size by one whole parameter: "2,000 tasks".
func counted(params map[string]any, name, one, many string) string {
	n, err := whole(params, name)
	switch {
	case err != nil:
		return "?"
	case n == 1:
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// exactly checks a result that is known, and that the digest is the result's.
func exactly(want, digest, result string) error {
	if result != want {
		return fmt.Errorf("result %q, not %q", result, want)
	}
	sum := sha256.Sum256([]byte(result))
	if digest != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("digest %.12s: not that of %q", digest, result)
	}
	return nil
}
