package report

import (
	"fmt"
	"math"

	"github.com/esched/esched/report/charts"
)

// utilizationFigure shows how busy each worker was under one condition.
func (b *builder) utilizationFigure(workload string, condition int) *charts.Figure {
	c := b.conditions[condition]
	f := &charts.Figure{
		ID: slug("utilization", workload),
		X:  charts.Axis{Name: "worker busy (% of makespan)", Max: 1, Percent: true},
		Y:  charts.Axis{Name: "scheduler and policy"},
	}
	var lowest, highest *Cell
	for s, series := range b.series {
		cell := b.cell(condition, s)
		if cell == nil || cell.Utilization == nil {
			continue
		}
		row := float64(len(f.Y.Categories))
		f.Y.Categories = append(f.Y.Categories, series.Name)
		f.N += cell.N
		raw := charts.Mark{Series: series.Name, Color: s, Shape: charts.Raw}
		for _, w := range cell.workers() {
			raw.Point = append(raw.Point, charts.Point{X: w.share, Y: row, Name: fmt.Sprintf("%s, worker %s: %s %%, %s tasks in a trial", series.Name, w.name, number(FormatPercent, w.share), number(FormatCount, w.tasks))})
			f.X.Max = max(f.X.Max, w.share)
		}
		mean := charts.Point{X: *cell.Utilization, Y: row, Label: number(FormatPercent, *cell.Utilization) + " %", Name: series.Name + ", all workers: " + number(FormatPercent, *cell.Utilization) + " %"}
		f.Marks = append(f.Marks, raw, charts.Mark{Series: series.Name, Color: s, Shape: charts.Dots, Point: []charts.Point{mean}})
		if lowest == nil || *cell.Utilization < *lowest.Utilization {
			lowest = cell
		}
		if highest == nil || *cell.Utilization > *highest.Utilization {
			highest = cell
		}
	}
	if lowest == nil {
		return nil
	}
	if f.X.Max > 1 {
		f.X.Max = charts.NiceMax(f.X.Max)
	}
	f.Title = fmt.Sprintf("Workers were busy between %s %% (%s) and %s %% (%s) of the time on %s", number(FormatPercent, *lowest.Utilization), lowest.Series, number(FormatPercent, *highest.Utilization), highest.Series, c.what())
	if lowest == highest {
		f.Title = fmt.Sprintf("Workers were busy %s %% of the time on %s", number(FormatPercent, *lowest.Utilization), c.what())
	}
	f.Aid = "Large symbols are all workers together, small circles single workers (mean over repetitions). Circles far apart are an uneven load."
	f.Alt = fmt.Sprintf("Share of the makespan that each worker was busy, for %d series. %s.", len(f.Y.Categories), f.Title)
	return f
}

// workerShare is one worker's part of a cell, as means over its trials.
type workerShare struct {
	name  string
	tasks float64
	share float64
}

// workers returns the workers of a cell by name. The same name on another
// deployment is the same place in it, not the same process.
func (c *Cell) workers() []workerShare {
	index := make(map[string]int)
	var all []workerShare
	var seen []float64
	for _, rec := range c.records {
		if !(rec.MakespanS > 0) {
			continue
		}
		for _, w := range rec.PerWorker {
			i, ok := index[w.Worker]
			if !ok {
				i = len(all)
				index[w.Worker] = i
				all, seen = append(all, workerShare{name: w.Worker}), append(seen, 0)
			}
			all[i].tasks += float64(w.Tasks)
			all[i].share += w.BusyS / (rec.MakespanS * float64(max(c.Threads, 1)))
			seen[i]++
		}
	}
	for i := range all {
		all[i].tasks /= seen[i]
		all[i].share /= seen[i]
	}
	return all
}

// latencyFigure shows how long decisions took, over all trials of a series.
func (b *builder) latencyFigure() *charts.Figure {
	f := &charts.Figure{
		ID: "decision-latency",
		X:  charts.Axis{Name: "decision latency (µs, log axis)", Log: true},
		Y:  charts.Axis{Name: "decisions at most as slow (%)", Max: 1, Percent: true},
	}
	lo, hi := math.Inf(1), 0.0
	all := make(map[float64]int)
	total := 0
	for s, series := range b.series {
		buckets, n, trials := b.histogram(s)
		if n == 0 {
			continue
		}
		mark := charts.Mark{Series: series.Name, Color: s, Shape: charts.Steps}
		sum := 0
		for _, le := range sortedFloats(buckets) {
			if sum += buckets[le]; buckets[le] == 0 && len(mark.Point) > 0 {
				continue
			}
			all[le] += buckets[le]
			mark.Point = append(mark.Point, charts.Point{X: le, Y: float64(sum) / float64(n)})
			lo, hi = min(lo, le), max(hi, le)
		}
		total += n
		f.N += trials
		f.Marks = append(f.Marks, mark)
	}
	if total == 0 {
		return nil
	}
	f.X.Min, f.X.Max = charts.LogRange(lo, hi)
	f.Title = fmt.Sprintf("Half of all decisions took at most %s µs, 99 %% at most %s µs", number(FormatMicros, histQuantile(all, total, 0.5)), number(FormatMicros, histQuantile(all, total, 0.99)))
	f.Aid = fmt.Sprintf("A point (x, y) says: y %% of the decisions took at most x. Further left is faster. %s, as Dask's event loop saw them.", plural(total, "decision"))
	f.Alt = fmt.Sprintf("Cumulative distribution of decision latency in microseconds for %d series. %s.", len(f.Marks), f.Title)
	return f
}
