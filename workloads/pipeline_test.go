package workloads

import (
	"strings"
	"testing"

	"github.com/esched/esched/internal/need"
)

func TestPipelineParams(t *testing.T) {
	t.Parallel()
	w, found := ByName("pipeline")
	if !found {
		t.Fatal("no pipeline")
	}
	digest := strings.Repeat("0f", 32)
	for _, test := range []struct {
		params map[string]any
		size   string // "" if Check refuses
		result string
	}{
		{map[string]any{"pipelines": int64(1), "rows": int64(999)}, "1 x 999 rows, frames", "1 pipeline: 999 test rows in 88 columns, 749 training rows"},
		{map[string]any{"pipelines": int64(16)}, "16 x 20,000 rows, frames", "16 pipelines: 320000 test rows in 88 columns, 240000 training rows"},
		{map[string]any{"pipelines": int64(2), "form": "partitions", "partitions": int64(8)}, "2 x 20,000 rows, partitions",
			"2 pipelines: 40000 test rows in 88 columns, 30000 training rows"},
		{map[string]any{"pipelines": int64(2), "form": "partitions", "partitions": int64(9)}, "", ""},
		{map[string]any{"pipelines": int64(2), "form": "partitions", "partitions": int64(9), "source": "published"}, "2 x 20,000 rows, partitions",
			"2 pipelines: 40000 test rows in 88 columns, 30000 training rows"},
		{map[string]any{"pipelines": int64(1), "rows": 1.5}, "", ""},
	} {
		params := complete(w, test.params)
		if err := w.Check(params); (err == nil) != (test.size != "") {
			t.Errorf("%v: Check: %v", test.params, err)
		}
		if test.size == "" {
			continue
		}
		if have := w.Size(params); have != test.size {
			t.Errorf("%v: want %q, have %q", test.params, test.size, have)
		}
		if err := w.Verify(params, digest, test.result); err != nil {
			t.Errorf("%v: %v", test.params, err)
		}
		for _, wrong := range []struct{ digest, result string }{{"0f", test.result}, {digest, "x" + test.result}} {
			if err := w.Verify(params, wrong.digest, wrong.result); err == nil {
				t.Errorf("%v: %q with digest %s was accepted", test.params, wrong.result, wrong.digest)
			}
		}
	}
}

func TestExpediaParts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rows, size, parts int64 }{
		{1, 2_500, 1}, {20_000, 2_500, 8}, {20_001, 2_500, 9}, {1_000_000, 3_906, 257}, {6_000_000, 20_000, 300},
	} {
		if size, parts := expediaPartRows(test.rows), expediaParts(test.rows); size != test.size || parts != test.parts {
			t.Errorf("%d rows: want %d parts of %d, have %d of %d", test.rows, test.parts, test.size, parts, size)
		}
	}
}

// What pipelines of 3,000 rows give, drawn with the seed 7 of 10,000: one, and
// two at once. On all versions of Dask.
const (
	onePipeline  = "b220ee43e05f26403401c4b51c89b8baf40b8646e9584ea94ee44775c45d5f65"
	twoPipelines = "1c37e267db4335d6290157a024662d347397f3971555534eaf4b9eea2c8ab240"
)

// TestPipeline compares both forms with plain pandas, in each pinned
// environment.
func TestPipeline(t *testing.T) {
	t.Parallel()
	for name, interpreter := range map[string]func(testing.TB) string{"default": need.Python, "dask-2024.5": need.OldPython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			python := interpreter(t)
			data := expediaData(t, python, 10_000)
			var out strings.Builder
			if err := modules(t, python)(t.Context(), &out, "plain_pipeline", data, "3000", "3"); err != nil {
				t.Fatal(err)
			}
			if have := strings.TrimSpace(out.String()); have != onePipeline {
				t.Errorf("digest: want %s, have %s", onePipeline, have)
			}
		})
	}
}

// testPipeline runs both forms under both kinds of scheduler.
func testPipeline(t *testing.T, c *cluster, d *Driver) {
	w, _ := ByName("pipeline")
	data := expediaData(t, c.python, 10_000)
	for _, r := range []Request{{Kind: "dask"}, {Kind: "sidekick", Policy: "random"}} {
		for form, tasks := range map[string]int{formFrames: 110, formPartitions: 0} {
			params := complete(w, map[string]any{"pipelines": int64(2), "rows": int64(3_000), "partitions": int64(3), "form": form})
			r.Workload, r.Params, r.Seed, r.Data = w.Name, params, 7, data
			have, err := d.Trial(t.Context(), r)
			if err != nil {
				t.Errorf("%s, %s: %v", r.Kind, form, err)
				continue
			}
			if err := w.Verify(params, have.Digest, have.Result); err != nil {
				t.Errorf("%s, %s: %v", r.Kind, form, err)
			}
			if have.Digest != twoPipelines || have.Tasks == 0 || tasks != 0 && have.Tasks != tasks {
				t.Errorf("%s, %s: have %d tasks, digest %s", r.Kind, form, have.Tasks, have.Digest)
			}
		}
	}
}
