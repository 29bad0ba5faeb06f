package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/stats"
)

const (
	// maxBars bounds the bars of a Gantt chart: more could not be told apart,
	// and would be most of the page.
	maxBars = 1000
	// maxLanes bounds its rows.
	maxLanes = 32
	// maxGantts is how many trials have one.
	maxGantts = 2
	// busyBins is the resolution of the utilization over time.
	busyBins = 80
	// slowdownPoints is the resolution of the distribution of slowdowns.
	slowdownPoints = 100
)

// timelineFigures shows what the times of tasks tell, of the main condition.
func (b *builder) timelineFigures() []*charts.Figure {
	all := b.tracedSeries("")
	if len(all) == 0 {
		return nil
	}
	figures := []*charts.Figure{b.busyFigure(all), b.slowdownFigure(all)}
	shown := []*traced{all[0]}
	best := all[0]
	for _, t := range all[1:] {
		if best == all[0] || *t.cell.GeoMean < *best.cell.GeoMean {
			best = t
		}
	}
	if best != all[0] {
		shown = append(shown, best)
	}
	for i, t := range shown[:min(len(shown), maxGantts)] {
		figures = append(figures, ganttFigure(t, i+1))
	}
	return figures
}

// busyFigure shows how many threads were busy over time.
func (b *builder) busyFigure(all []*traced) *charts.Figure {
	f := &charts.Figure{ID: "busy", X: charts.Axis{Name: "time since the first task (s)"}, Y: charts.Axis{Name: "threads busy (%)", Max: 1, Percent: true}, N: len(all)}
	sampled := false
	lowest, highest := all[0], all[0]
	share := make(map[*traced]float64)
	for _, t := range all {
		f.X.Max = max(f.X.Max, charts.NiceMax(t.end()))
		mark := charts.Mark{Series: t.cell.Series, Color: t.cell.series, Shape: charts.Steps}
		width := t.end() / busyBins
		for i, v := range t.busy(busyBins) {
			mark.Point = append(mark.Point, charts.Point{X: float64(i) * width, Y: v})
			share[t] += v / busyBins
		}
		mark.Point = append(mark.Point, charts.Point{X: t.end(), Y: 0})
		f.Marks = append(f.Marks, mark)
		sampled = sampled || t.Every > 1
		if share[t] < share[lowest] {
			lowest = t
		}
		if share[t] > share[highest] {
			highest = t
		}
	}
	c := all[0].cell.Condition
	f.Title = fmt.Sprintf("Over one trial, %s kept %s %% of the threads busy on %s", highest.cell.Series, number(FormatPercent, share[highest]), c.what())
	if lowest != highest {
		f.Title += fmt.Sprintf(", %s %s %%", lowest.cell.Series, number(FormatPercent, share[lowest]))
	}
	f.Aid = fmt.Sprintf("Share of all threads that executed a task, in %d intervals of each trial; fetching data does not count.", busyBins)
	if sampled {
		f.Aid += " Where only every so many tasks were noted, it is an estimate."
	}
	f.Alt = fmt.Sprintf("Threads busy over time for %d series. %s.", len(all), f.Title)
	return f
}

// busy returns the share of threads that executed tasks in each of n
// intervals.
func (t *traced) busy(n int) []float64 {
	bins := make([]float64, n)
	width := t.end() / float64(n)
	if !(width > 0) {
		return bins
	}
	threads := float64(max(t.cell.Threads, 1) * max(t.cell.Workers, len(t.Workers)))
	for _, s := range t.Spans {
		for i := max(int(s.From/width), 0); i < n && float64(i)*width < s.To; i++ {
			bins[i] += max(0, min(s.To, float64(i+1)*width)-max(s.From, float64(i)*width))
		}
	}
	for i := range bins {
		bins[i] = min(1, bins[i]*float64(t.Every)/(width*threads))
	}
	return bins
}

