package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		workload, param string
		value           int64
		size            string // "" if Check refuses
	}{
		{"merge", "tasks", 10_000, "10,000 tasks"},
		{"merge", "tasks", 1, "1 task"},
		{"tree", "leaves", 8192, "8,192 leaves"},
		{"tree", "leaves", 8191, ""},
		{"tree", "leaves", 1, ""},
		{"groupby", "partitions", 288, "288 partitions"},
		{"shuffle", "partitions", 1, "1 partition"},
	} {
		w, found := ByName(test.workload)
		if !found {
			t.Fatalf("no %s", test.workload)
		}
		params := map[string]any{test.param: test.value}
		err := w.Check(params)
		if (err == nil) != (test.size != "") {
			t.Errorf("%s %v: Check: %v", test.workload, params, err)
		}
		if err == nil && w.Size(params) != test.size {
			t.Errorf("%s %v: have %q, want %q", test.workload, params, w.Size(params), test.size)
		}
		small := w.Warmup(params)
		if err := w.Check(small); err != nil {
			t.Errorf("%s: warm-up %v: %v", test.workload, small, err)
		}
		if s := w.RoughSeconds(small, 2); s <= 0 || s > 2 {
			t.Errorf("%s: warm-up of %g s", test.workload, s)
		}
	}
}

func TestVerifyExact(t *testing.T) {
	t.Parallel()
	digest := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	for _, test := range []struct {
		workload, param string
		value           int64
		result          string
		ok              bool
	}{
		{"merge", "tasks", 100, "sum = 4950 of 100 values", true},
		{"merge", "tasks", 100, "sum = 4951 of 100 values", false},
		{"tree", "leaves", 64, "sum = 2016 of 64 leaves", true},
		{"tree", "leaves", 64, "sum = 0 of 64 leaves", false},
		{"groupby", "partitions", 12, "100 groups of 12000 rows, sum = 5994000", true},
		{"groupby", "partitions", 12, "99 groups of 12000 rows, sum = 5994000", false},
		{"shuffle", "partitions", 40, "40000 rows in 40 partitions, 100 keys", true},
		{"shuffle", "partitions", 40, "40000 rows in 40 partitions, 4000 keys", false},
	} {
		w, _ := ByName(test.workload)
		params := map[string]any{test.param: test.value}
		if err := w.Verify(params, digest(test.result), test.result); (err == nil) != test.ok {
			t.Errorf("%s: %q: %v", test.workload, test.result, err)
		}
		if err := w.Verify(params, strings.Repeat("x", 64), test.result); err == nil {
			t.Errorf("%s: a wrong digest was accepted", test.workload)
		}
	}
}
