package workloads

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"slices"
	"testing"
)

// testTimeline traces a tree of which the number of tasks and the longest
// chain are known.
func testTimeline(t *testing.T, d *Driver) {
	const leaves, depth, bound, plenty = 32, 6, 20, 1000
	for _, r := range []Request{{Kind: "dask"}, {Kind: "sidekick", Policy: "random"}} {
		r.Workload, r.Params, r.Seed, r.Trace = "tree", map[string]any{"leaves": int64(leaves)}, 3, bound
		have, err := d.Trial(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", r.Kind, err)
		}
		head, rows := unpackTimeline(t, have.Timeline)
		if head.Tasks != have.Tasks || head.Every != 4 || len(rows) > bound || len(rows) != (have.Tasks+3)/4 {
			t.Errorf("%s: %d tasks, every %d, %d rows; want %d tasks, every 4, at most %d rows", r.Kind, head.Tasks, head.Every, len(rows), have.Tasks, bound)
		}
		// Which tasks are noted, and so of which workers, is chance.
		known := len(head.Workers) > 0 && !slices.ContainsFunc(head.Workers, func(name string) bool { return name != "w0" && name != "w1" })
		if len(head.Prefixes) > depth || !known || !(head.Path > 0 && head.Path <= head.Work) {
			t.Errorf("%s: have %+v", r.Kind, head)
		}
		for _, row := range rows {
			var numbers [5]float64
			if err := json.Unmarshal(row, &[]any{&numbers[0], &numbers[1], &numbers[2], &numbers[3], &numbers[4]}); err != nil {
				t.Fatalf("%s: %s: %v", r.Kind, row, err)
			}
			if from, to := numbers[3], numbers[4]; to < from || to > have.MakespanS+60 {
				t.Errorf("%s: row %s", r.Kind, row)
			}
		}
	}
	whole, err := d.Trial(t.Context(), Request{Kind: "dask", Workload: "tree", Params: map[string]any{"leaves": int64(leaves)}, Trace: plenty})
	if err != nil {
		t.Fatal(err)
	}
	if head, rows := unpackTimeline(t, whole.Timeline); head.Every != 1 || len(rows) != whole.Tasks || len(head.Workers) != 2 {
		t.Errorf("with room for all: %d tasks, every %d, %d rows, of %q", head.Tasks, head.Every, len(rows), head.Workers)
	}
	plain, err := d.Trial(t.Context(), Request{Kind: "dask", Workload: "tree", Params: map[string]any{"leaves": int64(leaves)}})
	if err != nil || len(plain.Timeline) > 0 {
		t.Errorf("untraced: %d bytes, %v", len(plain.Timeline), err)
	}
}

type timelineHead struct {
	Tasks    int      `json:"tasks"`
	Every    int      `json:"every"`
	Work     float64  `json:"work_s"`
	Path     float64  `json:"path_s"`
	Prefixes []string `json:"prefixes"`
	Workers  []string `json:"workers"`
}

func unpackTimeline(t *testing.T, packed []byte) (head timelineHead, rows [][]byte) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	if !lines.Scan() {
		t.Fatal("a timeline without lines")
	}
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		rows = append(rows, bytes.Clone(lines.Bytes()))
	}
	return head, rows
}
