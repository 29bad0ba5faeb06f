package report

import (
	"time"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// Schema is the version of the JSON form of a report.
const Schema = 1

// Report is everything a report says. It is not changed by the writers, which
// may run at the same time.
type Report struct {
	Schema int    `json:"schema"`
	Title  string `json:"title"`
	// Runs are the names of the runs it is about.
	Runs []string `json:"runs"`
	// Date is when the last of the runs ended (or started, when the end is not
	// known): a report of the same runs is the same whenever it is made.
	Date time.Time `json:"date"`
	// Headline is the result in one sentence, Facts three to five more, Careful
	// what weakens them.
	Headline string   `json:"headline"`
	Facts    []string `json:"facts"`
	Careful  []string `json:"careful"`

	Series  []Series        `json:"series"`
	Cells   []Cell          `json:"cells"`
	Ratios  []Ratio         `json:"ratios"`
	Figures []charts.Figure `json:"figures"`
	Tables  []Table         `json:"tables"`
	// Methods are the paragraphs on how it was measured.
	Methods []string `json:"methods"`

	// details are what a row of the table of trials opens, in its order.
	details []detail
	// experiments are the texts of the experiment files, one a run.
	experiments []experiment
}

// experiment is the text of a run's experiment file.
type experiment struct{ Run, Path, SHA256, Text string }

// Table returns the table with an ID, or nil.
func (r *Report) Table(id string) *Table {
	for i := range r.Tables {
		if r.Tables[i].ID == id {
			return &r.Tables[i]
		}
	}
	return nil
}

// Condition is what was executed and on what: everything that two series must
// share to be compared.
type Condition struct {
	Workload string `json:"workload"`
	Size     string `json:"size"`
	Params   string `json:"params"`
	Nodes    int    `json:"nodes"`
	Workers  int    `json:"workers"`
	Threads  int    `json:"threads"`
}

// Series is who decided, under one name on the whole page.
type Series struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Policy   string `json:"policy,omitempty"`
	Baseline bool   `json:"baseline"`
	// Environment is the Python environment it ran in.
	Environment string `json:"environment,omitempty"`
	// Settings are what was set for it beyond the defaults, "key=value", sorted.
	Settings string `json:"settings,omitempty"`
}

// Cell is one series under one condition. Times are seconds. A pointer is nil
// when there is no value.
type Cell struct {
	Condition
	Series string `json:"series"`
	// N counts the trials that are ok, Failed the others that were recorded.
	N      int `json:"n"`
	Failed int `json:"failed"`
	// GeoMean is the typical time, Interval its 95 % interval.
	GeoMean  *float64        `json:"geomean_s"`
	Interval *stats.Interval `json:"interval"`
	Median   *float64        `json:"median_s"`
	Mean     *float64        `json:"mean_s"`
	Min      *float64        `json:"min_s"`
	Max      *float64        `json:"max_s"`
	// Tasks is the mean number of tasks of a trial.
	Tasks *float64 `json:"tasks"`
	// Utilization is the workers' busy time over what their threads had.
	Utilization *float64 `json:"utilization"`
	BytesMoved  *float64 `json:"bytes_moved"`
	// WorkerPeak and ClientPeak are the most bytes that any worker and the
	// client had resident in any of the trials; nil when unknown.
	WorkerPeak *float64 `json:"worker_peak_bytes"`
	ClientPeak *float64 `json:"client_peak_bytes"`
	Decisions  int      `json:"decisions"`
	Fallbacks  int      `json:"fallbacks"`

	series    int
	condition int
	records   []*record.Record // the ok ones
	makespans map[string]float64
}

// Ratio compares the times of a series with those of a baseline under one
// condition.
type Ratio struct {
	Condition
	Series   string `json:"series"`
	Baseline string `json:"baseline"`
	stats.Ratio
	// The absolute times the ratio is made of: geometric means of the
	// repetitions, in seconds.
	SeriesS   float64 `json:"series_s"`
	BaselineS float64 `json:"baseline_s"`

	condition, series, baseline int
}
