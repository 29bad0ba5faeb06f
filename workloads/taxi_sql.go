package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
)

// taxiQueries is how many different queries there are: 70 choices of four
// columns to add up, times 4 of three columns to group by.
const taxiQueries = 280

// Costs of a query on one core, for rough estimates: of itself, of each of its
// partitions, and of each row.
const (
	secondsPerQuery  = 0.05
	secondsPerRead   = 12e-3
	secondsPerSummed = 120e-9
)

func taxiSQL() Workload {
	return Workload{
		Name: "taxi-sql",
		Doc:  "SQL queries of a year's taxi trips, many at the same time (dask-sql)",
		Params: []Param{
			{Name: "queries", Type: Int, Min: 1, Max: taxiQueries, Required: true, Doc: "queries at the same time, the first so many of the report's 280"},
			{Name: "form", Type: String, Choices: []string{"flat", "nested", "prototype"}, Default: "flat",
				Doc: "flat: graphs from the client; nested: from within tasks; prototype: nested as in the report's prototype, which may hang"},
			{Name: "admission", Type: Int, Min: 0, Max: taxiQueries, Default: int64(0), Doc: "queries that are submitted and not finished at any time; 0: all"},
			{Name: "source", Type: String, Choices: []string{sourceGenerated, sourcePublished}, Default: sourceGenerated,
				Doc: "generated trips, or the published ones, which esched data taxi --source gets"},
			{Name: "rows", Type: Int, Min: 1, Max: 2e9, Default: int64(400_000), Doc: "trips, if they are made up"},
			{Name: "partitions", Type: Int, Min: 1, Max: 365, Default: int64(12), Doc: "files with trips; of published ones, months"},
			{Name: "schema", Type: String, Choices: []string{"current", "2014"}, Default: "current", Doc: "columns as published now or in 2014"},
			{Name: "seed", Type: Int, Min: 0, Max: 1 << 31, Default: int64(1), Doc: "seed of made-up trips"},
		},
		Sizes: []NamedSize{
			{"small", "some seconds", map[string]any{"queries": int64(10), "rows": int64(100_000), "partitions": int64(4)}},
			{"medium", "a minute on a laptop", map[string]any{"queries": int64(100)}},
			{"paper", "the lab report's trips; for a cluster", map[string]any{"queries": int64(50), "rows": int64(taxiRows), "partitions": int64(48)}},
		},
		Result: "how many groups the queries found, and a digest of all their sums in cents; each column of each query adds up " +
			"to what the trips add up to",
		References: []string{
			"lab report on external scheduling for Dask, section 5.4 (experiment 2)",
			"NYC Taxi and Limousine Commission, TLC trip record data (yellow taxis, 2014)",
		},
		Data:        "taxi",
		DataOptions: taxiOptions,
		Size:        taxiSize,
		Check: func(params map[string]any) error {
			_, err := tripsOf("", taxiOptions(params))
			return err
		},
		Warmup: func(params map[string]any) map[string]any {
			params["queries"] = min(taxiNumber(params, "queries"), 4)
			return params
		},
		RoughSeconds: func(params map[string]any, workers int) float64 {
			parts := float64(taxiNumber(params, "partitions"))
			lanes := float64(min(max(workers, 1), 64))
			cores := secondsPerRead*parts + secondsPerSummed*float64(taxiNumber(params, "rows"))
			return 1 + float64(taxiNumber(params, "queries"))*(secondsPerQuery+cores/lanes)
		},
		Verify: verifyTaxi,
	}
}

// taxiNumber is an integer parameter, 0 for what Check refuses.
func taxiNumber(params map[string]any, name string) int64 {
	n, _ := whole(params, name)
	return n
}

// taxiOptions are the options of the data that a trial reads.
func taxiOptions(params map[string]any) map[string]any {
	options := map[string]any{"source": sourceGenerated, "files": taxiNumber(params, "partitions"), "schema": params["schema"]}
	if params["source"] == sourcePublished {
		options["source"] = "" // wherever they were got from
		return options
	}
	options["rows"], options["seed"] = taxiNumber(params, "rows"), taxiNumber(params, "seed")
	return options
}

// taxiSize is the label of a size: all that differs between sizes of an
// experiment.
func taxiSize(params map[string]any) string {
	label := counted(params, "queries", "query", "queries")
	if form, _ := params["form"].(string); form != "" && form != "flat" {
		label += ", " + form
	}
	if n := taxiNumber(params, "admission"); n > 0 {
		label += fmt.Sprintf(", %d at once", n)
	}
	return label
}

var taxiResult = regexp.MustCompile(`^(\d+) quer(?:y|ies), (\d+) groups, all totals right$`)

// verifyTaxi looks at what the Python side says of the totals; the groups'
// digest is compared between schedulers.
func verifyTaxi(params map[string]any, digest, result string) error {
	n, err := whole(params, "queries")
	if err != nil {
		return err
	}
	parts := taxiResult.FindStringSubmatch(result)
	if parts == nil {
		return fmt.Errorf("result %q: not that all totals are right", result)
	}
	if queries, _ := strconv.ParseInt(parts[1], 10, 64); queries != n {
		return fmt.Errorf("result %q: not of %d queries", result, n)
	}
	if groups, err := strconv.ParseInt(parts[2], 10, 64); err != nil || groups < n {
		return fmt.Errorf("result %q: less than a group for each query", result)
	}
	if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size {
		return fmt.Errorf("digest %.12s: not a SHA-256", digest)
	}
	return nil
}
