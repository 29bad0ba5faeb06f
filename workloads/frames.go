package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// What a partition of the data frames has: see esched_workloads/frames.py.
const (
	frameRows = 1000
	frameKeys = 100
)

// maxPartitions keeps the graphs that Dask makes of data frames within the
// memory of a client: a shuffle has some tasks for each pair of partitions.
const maxPartitions = 10_000

// Costs of a partition on one core, for rough estimates.
const (
	secondsPerGrouped  = 5e-3
	secondsPerShuffled = 50e-3
)

func groupBy() Workload {
	w := overPartitions(secondsPerGrouped)
	w.Name = "groupby"
	w.Result = "how often each key occurs and its sum, digested; their totals are known"
	w.Doc = "values of a data frame of random keys, counted and added up by key"
	w.Verify = func(params map[string]any, digest, result string) error {
		n, err := whole(params, "partitions")
		if err != nil {
			return err
		}
		// Only the sums are known here; the digest, of every group, is compared
		// between schedulers.
		if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size {
			return fmt.Errorf("digest %.12s: not a SHA-256", digest)
		}
		want := fmt.Sprintf("%d groups of %d rows, sum = %d", frameKeys, n*frameRows, n*frameRows*(frameRows-1)/2)
		if result != want {
			return fmt.Errorf("result %q, not %q", result, want)
		}
		return nil
	}
	return w
}

func shuffle() Workload {
	w := overPartitions(secondsPerShuffled)
	w.Name = "shuffle"
	w.Result = "how many rows, partitions and keys there are afterwards, which is known"
	w.Doc = "rows of a data frame of random keys, moved so that equal keys meet"
	w.Verify = func(params map[string]any, digest, result string) error {
		n, err := whole(params, "partitions")
		if err != nil {
			return err
		}
		return exactly(fmt.Sprintf("%d rows in %d partitions, %d keys", n*frameRows, n, frameKeys), digest, result)
	}
	return w
}

// overPartitions is what workloads on data frames have in common.
func overPartitions(seconds float64) Workload {
	return Workload{
		Instant: true,
		Params: []Param{
			{Name: "partitions", Type: Int, Min: 1, Max: maxPartitions, Required: true,
				Doc: "parts of the data frame, of " + grouped(frameRows) + " rows each"},
		},
		Sizes: []NamedSize{
			{"small", "a second or two", map[string]any{"partitions": int64(24)}},
			{"medium", "some ten seconds", map[string]any{"partitions": int64(96)}},
		},
		References: []string{"Böhm and Beránek, Runtime vs Scheduler: Analyzing Dask's Overheads, WORKS 2020 (data frames)"},
		Size:       func(params map[string]any) string { return counted(params, "partitions", "partition", "partitions") },
		Check:      func(params map[string]any) error { _, err := whole(params, "partitions"); return err },
		Warmup:     func(map[string]any) map[string]any { return map[string]any{"partitions": int64(8)} },
		RoughSeconds: func(params map[string]any, workers int) float64 {
			n, _ := whole(params, "partitions") // Check refused what is none
			return 0.5 + float64(n)*seconds/float64(min(max(workers, 1), 4))
		},
	}
}