// slowdownFigure shows how much longer tasks took than they executed.
func (b *builder) slowdownFigure(all []*traced) *charts.Figure {
	f := &charts.Figure{
		ID: "slowdown", X: charts.Axis{Name: "task slowdown (times its execution, log axis)", Log: true, Min: 1, Max: 10},
		Y: charts.Axis{Name: "tasks at most as slow (%)", Max: 1, Percent: true},
	}
	var best *traced
	var least float64
	for _, t := range all {
		var x []float64
		for _, s := range t.Spans {
			if s.To > s.From {
				x = append(x, max(1, (s.To-min(s.Ready, s.From))/(s.To-s.From)))
			}
		}
		if len(x) == 0 {
			continue
		}
		slices.Sort(x)
		mark := charts.Mark{Series: t.cell.Series, Color: t.cell.series, Shape: charts.Steps}
		points := min(slowdownPoints, len(x))
		for i := 1; i <= points; i++ {
			at := (i*len(x)+points-1)/points - 1
			mark.Point = append(mark.Point, charts.Point{X: x[at], Y: float64(at+1) / float64(len(x))})
		}
		f.Marks = append(f.Marks, mark)
		f.N++
		_, top := charts.LogRange(1, x[len(x)-1])
		f.X.Max = max(f.X.Max, top)
		if m := stats.Median(x); best == nil || m < least {
			best, least = t, m
		}
	}
	if best == nil {
		return nil
	}
	f.Title = fmt.Sprintf("Half of the tasks took at most %s times their execution under %s on %s", number(FormatRatio, least), best.cell.Series, best.cell.what())
	f.Aid = "From ready (all inputs computed) to done, over the execution alone: waiting, decision, messages and fetching of inputs. A bag of tiny tasks that are ready at once has large values. Further left is better."
	f.Alt = fmt.Sprintf("Cumulative distribution of task slowdown for %d series. %s.", len(f.Marks), f.Title)
	return f
}

// ganttFigure shows which worker executed what, and when, in one trial.
func ganttFigure(t *traced, place int) *charts.Figure {
	names, rows := t.lanes()
	f := &charts.Figure{
		ID: fmt.Sprintf("gantt-%d", place), N: 1,
		X: charts.Axis{Name: "time since the first task (s)", Max: charts.NiceMax(t.end())},
		Y: charts.Axis{Name: "worker", Categories: names[:min(len(names), maxLanes)]},
	}
	order := make([]int, 0, len(t.Spans))
	for i := range t.Spans {
		if rows[i] < maxLanes {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(t.Spans[y].To-t.Spans[y].From, t.Spans[x].To-t.Spans[x].From)
	})
	order = order[:min(len(order), maxBars)]
	slices.Sort(order)
	marks := make([]charts.Mark, charts.Parts-1)
	work, drawn := 0.0, 0.0
	for _, s := range t.Spans {
		work += s.To - s.From
	}
	transfers := charts.Mark{Series: "fetching inputs", Color: charts.Part(charts.Parts - 1), Shape: charts.Thin}
	for _, i := range order {
		s := t.Spans[i]
		kind := min(s.Prefix, len(marks)-1)
		m := &marks[kind]
		name := t.Prefixes[s.Prefix]
		m.Series, m.Color, m.Shape = name, charts.Part(kind), charts.Bars
		if kind == len(marks)-1 && len(t.Prefixes) > len(marks) {
			m.Series = "other kinds"
		}
		drawn += s.To - s.From
		row := float64(rows[i])
		m.Point = append(m.Point, charts.Point{X: s.From, Y: row, To: new(s.To), Name: fmt.Sprintf("%s on %s: %s s from %s s on", name, names[rows[i]], number(FormatSeconds, s.To-s.From), number(FormatSeconds, s.From))})
		for j := 0; j+1 < len(s.Transfers) && len(transfers.Point) < maxBars/2; j += 2 {
			transfers.Point = append(transfers.Point, charts.Point{X: s.Transfers[j], Y: row, To: new(s.Transfers[j+1])})
		}
	}
	for _, m := range append(marks, transfers) {
		if len(m.Point) > 0 {
			f.Marks = append(f.Marks, m)
		}
	}
	f.Title = fmt.Sprintf("%s on %s: %s in %s s", t.cell.Series, t.cell.what(), plural(t.Tasks, "task"), number(FormatSeconds, t.record.MakespanS))
	f.Aid = ganttAid(t, len(order), len(names), drawn/math.Max(work, 1e-12))
	f.Alt = fmt.Sprintf("Gantt chart of one trial with %d rows. %s.", len(f.Y.Categories), f.Title)
	return f
}

func ganttAid(t *traced, shown, lanes int, share float64) string {
	aid := "A row is a worker (or one of its threads), a bar a task, in colours by kind; thin bars above are inputs being fetched. A bar is never thinner than half a pixel."
	if shown < t.Tasks {
		aid += fmt.Sprintf(" Of %s tasks the longest %s of those noted are drawn", count(t.Tasks), count(shown))
		if share < 0.9995 {
			aid += fmt.Sprintf(" (%s %% of their time)", number(FormatPercent, share))
		}
		aid += "."
	}
	if lanes > maxLanes {
		aid += fmt.Sprintf(" The first %d of %d rows are shown.", maxLanes, lanes)
	}
	return aid
}
