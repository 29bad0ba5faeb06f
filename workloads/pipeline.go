package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/esched/esched/internal/hint"
)

// The forms of a pipeline.
const (
	formFrames     = "frames"
	formPartitions = "partitions"
)

const (
	// maxPipelines at once, maxPipelineRows of a table of each.
	maxPipelines    = 1000
	maxPipelineRows = 100_000_000
	// testColumns are the columns of a finished test table.
	testColumns = 88
)

// Costs of one pipeline on one core, for rough estimates: of its tasks, of each
// row of a table, and of what client and scheduler do for one in partitions.
const (
	secondsPerPipeline    = 0.1
	secondsPerRow         = 20e-6
	secondsPerPartitioned = 0.25
)

const pipelineAbout = `Each pipeline turns Expedia's training table into features of hotels (how
often they are clicked and booked, mean position, bookings by destination,
distances, mean and standard deviation of 15 columns) and joins them to both
tables. Rows are drawn with replacement from the data, other ones for each
pipeline, by the experiment's seed.

In the form frames a stage is a task that takes and gives whole tables, 53 of
the prototype's 68: the 15 that are left out merged statistics into a training
table that nobody read. Stages change none of their arguments, so that a stage
which is executed again gives the same. Little is parallel within a pipeline.
In the form partitions the same stages work on Dask data frames: rows of a
hotel are moved into one partition, by tasks, and the result is equal in every
bit. Finished tables stay on the workers, where tasks digest them.
`

func pipeline() Workload {
	return Workload{
		Name: "pipeline",
		Doc:  "preparations of Expedia's hotel data, several at once: workflows of joins and statistics",
		Params: []Param{
			{Name: "pipelines", Type: Int, Min: 1, Max: maxPipelines, Required: true, Doc: "pipelines at once"},
			{Name: "form", Type: String, Choices: []string{formFrames, formPartitions}, Default: formFrames,
				Doc: "frames: 53 stages of whole tables and 2 digests, a task each; partitions: the same on Dask data frames"},
			{Name: "rows", Type: Int, Min: 1, Max: maxPipelineRows, Default: int64(defaultExpediaRows),
				Doc: "rows of the training and of the test table, drawn from the data for each pipeline"},
			{Name: "partitions", Type: Int, Min: 1, Max: 1000, Default: int64(4), Doc: "partitions of each table, in the form partitions"},
			{Name: "source", Type: String, Choices: []string{sourceGenerated, sourcePublished}, Default: sourceGenerated,
				Doc: "generated data, as many rows, or the original's, which esched data expedia --source gets"},
		},
		Sizes: []NamedSize{
			{"small", "a second or two", map[string]any{"pipelines": int64(4)}},
			{"medium", "half a minute on two cores", map[string]any{"pipelines": int64(16), "rows": int64(100_000)}},
			{"paper", "the prototype's; for a cluster, 2.6 GB a table and stage", map[string]any{
				"pipelines": int64(5), "rows": int64(6_000_000), "source": sourcePublished}},
			{"parallel", "the same, in parallel within each pipeline", map[string]any{
				"pipelines": int64(5), "rows": int64(6_000_000), "source": sourcePublished, "form": formPartitions, "partitions": int64(64)}},
		},
		Result: "numbers of rows, which are known; the digest covers every value of both tables, is the same in both forms, " +
			"and on all schedulers",
		References: []string{
			"lab report on external scheduling for Dask, section 5.5 (experiment 3, which it had to leave out)",
			"Kaggle, Personalize Expedia Hotel Searches (ICDM 2013), the data",
		},
		About:       pipelineAbout,
		Data:        "expedia",
		DataOptions: pipelineData,
		Instant:     true,
		Size:        pipelineSize,
		Check:       checkPipeline,
		Warmup: func(map[string]any) map[string]any {
			// The form with more of Dask in it, on so many partitions that each worker
			// has something to import for.
			return map[string]any{"pipelines": int64(1), "form": formPartitions, "rows": int64(4 * leastPartRows),
				"partitions": int64(4), "source": sourceGenerated}
		},
		RoughSeconds: func(params map[string]any, workers int) float64 {
			pipelines, _ := whole(params, "pipelines") // Check refused what is none
			rows, _ := whole(params, "rows")
			work := secondsPerPipeline + float64(rows)*secondsPerRow
			lanes := int64(max(workers, 1))
			if params["form"] == formPartitions {
				return 0.5 + float64(pipelines)*(secondsPerPartitioned+work/float64(lanes))
			}
			lanes = min(lanes, pipelines)
			return 0.5 + work*float64((pipelines+lanes-1)/lanes)
		},
		Verify: verifyPipeline,
	}
}

// pipelineData is what a trial reads: generated data have as many rows as a
// table of a pipeline, the original has as many as it has.
func pipelineData(params map[string]any) map[string]any {
	if params["source"] == sourcePublished {
		return map[string]any{"source": ""} // wherever they were got from
	}
	return map[string]any{"source": sourceGenerated, "rows": params["rows"]}
}

func pipelineSize(params map[string]any) string {
	pipelines, err := whole(params, "pipelines")
	if err != nil {
		return "?"
	}
	rows, err := whole(params, "rows")
	if err != nil {
		return "?"
	}
	return fmt.Sprintf("%d x %s rows, %v", pipelines, grouped(rows), params["form"])
}

func checkPipeline(params map[string]any) error {
	rows, err := whole(params, "rows")
	if err != nil {
		return err
	}
	partitions, err := whole(params, "partitions")
	if err != nil {
		return err
	}
	if parts := expediaParts(rows); params["form"] == formPartitions && params["source"] == sourceGenerated && partitions > parts {
		err := fmt.Errorf("%d partitions of data that have %d parts", partitions, parts)
		return hint.With(err, fmt.Sprintf("use at most %d partitions, or more rows", parts))
	}
	return nil
}

// verifyPipeline checks what is known of a result. The values are known from no
// formula: the digest, of every one, is compared between schedulers.
func verifyPipeline(params map[string]any, digest, result string) error {
	rows, err := whole(params, "rows")
	if err != nil {
		return err
	}
	pipelines, err := whole(params, "pipelines")
	if err != nil {
		return err
	}
	if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size {
		return fmt.Errorf("digest %.12s: not a SHA-256", digest)
	}
	kept := max(rows*3/4, 1)
	want := fmt.Sprintf("%d pipelines: %d test rows in %d columns, %d training rows", pipelines, pipelines*rows, testColumns, pipelines*kept)
	if pipelines == 1 {
		want = fmt.Sprintf("1 pipeline: %d test rows in %d columns, %d training rows", rows, testColumns, kept)
	}
	if result != want {
		return fmt.Errorf("result %q, not %q", result, want)
	}
	return nil
}
