package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// comparisons are the pairs of schedulers whose times are compared.
var comparisons = [][2]string{
	{"sidekick-stock", "dask"}, {"sidekick", "dask"}, {"sidekick-stock", "dask-tuned"}, {"sidekick", "dask-tuned"}, {"dask-tuned", "dask"},
}

// tables writes what there is to say of a run.
func tables(run *record.Run, r *report.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s, Dask %s\n\n%s %s\n", run.Manifest.Name, daskVersion(run), origin(run.Manifest), circumstances(run))
	if severalPolicies(r) {
		b.WriteString(seriesTable(r))
	} else {
		b.WriteString(ratioTable(r))
	}
	b.WriteString(decisionTable(run))
	return b.String() + "\n"
}

// origin says which esched made runs, and when.
func origin(runs ...record.Manifest) string {
	var all []string
	for _, m := range runs {
		text := cmp.Or(m.Esched, "of unknown version")
		if commit, dirty := strings.CutSuffix(m.Git, "-dirty"); commit != "" && !strings.Contains(text, commit) {
			text += ", experiment of commit " + commit
			if dirty {
				text += " with changes"
			}
		}
		text = fmt.Sprintf("Made by esched %s on %s.", text, m.Started.UTC().Format(time.DateOnly))
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

func daskVersion(run *record.Run) string {
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(run.Manifest.Environments)) {
		versions = append(versions, run.Manifest.Environments[name].Packages["dask"])
	}
	return cmp.Or(strings.Join(versions, ", "), "of unknown version")
}

// circumstances says where and how often was measured, and what is missing.
func circumstances(run *record.Run) string {
	var facts []string
	for _, h := range run.Manifest.Hosts {
		facts = append(facts, fmt.Sprintf("%s, %d cores", cmp.Or(h.CPU, h.Name), h.Cores))
	}
	ok, planned, repetitions := 0, 0, 0
	for _, p := range run.Manifest.Plan {
		if !p.Warmup {
			planned++
			repetitions = max(repetitions, p.Repetition)
		}
	}
	for _, rec := range measured(run) {
		if rec.Status == record.StatusOK {
			ok++
		}
	}
	facts = append(facts, fmt.Sprintf("repetitions: %d", repetitions), fmt.Sprintf("%d of %d trials ok", ok, planned))
	return strings.Join(facts, "; ") + ". Ratios of makespans, below 1 is faster, with 95 % intervals.\n"
}

func measured(run *record.Run) []record.Record {
	return slices.DeleteFunc(slices.Clone(run.Records), func(r record.Record) bool { return r.Warmup })
}

// scheduler is the name in front of a series' policy.
func scheduler(series string) string {
	name, _, _ := strings.Cut(series, "/")
	return name
}

// ratioTable has a line for each workload.
func ratioTable(r *report.Report) string {
	head := []string{"workload", "size", "workers", "dask (s)"}
	for _, c := range comparisons {
		head = append(head, c[0]+" / "+c[1])
	}
	t := newTable(3, head...)
	for _, condition := range conditions(r) {
		line := []string{condition.Workload, condition.Size, fmt.Sprint(condition.Workers), "–"}
		for _, c := range r.Cells {
			if c.Condition == condition && c.Series == "dask" && c.GeoMean != nil {
				line[3] = digits(*c.GeoMean)
			}
		}
		for _, c := range comparisons {
			line = append(line, ratio(r, condition, c[0], c[1]))
		}
		t.add(line...)
	}
	return t.String()
}

// severalPolicies tells whether a scheduler decided by more than one policy.
func severalPolicies(r *report.Report) bool {
	seen := map[string]string{}
	for _, c := range r.Cells {
		name := scheduler(c.Series)
		if other, ok := seen[name]; ok && other != c.Series {
			return true
		}
		seen[name] = c.Series
	}
	return false
}

// seriesTable has a line for each series under each condition: its time, that
// over native Dask's, what no schedule can be faster than, and the memory it
// took.
func seriesTable(r *report.Report) string {
	t := newTable(4, "workload", "size", "workers", "series", "ok", "time (s)", "/ dask", "bound (s)", "tasks", "worker's peak (MB)", "client's peak (MB)")
	for _, c := range r.Cells {
		tasks := "–"
		if c.Tasks != nil {
			tasks = fmt.Sprintf("%.0f", *c.Tasks)
		}
		t.add(c.Workload, c.Size, fmt.Sprint(c.Workers), c.Series, fmt.Sprintf("%d of %d", c.N, c.N+c.Failed), optional(c.GeoMean, 1),
			ratioOf(r, c.Condition, c.Series), boundOf(r, c), tasks, optional(c.WorkerPeak, 1e-6), optional(c.ClientPeak, 1e-6))
	}
	return t.String()
}

// ratioOf is the ratio of a series to native Dask: "0.81 (0.78–0.84)".
func ratioOf(r *report.Report, condition report.Condition, series string) string {
	for _, x := range r.Ratios {
		if x.Condition == condition && x.Series == series && x.Baseline == "dask" {
			return fmt.Sprintf("%.2f %s", x.Value, interval(x.Interval))
		}
	}
	return "–"
}

// boundOf is the lower bound of a cell's time in seconds, from the report's
// table of bounds.
func boundOf(r *report.Report, c report.Cell) string {
	t := r.Table(report.TableBounds)
	column := func(key string) int {
		return slices.IndexFunc(t.Columns, func(c report.Column) bool { return c.Key == key })
	}
	of := map[string]any{"workload": c.Workload, "size": c.Size, "workers": c.Workers, "nodes": c.Nodes, "threads": c.Threads, "series": c.Series, "params": c.Params}
	for _, row := range t.Rows {
		same := true
		for key, v := range of {
			same = same && row[column(key)] == v
		}
		if bound, ok := row[column("bound_s")].(float64); ok && same {
			return digits(bound)
		}
	}
	return "–"
}

// optional shows a number that may be unknown, in another unit.
func optional(v *float64, factor float64) string {
	if v == nil {
		return "–"
	}
	return digits(*v * factor)
}

func conditions(r *report.Report) []report.Condition {
	var all []report.Condition
	for _, c := range r.Cells {
		if !slices.Contains(all, c.Condition) {
			all = append(all, c.Condition)
		}
	}
	return all
}

// ratio finds a comparison in the report: "0.81 (0.78–0.84)".
func ratio(r *report.Report, condition report.Condition, series, baseline string) string {
	for _, x := range r.Ratios {
		if x.Condition != condition || scheduler(x.Series) != series || x.Baseline != baseline {
			continue
		}
		return fmt.Sprintf("%.2f %s", x.Value, interval(x.Interval))
	}
	return "–"
}

func interval(i *stats.Interval) string {
	if i == nil {
		return "(too few for an interval)"
	}
	return fmt.Sprintf("(%.2f–%.2f)", i.Lo, i.Hi)
}

// decisionTable has a line for each workload under each scheduler of esched's.
func decisionTable(run *record.Run) string {
	type key struct{ workload, size, scheduler string }
	records := map[key][]record.Record{}
	for _, rec := range measured(run) {
		if rec.Status == record.StatusOK && rec.Kind == "sidekick" {
			k := key{rec.Workload, rec.Size, rec.Scheduler}
			records[k] = append(records[k], rec)
		}
	}
	if len(records) == 0 {
		return ""
	}
	t := newTable(3, "workload", "size", "scheduler", "look-ahead p50 (µs)", "p99 (µs)", "asked p50 (µs)", "asked (%)", "placements by esched (%)", "fallbacks", "esched's CPU / scheduler's (%)")
	keys := slices.SortedFunc(maps.Keys(records), func(x, y key) int {
		return cmp.Or(cmp.Compare(x.workload, y.workload), cmp.Compare(x.size, y.size), cmp.Compare(x.scheduler, y.scheduler))
	})
	for _, k := range keys {
		t.add(append([]string{k.workload, k.size, k.scheduler}, decisions(records[k])...)...)
	}
	return "\n" + t.String()
}

// decisions condenses the records of one cell.
func decisions(records []record.Record) []string {
	var p50, p99, ask, share []float64
	asked, all, fallbacks := 0, 0, 0
	for _, rec := range records {
		asked, all, fallbacks = asked+rec.DecisionSources["ask"], all+rec.Decisions, fallbacks+rec.Fallbacks
		if q := rec.HitUS; q != nil {
			p50, p99 = append(p50, q.P50), append(p99, q.P99)
		}
		if q := rec.AskUS; q != nil {
			ask = append(ask, q.P50)
		}
		if rec.SchedulerCPUS > 0 {
			share = append(share, 100*rec.ServiceCPUS/rec.SchedulerCPUS)
		}
	}
	return []string{
		digits(stats.Median(p50)), digits(stats.Median(p99)), digits(stats.Median(ask)),
		digits(100 * float64(asked) / float64(all)), placements(all, fallbacks), fmt.Sprint(fallbacks), digits(stats.Median(share)),
	}
}

// placements is the share of placements that esched decided, in per cent. It
// is rounded down: 100 means all of them.
func placements(decisions, fallbacks int) string {
	switch {
	case decisions+fallbacks == 0:
		return "–"
	case fallbacks == 0:
		return "100"
	}
	return fmt.Sprintf("%.2f", math.Floor(1e4*float64(decisions)/float64(decisions+fallbacks))/100)
}

// digits shows three digits of a number, or that there is none.
func digits(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v == 0:
		return "0"
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))), v)
}
