package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/esched/esched/report/charts"
)

// paperFigures follows section 5 of the lab report: its figures 2 to 7 under
// their numbers, then what it could not show.
func (b *builder) paperFigures() []charts.Figure {
	var all []charts.Figure
	add := func(group, id, caption string, f *charts.Figure) {
		if f == nil {
			return
		}
		if id != "" {
			f.ID = id
			f.Aid = caption + " " + f.Aid
		}
		f.Group = group
		all = append(all, *f)
	}
	const bags, queries = "5.3 Monte Carlo: bags of tasks", "5.4 SQL queries"
	section := 6 // the first after the lab report's own
	b.bagFigures(func(id, caption string, f *charts.Figure) { add(bags, id, caption, f) })
	if panel := b.panel("taxi-sql"); len(panel) > 0 {
		add(queries, "figure-7", "As figure 7 of the lab report: every scheduler and policy over simultaneous queries.", b.makespanFigure("taxi-sql", panel))
		add(queries, "", "", b.ratioFigure("taxi-sql", panel))
		for _, f := range b.scalingFigures("taxi-sql") {
			add(queries, "", "", f)
		}
	}
	for _, workload := range b.workloads() {
		if workload == "montecarlo" || workload == "taxi-sql" {
			continue
		}
		panel := b.panel(workload)
		if len(panel) == 0 {
			continue
		}
		group := "5.5 Pipeline, which the lab report left out"
		if workload != "pipeline" {
			group = fmt.Sprintf("5.%d Workload %s", section, workload)
			section++
		}
		add(group, "", "", b.makespanFigure(workload, panel))
		add(group, "", "", b.ratioFigure(workload, panel))
		for _, f := range b.scalingFigures(workload) {
			add(group, "", "", f)
		}
	}
	more := fmt.Sprintf("5.%d What the lab report could not show", section)
	add(more, "", "", b.heatFigure())
	for _, f := range b.timelineFigures() {
		if f.ID != "busy" || !slices.ContainsFunc(all, func(o charts.Figure) bool { return o.ID == "figure-2" }) {
			add(more, "", "", f)
		}
	}
	add(more, "", "", b.latencyFigure())
	add(more, "", "", b.overheadFigure())
	add(more, "", "", b.clockFigure())
	b.careful = append(b.careful, b.missingFigures(func(id string) bool {
		return slices.ContainsFunc(all, func(f charts.Figure) bool { return strings.HasPrefix(f.ID, id) })
	})...)
	return all
}

// bagFigures are figures 2 to 6.
func (b *builder) bagFigures(add func(id, caption string, f *charts.Figure)) {
	const workload = "montecarlo"
	if all := b.tracedSeries(workload); len(all) > 0 {
		add("figure-2", "As figure 2 of the lab report: utilization of the whole system.", b.busyFigure(all))
	}
	panel := b.panel(workload)
	if len(panel) == 0 {
		return
	}
	external := func(s int) bool { return !b.series[s].Baseline }
	if slices.ContainsFunc(panel, func(c int) bool { return len(b.measured(c, external)) > 0 }) {
		b.shown = external
		add("figure-3", "As figure 3 of the lab report: policies over growing workloads.", b.makespanFigure(workload, panel))
		b.shown = b.overheadSeries(panel)
		add("figure-4", "As figure 4 of the lab report: Dask's own scheduler against external scheduling by the random policy (or the best, where random was not run).", b.makespanFigure(workload, panel))
		b.shown = nil
		add("ratio-montecarlo", "The ratios behind figure 4.", b.ratioFigure(workload, panel))
	}
	for i, f := range b.scalingFigures(workload) { // in pairs
		id := fmt.Sprintf("figure-%d", 5+i%2)
		caption := "As " + strings.Replace(id, "-", " ", 1) + " of the lab report: the same work on more workers."
		if i > 1 {
			id += fmt.Sprintf("-%d", i/2+1)
		}
		add(id, caption, f)
	}
}

// measured lists the series that have a time under a condition.
func (b *builder) measured(condition int, which func(series int) bool) []int {
	var all []int
	for s := range b.series {
		if c := b.cell(condition, s); c != nil && c.GeoMean != nil && which(s) {
			all = append(all, s)
		}
	}
	return all
}

// overheadSeries are the baselines and the external series that figure 4 sets
// against them.
func (b *builder) overheadSeries(panel []int) func(series int) bool {
	var random []int
	for s, series := range b.series {
		if !series.Baseline && series.Policy == "random" {
			random = append(random, s)
		}
	}
	if len(random) == 0 {
		if r := b.externalRatios(panel[len(panel)-1]); len(r) > 0 {
			random = append(random, r[0].series)
		}
	}
	return func(s int) bool { return b.series[s].Baseline || slices.Contains(random, s) }
}
