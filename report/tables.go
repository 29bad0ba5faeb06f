package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// The IDs of the tables that every report has; the data of figures follow as
// "data-" and the figure's ID.
const (
	TableCells     = "cells"
	TableRatios    = "ratios"
	TableSpeedup   = "speedup"
	TableDecisions = "decisions"
	TableBounds    = "bounds"
	TableOverhead  = "overhead"
	TableTests     = "tests"
	TableSpread    = "spread"
	TablePublished = "published"
	TableClocks    = "clocks"
	TableTrials    = "trials"
	TableWarmups   = "warmups"
	TableSeries    = "series"
	TableHosts     = "hosts"
	TableVersions  = "versions"
)

func (b *builder) tables(r *Report) {
	r.Tables = append(r.Tables, b.publishedTable(), b.cellTable(), b.spreadTable(), b.ratioTable(), b.testTable(), b.speedupTable(), b.boundTable(),
		b.decisionTable(), b.overheadTable(), b.clockTable())
	trials := slices.Clone(b.records)
	slices.SortStableFunc(trials, func(x, y *record.Record) int {
		return cmp.Or(
			cmp.Compare(boolRank(x.Status == record.StatusOK), boolRank(y.Status == record.StatusOK)),
			cmp.Compare(b.runOf[x], b.runOf[y]), cmp.Compare(x.Order, y.Order))
	})
	r.Tables = append(r.Tables,
		b.trialTable(TableTrials, "Every trial, the ones without a result first", trials),
		b.trialTable(TableWarmups, "Warm-up trials, which count in no result", b.warmups))
	for _, rec := range trials {
		r.details = append(r.details, newDetail(rec))
	}
	r.Tables = append(r.Tables, b.seriesTable(), b.hostTable(), b.versionTable())
	for _, f := range r.Figures {
		r.Tables = append(r.Tables, dataTable(f))
	}
}

func conditionColumns() []Column {
	return []Column{
		{"workload", "Workload", FormatText}, {"size", "Size", FormatText},
		{"workers", "Workers", FormatCount}, {"nodes", "Nodes", FormatCount}, {"threads", "Threads each", FormatCount},
	}
}

// paramsColumn is wide, so it is the last one.
func paramsColumn() Column { return Column{"params", "Parameters", FormatText} }

func (c Condition) values() []any {
	return []any{c.Workload, c.Size, c.Workers, c.Nodes, c.Threads}
}

func ends(iv *stats.Interval) (lo, hi, method any) {
	if iv == nil {
		return nil, nil, "not enough repetitions"
	}
	return iv.Lo, iv.Hi, string(iv.Method)
}

func (b *builder) cellTable() Table {
	t := Table{ID: TableCells, Title: "Makespans of every cell", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"n", "n", FormatCount}, Column{"failed", "Without result", FormatCount},
		Column{"geomean_s", "Geom. mean (s)", FormatSeconds}, Column{"lo_s", "95 % from (s)", FormatSeconds}, Column{"hi_s", "to (s)", FormatSeconds},
		Column{"interval", "Interval by", FormatText},
		Column{"median_s", "Median (s)", FormatSeconds}, Column{"mean_s", "Mean (s)", FormatSeconds},
		Column{"min_s", "Min (s)", FormatSeconds}, Column{"max_s", "Max (s)", FormatSeconds},
		Column{"tasks", "Tasks", FormatCount}, Column{"tasks_per_s", "Tasks/s", FormatCount},
		Column{"utilization", "Workers busy (%)", FormatPercent}, Column{"bytes_moved", "Moved (MiB)", FormatBytes},
		Column{"worker_peak_bytes", "Worker's peak (MiB)", FormatBytes}, Column{"client_peak_bytes", "Client's peak (MiB)", FormatBytes}, paramsColumn(),
	)}
	for _, c := range b.cells {
		lo, hi, method := ends(c.Interval)
		var rate any
		if c.Tasks != nil && c.Mean != nil {
			rate = *c.Tasks / *c.Mean // all tasks over all time: the mean of a rate is the harmonic one
		}
		t.add(append(c.Condition.values(), c.Series, c.N, c.Failed, c.GeoMean, lo, hi, method, c.Median, c.Mean, c.Min, c.Max, c.Tasks, rate, c.Utilization, c.BytesMoved, c.WorkerPeak, c.ClientPeak, c.Params)...)
	}
	return t
}

