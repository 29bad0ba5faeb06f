package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// published is a value that the lab report on an external scheduler for Dask
// (the prototype in Python) gives, with what corresponds to it here.
type published struct {
	what, where, theirs, source string
	ours                        func(b *builder) (value, under string)
}

// The sources of published values.
const (
	inText = "stated in its text"
	chart  = "read off its chart, ±3 %"
)

// labReport lists what the lab report measured.
var labReport = []published{
	{"External over Dask, largest bag of tasks (7e10 simulations)", "figure 4", "3.7 (615 s vs 165 s)", chart, func(b *builder) (string, string) { return b.overDask(true) }},
	{"External over Dask, smallest bag of tasks (1e10 simulations)", "figure 4", "1.6 (45 s vs 28 s)", chart, func(b *builder) (string, string) { return b.overDask(false) }},
	{"Slowest over fastest policy, largest bag of tasks", "figure 3", "1.1 (45 s vs 40 s)", chart, func(b *builder) (string, string) { return b.policySpread("montecarlo") }},
	{"Speedup of external scheduling from 8 to 64 workers", "figure 6", "1.27 (43.1 s to 34.0 s)", chart, (*builder).externalSpeedup},
	{"Slowest over fastest, 70 simultaneous SQL queries", "figure 7; by its text there were 10 to 50", "1.02", chart, func(b *builder) (string, string) { return b.policySpread("taxi-sql") }},
	{"Most simultaneous SQL queries without a crash", "section 5.4.2", "150 (56 s; 100 took 9 minutes, 168 crashed)", inText, (*builder).mostQueries},
	{"Pipeline (Expedia preparation)", "section 5.5", "left out", inText, (*builder).pipelineTime},
}

const publishedNote = "Published values are those of the lab report on an external scheduler for Dask (2024), on other machines and with other sizes: they are set beside ours, not compared. " +
	"Its prototype was examined later: the patch asked the external scheduler for 14 % of the placements in Monte Carlo and at most 21 % in SQL, work stealing moved tasks without asking, and in its SQL runs the policy was never switched, so that all lines of figure 7 are one policy."

// publishedTable sets the lab report's values beside those of this report.
func (b *builder) publishedTable() Table {
	t := Table{ID: TablePublished, Title: "The lab report's values beside ours", Columns: []Column{
		{"what", "What", FormatText}, {"where", "In the lab report", FormatText}, {"published", "Published there", FormatText}, {"source", "Known from", FormatText},
		{"ours", "Here", FormatText}, {"under", "Under", FormatText},
	}, Note: publishedNote}
	found := b.options.Layout == LayoutPaper
	for _, p := range labReport {
		value, under := p.ours(b)
		found = found || value != ""
		t.add(p.what, p.where, p.theirs, p.source, cmp.Or(value, "not measured"), under)
	}
	if !found {
		t.Rows = nil
	}
	return t
}

// overDask is the ratio of the sidekick's random policy (what the lab report
// used; else of its best) to the main baseline on the largest or smallest bag
// of tasks.
func (b *builder) overDask(largest bool) (value, under string) {
	panel := b.panel("montecarlo")
	if !largest {
		slices.Reverse(panel)
	}
	for _, condition := range slices.Backward(panel) {
		ratios := b.externalRatios(condition)
		if len(ratios) == 0 {
			continue
		}
		r := ratios[0]
		if i := slices.IndexFunc(ratios, func(r Ratio) bool { return b.series[r.series].Policy == "random" }); i >= 0 {
			r = ratios[i]
		}
		return fmt.Sprintf("%s%s (%s s vs %s s)", number(FormatRatio, r.Value), interval(r.Interval, FormatRatio), number(FormatSeconds, r.SeriesS), number(FormatSeconds, r.BaselineS)),
			r.Series + ", " + r.what()
	}
	return "", ""
}

