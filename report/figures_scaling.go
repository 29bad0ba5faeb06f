package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/stats"
)

// scalingFigures shows makespan and speedup over workers for the largest size
// of a workload that ran on several numbers of them.
func (b *builder) scalingFigures(workload string) []*charts.Figure {
	var chosen []scaled
	for _, s := range b.scaling() { // sizes ascend
		if s.Workload != workload {
			continue
		}
		if len(chosen) > 0 && (chosen[0].Size != s.Size || chosen[0].Params != s.Params || chosen[0].condition.Threads != s.condition.Threads) {
			chosen = nil
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil
	}
	counts := workerCounts(chosen)
	ticks := make([]float64, len(counts))
	for i, n := range counts {
		ticks[i] = float64(n)
	}
	x := charts.Axis{Name: "workers", Max: charts.NiceMax(ticks[len(ticks)-1]), Ticks: ticks}
	times := &charts.Figure{ID: slug("workers", workload), X: x, Y: charts.Axis{Name: "makespan (s)"}}
	gains := &charts.Figure{ID: slug("speedup", workload), X: x, Y: charts.Axis{Name: "speedup (times)"}}
	slowest, most := 0.0, 1.0
	var best *scaled
	for i, s := range chosen {
		timeMark := charts.Mark{Series: s.series.Name, Color: s.index, Shape: charts.Line}
		gainMark := timeMark
		for _, p := range s.points {
			w := float64(p.workers)
			timeMark.Point = append(timeMark.Point, point(w, p.time, p.interval, fmt.Sprintf("%s, %s: %s s%s, n = %d", s.series.Name, plural(p.workers, "worker"), number(FormatSeconds, p.time), interval(p.interval, FormatSeconds), p.n)))
			gainMark.Point = append(gainMark.Point, point(w, p.speedup, p.gain, fmt.Sprintf("%s, %s: %s times%s, n = %d", s.series.Name, plural(p.workers, "worker"), number(FormatRatio, p.speedup), interval(p.gain, FormatRatio), p.n)))
			times.N += p.n
			gains.N += p.n
			slowest = max(slowest, p.time, hi(p.interval, 2*p.time))
			most = max(most, p.speedup, hi(p.gain, 2*p.speedup))
		}
		times.Marks, gains.Marks = append(times.Marks, timeMark), append(gains.Marks, gainMark)
		if last := s.points[len(s.points)-1]; best == nil || last.speedup > best.points[len(best.points)-1].speedup {
			best = &chosen[i]
		}
	}
	idealTime, idealGain := idealLines(chosen[0], counts)
	times.Marks, gains.Marks = append(times.Marks, idealTime), append(gains.Marks, idealGain)
	times.Y.Max = charts.NiceMax(slowest)
	gains.Y.Max = charts.NiceMax(max(most, idealGain.Point[len(idealGain.Point)-1].Y))

	first, last := best.points[0], best.points[len(best.points)-1]
	ideal := float64(last.workers) / float64(first.workers)
	on := workload + " " + best.Size
	times.Title = fmt.Sprintf("From %s to %d, %s goes from %s s to %s s on %s", plural(first.workers, "worker"), last.workers, best.series.Name, number(FormatSeconds, first.time), number(FormatSeconds, last.time), on)
	times.Aid = fmt.Sprintf("Lower is faster. Bars are 95 %% intervals. The dashed line is ideal: the time of %s with %s, divided by the growth in workers.", chosen[0].series.Name, plural(chosen[0].points[0].workers, "worker"))
	gains.Title = fmt.Sprintf("%s gains most from more workers on %s: %s times with %d instead of %d (ideal %s)", best.series.Name, on, number(FormatRatio, last.speedup), last.workers, first.workers, number(FormatRatio, ideal))
	if len(chosen) == 1 {
		gains.Title = fmt.Sprintf("%s on %s becomes %s times as fast with %d instead of %d workers (ideal %s)", best.series.Name, on, number(FormatRatio, last.speedup), last.workers, first.workers, number(FormatRatio, ideal))
	}
	gains.Aid = "Each series is compared with itself on its fewest workers (its absolute times are in the figure before). The dashed line is ideal; bars are 95 % intervals."
	times.Alt = fmt.Sprintf("Makespan in seconds over %d numbers of workers for %d series, with an ideal line. %s.", len(counts), len(chosen), times.Title)
	gains.Alt = fmt.Sprintf("Speedup over %d numbers of workers for %d series, with an ideal line. %s.", len(counts), len(chosen), gains.Title)
	return []*charts.Figure{times, gains}
}

// idealLines returns perfect scaling from a series' first point.
func idealLines(s scaled, counts []int) (times, gains charts.Mark) {
	times = charts.Mark{Series: "ideal", Color: charts.Ideal, Shape: charts.Dashed}
	gains = times
	base := s.points[0]
	lo, hi := float64(counts[0]), float64(counts[len(counts)-1])
	const steps = 24 // 1/w is a curve
	for i := range steps + 1 {
		w := lo + (hi-lo)*float64(i)/steps
		times.Point = append(times.Point, charts.Point{X: w, Y: base.time * float64(base.workers) / w})
	}
	for _, w := range []float64{lo, hi} {
		gains.Point = append(gains.Point, charts.Point{X: w, Y: w / lo})
	}
	return times, gains
}

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

// histogram adds up the latencies of a series' decisions.
func (b *builder) histogram(series int) (buckets map[float64]int, n, trials int) {
	buckets = make(map[float64]int)
	for _, c := range b.cells {
		if c.series != series {
			continue
		}
		for _, rec := range c.records {
			if len(rec.DecisionHist) > 0 {
				trials++
			}
			for _, bucket := range rec.DecisionHist {
				if bucket.LeUS > 0 && bucket.Count > 0 && !math.IsInf(bucket.LeUS, 0) {
					buckets[bucket.LeUS] += bucket.Count
					n += bucket.Count
				}
			}
		}
	}
	return buckets, n, trials
}

func sortedFloats(m map[float64]int) []float64 {
	keys := make([]float64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// histQuantile returns the upper bound of the bucket that holds the quantile.
func histQuantile(buckets map[float64]int, n int, p float64) float64 {
	sum := 0
	for _, le := range sortedFloats(buckets) {
		if sum += buckets[le]; float64(sum) >= p*float64(n) {
			return le
		}
	}
	return math.NaN()
}

// dataTable returns the numbers behind a figure.
func dataTable(f charts.Figure) Table {
	t := Table{ID: f.Table, Title: f.Title, Columns: []Column{
		{"series", "Series", FormatText}, {"mark", "Mark", FormatText},
		axisColumn("x", f.X), axisColumn("y", f.Y),
	}}
	value := axisColumn("", f.Y)
	if len(f.Y.Categories) > 0 {
		value = axisColumn("", f.X)
	}
	t.Columns = append(t.Columns, Column{"lo", "Interval from", value.Format}, Column{"hi", "to", value.Format})
	marks := map[charts.Shape]string{charts.Dots: "mean", charts.Line: "mean", charts.Raw: "single", charts.Steps: "cumulative", charts.Dashed: "ideal"}
	for _, m := range f.Marks {
		for _, p := range m.Point {
			t.add(m.Series, marks[m.Shape], place(f.X, p.X), place(f.Y, p.Y), p.Lo, p.Hi)
		}
	}
	if !slices.ContainsFunc(f.Marks, func(m charts.Mark) bool {
		return slices.ContainsFunc(m.Point, func(p charts.Point) bool { return p.Lo != nil })
	}) {
		t.Columns = t.Columns[:4]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:4]
		}
	}
	return t
}

func axisColumn(key string, a charts.Axis) Column {
	switch {
	case len(a.Categories) > 0:
		return Column{key, a.Name, FormatText}
	case a.Percent:
		return Column{key, a.Name, FormatPercent}
	}
	return Column{key, a.Name, FormatSeconds}
}

func place(a charts.Axis, v float64) any {
	if i := int(v); len(a.Categories) > 0 && i >= 0 && i < len(a.Categories) {
		return a.Categories[i]
	}
	return v
}

// medianOf is the median of what get returns for the trials that have it.
func medianOf(c *Cell, get func(i int) *float64) *float64 {
	var x []float64
	for i := range c.records {
		if v := get(i); v != nil {
			x = append(x, *v)
		}
	}
	if len(x) == 0 {
		return nil
	}
	return new(stats.Median(x))
}