func (b *builder) ratioTable() Table {
	t := Table{ID: TableRatios, Title: "Makespans relative to the baselines", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"baseline", "Baseline", FormatText},
		Column{"ratio", "Ratio", FormatRatio}, Column{"lo", "95 % from", FormatRatio}, Column{"hi", "to", FormatRatio},
		Column{"interval", "Interval by", FormatText}, Column{"verdict", "Verdict", FormatText}, Column{"n", "n", FormatCount},
		Column{"series_s", "Series (s)", FormatSeconds}, Column{"baseline_s", "Baseline (s)", FormatSeconds}, paramsColumn(),
	), Note: "A ratio below 1 is faster than the baseline. The two times are geometric means of the repetitions compared; the ratio is their quotient."}
	for _, r := range b.ratios {
		lo, hi, method := ends(r.Interval)
		t.add(append(r.Condition.values(), r.Series, r.Baseline, r.Value, lo, hi, method, string(r.Verdict), r.N, r.SeriesS, r.BaselineS, r.Params)...)
	}
	return t
}

func (b *builder) speedupTable() Table {
	t := Table{ID: TableSpeedup, Title: "Speedup over the number of workers", Columns: []Column{
		{"workload", "Workload", FormatText}, {"size", "Size", FormatText}, {"series", "Series", FormatText},
		{"workers", "Workers", FormatCount}, {"time_s", "Makespan (s)", FormatSeconds}, {"base_workers", "Base workers", FormatCount}, {"base_s", "Base (s)", FormatSeconds},
		{"speedup", "Speedup", FormatRatio}, {"lo", "95 % from", FormatRatio}, {"hi", "to", FormatRatio}, {"efficiency", "Efficiency (%)", FormatPercent}, {"n", "n", FormatCount}, paramsColumn(),
	}, Note: "The base of each series is its own time on its fewest workers. Efficiency is speedup over the growth in workers."}
	for _, s := range b.scaling() {
		base := s.points[0]
		for _, p := range s.points {
			lo, hi, _ := ends(p.gain)
			t.add(s.Workload, s.Size, s.series.Name, p.workers, p.time, base.workers, base.time, p.speedup, lo, hi,
				p.speedup*float64(base.workers)/float64(p.workers), p.n, s.Params)
		}
	}
	return t
}

func (b *builder) decisionTable() Table {
	t := Table{ID: TableDecisions, Title: "Decisions", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"decisions", "Decisions", FormatCount}, Column{"fallbacks", "Fallbacks", FormatCount},
		Column{"hint", "Ahead of time", FormatCount}, Column{"next", "For a free slot", FormatCount}, Column{"ask", "Asked", FormatCount},
		Column{"p50_us", "p50 (µs)", FormatMicros}, Column{"p95_us", "p95 (µs)", FormatMicros}, Column{"p99_us", "p99 (µs)", FormatMicros}, Column{"max_us", "Max (µs)", FormatMicros},
		Column{"hit_p50_us", "Not asked p50 (µs)", FormatMicros}, Column{"hit_p99_us", "Not asked p99 (µs)", FormatMicros},
		Column{"ask_p50_us", "Asked p50 (µs)", FormatMicros}, Column{"ask_p99_us", "Asked p99 (µs)", FormatMicros},
		Column{"scheduler_cpu_s", "Dask scheduler CPU (s)", FormatSeconds}, Column{"service_cpu_s", "esched CPU (s)", FormatSeconds}, paramsColumn(),
	), Note: "Decisions are summed over the trials of a cell; quantiles and CPU times are medians over its trials, Max is the largest. Asked are waits for esched, also those for the next tasks of free slots."}
	for _, c := range b.cells {
		if c.Decisions+c.Fallbacks == 0 {
			continue
		}
		sources := make(map[string]int)
		var highest *float64
		for _, rec := range c.records {
			for k, n := range rec.DecisionSources {
				sources[k] += n
			}
			if q := rec.DecisionUS; q != nil && (highest == nil || q.Max > *highest) {
				highest = new(q.Max)
			}
		}
		quantile := func(of func(r *record.Record) *record.Quantiles, get func(q *record.Quantiles) float64) *float64 {
			return medianOf(c, func(i int) *float64 {
				if q := of(c.records[i]); q != nil {
					return new(get(q))
				}
				return nil
			})
		}
		cpu := func(get func(r *record.Record) float64) *float64 {
			return medianOf(c, func(i int) *float64 {
				if v := get(c.records[i]); v > 0 {
					return new(v)
				}
				return nil
			})
		}
		t.add(append(c.Condition.values(), c.Series, c.Decisions, c.Fallbacks, sources["hint"], sources["next"], sources["ask"],
			quantile(decisionUS, p50), quantile(decisionUS, p95), quantile(decisionUS, p99), highest,
			quantile(hitUS, p50), quantile(hitUS, p99), quantile(askUS, p50), quantile(askUS, p99),
			cpu(func(r *record.Record) float64 { return r.SchedulerCPUS }), cpu(func(r *record.Record) float64 { return r.ServiceCPUS }), c.Params)...)
	}
	return t
}