// policySpread is the slowest over the fastest policy on the largest size.
func (b *builder) policySpread(workload string) (value, under string) {
	panel := b.panel(workload)
	if len(panel) == 0 {
		return "", ""
	}
	var lo, hi *Cell
	condition := panel[len(panel)-1]
	for s := range b.series {
		c := b.cell(condition, s)
		if b.series[s].Baseline || c == nil || c.GeoMean == nil {
			continue
		}
		if lo == nil || *c.GeoMean < *lo.GeoMean {
			lo = c
		}
		if hi == nil || *c.GeoMean > *hi.GeoMean {
			hi = c
		}
	}
	if lo == hi {
		return "", ""
	}
	return fmt.Sprintf("%s (%s s vs %s s)", number(FormatRatio, *hi.GeoMean / *lo.GeoMean), number(FormatSeconds, *hi.GeoMean), number(FormatSeconds, *lo.GeoMean)),
		fmt.Sprintf("%s over %s, %s", hi.Series, lo.Series, b.conditions[condition].what())
}

// externalSpeedup is the speedup of the sidekick over numbers of workers.
func (b *builder) externalSpeedup() (value, under string) {
	var best *scaled
	all := b.scaling()
	for i, s := range all {
		if s.Workload == "montecarlo" && !s.series.Baseline && (best == nil || s.series.Policy == "random" || best.series.Policy != "random") {
			best = &all[i]
		}
	}
	if best == nil {
		return "", ""
	}
	first, last := best.points[0], best.points[len(best.points)-1]
	return fmt.Sprintf("%s%s (%s s to %s s)", number(FormatRatio, last.speedup), interval(last.gain, FormatRatio), number(FormatSeconds, first.time), number(FormatSeconds, last.time)),
		fmt.Sprintf("%s, %s %s, %s to %d", best.series.Name, best.Workload, best.Size, plural(first.workers, "worker"), last.workers)
}

// mostQueries is the largest SQL size at which no trial failed.
func (b *builder) mostQueries() (value, under string) {
	most := -1.0
	for i, c := range b.conditions {
		n, unit, ok := sizeNumber(c.Size)
		failed, trials := 0, 0
		for _, cell := range b.cells {
			if cell.condition == i {
				failed, trials = failed+cell.Failed, trials+cell.N
			}
		}
		if c.Workload == "taxi-sql" && ok && failed == 0 && trials > 0 && n > most {
			most = n
			value, under = strings.TrimSpace(number(FormatCount, n)+" "+unit), fmt.Sprintf("%s without a failure", plural(trials, "trial"))
		}
	}
	return value, under
}

// pipelineTime is the baseline's time on the largest pipeline.
func (b *builder) pipelineTime() (value, under string) {
	panel := b.panel("pipeline")
	if len(panel) == 0 {
		return "", ""
	}
	condition := panel[len(panel)-1]
	for s := range b.series {
		if c := b.cell(condition, s); c != nil && c.GeoMean != nil {
			return number(FormatSeconds, *c.GeoMean) + " s" + interval(c.Interval, FormatSeconds), c.Series + ", " + c.what()
		}
	}
	return "", ""
}

// missingFigures tells which figures of the lab report have no counterpart
// here, and why.
func (b *builder) missingFigures(have func(id string) bool) []string {
	if b.options.Layout != LayoutPaper {
		return nil
	}
	var all []string
	for _, m := range []struct{ id, text string }{
		{"figure-2", "Figure 2 (utilization over time) is missing: no trial of a Monte Carlo run was traced."},
		{"figure-3", "Figure 3 (policies over sizes) is missing: no run of montecarlo has results of an external scheduler."},
		{"figure-4", "Figure 4 (external scheduling against Dask) is missing: no run of montecarlo has results of both."},
		{"figure-5", "Figures 5 and 6 (over workers) are missing: no run of montecarlo has results on two numbers of workers."},
		{"figure-7", "Figure 7 (SQL queries) is missing: no run of taxi-sql has results."},
	} {
		if !have(m.id) {
			all = append(all, m.text)
		}
	}
	return all
}