func decisionUS(r *record.Record) *record.Quantiles { return r.DecisionUS }
func hitUS(r *record.Record) *record.Quantiles      { return r.HitUS }
func askUS(r *record.Record) *record.Quantiles      { return r.AskUS }

func p50(q *record.Quantiles) float64 { return q.P50 }
func p95(q *record.Quantiles) float64 { return q.P95 }
func p99(q *record.Quantiles) float64 { return q.P99 }

func (b *builder) trialTable(id, title string, records []*record.Record) Table {
	t := Table{ID: id, Title: title, Columns: []Column{
		{"order", "#", FormatCount}, {"status", "Status", FormatText}, {"workload", "Workload", FormatText}, {"size", "Size", FormatText},
		{"series", "Series", FormatText}, {"nodes", "Nodes", FormatCount}, {"workers", "Workers", FormatCount}, {"repetition", "Rep.", FormatCount},
		{"makespan_s", "Makespan (s)", FormatSeconds}, {"tasks", "Tasks", FormatCount}, {"decisions", "Decisions", FormatCount}, {"fallbacks", "Fallbacks", FormatCount},
		{"p50_us", "p50 (µs)", FormatMicros}, {"p99_us", "p99 (µs)", FormatMicros}, {"trial", "Trial", FormatText}, {"run", "Run", FormatText}, {"error", "Error", FormatText},
	}}
	for _, rec := range records {
		var makespan, p50, p99 any
		if rec.Status == record.StatusOK {
			makespan = rec.MakespanS
		}
		if q := rec.DecisionUS; q != nil {
			p50, p99 = q.P50, q.P99
		}
		series := rec.Series()
		if i, ok := b.seriesOf[identity(rec.Trial)]; ok {
			series = b.series[i].Name
		}
		run := b.runs[b.runOf[rec]]
		t.add(rec.Order, string(rec.Status), rec.Workload, rec.Size, series, rec.Nodes, rec.Workers, rec.Repetition,
			makespan, rec.Tasks, rec.Decisions, rec.Fallbacks, p50, p99, rec.ID, cmp.Or(run.Manifest.ID, run.Dir), cmp.Or(rec.Error, rec.Disturbed))
	}
	return t
}

// workerMemory tells the limit of workers' memory as the workers had it, the
// least of several.
func workerMemory(rec *record.Record) string {
	var least int64
	for _, w := range rec.PerWorker {
		if w.LimitBytes > 0 && (least == 0 || w.LimitBytes < least) {
			least = w.LimitBytes
		}
	}
	if least == 0 {
		return ""
	}
	return memory(least) + " a worker"
}

// detail is what a row of the table of trials opens: pairs of a name and a
// value in words.
type detail struct {
	Facts   [][2]string
	Workers [][3]string // name, tasks, busy seconds
}

func newDetail(rec *record.Record) detail {
	var d detail
	add := func(name, value string) {
		if value != "" {
			d.Facts = append(d.Facts, [2]string{name, value})
		}
	}
	add("Error", rec.Error)
	for i, a := range rec.Attempts {
		add(fmt.Sprintf("Attempt %d", i+1), fmt.Sprintf("%s after %s s: %s", a.Status, number(FormatSeconds, a.RunS), a.Error))
	}
	add("Parameters", rec.ParamString())
	add("Settings", settings(rec.Trial))
	add("Environment", rec.Environment)
	add("Memory limit", workerMemory(rec))
	add("Hosts", strings.Join(rec.Hosts, ", "))
	if !rec.Started.IsZero() {
		add("Started", rec.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add("Clocks", fmt.Sprintf("submit %s s, run %s s", number(FormatSeconds, rec.SubmitS), number(FormatSeconds, rec.RunS)))
	add("Deployment", fmt.Sprintf("queue %s s, deploy %s s, warm-up %s s", number(FormatSeconds, rec.QueueS), number(FormatSeconds, rec.DeployS), number(FormatSeconds, rec.WarmupS)))
	add("Result", rec.Result)
	add("Result digest", rec.ResultDigest)
	for _, w := range rec.PerWorker {
		d.Workers = append(d.Workers, [3]string{w.Worker, count(w.Tasks), number(FormatSeconds, w.BusyS)})
	}
	return d
}

func (b *builder) seriesTable() Table {
	t := Table{ID: TableSeries, Title: "Series", Columns: []Column{
		{"series", "Series", FormatText}, {"kind", "Kind", FormatText}, {"policy", "Policy", FormatText}, {"role", "Role", FormatText},
		{"environment", "Environment", FormatText}, {"settings", "Settings beyond the defaults", FormatText},
	}}
	for i, s := range b.series {
		role := "external"
		if s.Baseline {
			role = "baseline"
			if i == b.mainBaseline() {
				role = "main baseline"
			}
		}
		t.add(s.Name, s.Kind, s.Policy, role, s.Environment, s.Settings)
	}
	return t
}
