package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/stats"
)

// maxRows is the number of rows from which on a figure leaves sizes out, the
// smallest first.
const maxRows = 36

const aidInterval = "Large symbols are geometric means with 95 % intervals, small circles single trials."

// figures returns the figures in the order of the page.
func (b *builder) figures() []charts.Figure {
	var all []charts.Figure
	if b.options.Layout == LayoutPaper {
		all = b.paperFigures()
	} else {
		all = b.usualFigures()
	}
	for i := range all {
		all[i].Table = "data-" + all[i].ID
	}
	return all
}

// lawful leaves out figures that would mislead, and says so.
func (b *builder) lawful(all []charts.Figure) []charts.Figure {
	return slices.DeleteFunc(all, func(f charts.Figure) bool {
		err := f.Lawful()
		if err != nil {
			b.careful = append(b.careful, fmt.Sprintf("The figure %s was left out: %s.", f.ID, strings.ReplaceAll(err.Error(), "\n", ", ")))
		}
		return err != nil
	})
}

func (b *builder) usualFigures() []charts.Figure {
	var all []charts.Figure
	group := func(name string, fs ...*charts.Figure) {
		for _, f := range fs {
			if f != nil {
				f.Group = name
				all = append(all, *f)
			}
		}
	}
	group("All workloads", b.heatFigure())
	for _, workload := range b.workloads() {
		panel := b.panel(workload)
		if len(panel) == 0 {
			continue
		}
		group(workload, b.makespanFigure(workload, panel), b.ratioFigure(workload, panel))
		group(workload, b.scalingFigures(workload)...)
		group(workload, b.utilizationFigure(workload, panel[len(panel)-1]))
	}
	group("Tasks", b.timelineFigures()...)
	group("Decisions", b.latencyFigure(), b.overheadFigure())
	group("Time", b.clockFigure())
	return all
}

func (b *builder) workloads() []string {
	var names []string
	for _, c := range b.conditions {
		if !slices.Contains(names, c.Workload) {
			names = append(names, c.Workload)
		}
	}
	return names
}

// panel returns the conditions of a workload on its largest deployment that
// has results, small sizes first: what a figure over sizes shows.
func (b *builder) panel(workload string) []int {
	var large *Condition
	for _, c := range b.cells {
		if c.Workload != workload || c.GeoMean == nil {
			continue
		}
		if large == nil || cmp.Or(cmp.Compare(c.Workers, large.Workers), cmp.Compare(c.Nodes, large.Nodes), cmp.Compare(c.Threads, large.Threads)) > 0 {
			large = &c.Condition
		}
	}
	if large == nil {
		return nil
	}
	var panel []int
	for _, c := range b.cells {
		if c.Workload == workload && c.Workers == large.Workers && c.Nodes == large.Nodes && c.Threads == large.Threads &&
			c.GeoMean != nil && !slices.Contains(panel, c.condition) {
			panel = append(panel, c.condition)
		}
	}
	return panel
}

// slug makes an element's ID.
func slug(words ...string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, strings.Join(words, "-")), "-")
}

// sizeAxis returns the axis for the sizes of a panel and each size's place on
// it: to scale when all are numbers of the same thing, categories otherwise.
func (b *builder) sizeAxis(panel []int) (charts.Axis, []float64) {
	places := make([]float64, len(panel))
	axis := charts.Axis{Name: "workload size"}
	unit, toScale := "", true
	for i, c := range panel {
		n, u, ok := sizeNumber(b.conditions[c].Size)
		if i == 0 {
			unit = u
		}
		toScale = toScale && ok && u == unit && n >= 0 && !slices.Contains(places[:i], n)
		places[i] = n
	}
	// Sizes that differ by orders of magnitude would stand on one spot.
	if toScale && places[len(places)-1] <= 50*places[0] {
		axis.Name = strings.TrimSpace("workload size (" + cmp.Or(unit, "as given") + ")")
		axis.Max = charts.NiceMax(places[len(places)-1])
		return axis, places
	}
	axis.Name = "workload size (not to scale)"
	for i, c := range panel {
		places[i] = float64(i)
		label := b.conditions[c].Size
		for j, o := range panel {
			if j != i && b.conditions[o].Size == label {
				label += " (" + b.conditions[c].Params + ")"
				break
			}
		}
		axis.Categories = append(axis.Categories, label)
	}
	return axis, places
}

// makespanFigure shows makespans per series: over sizes, or as rows when there
// is one size only.
func (b *builder) makespanFigure(workload string, panel []int) *charts.Figure {
	on := plural(b.conditions[panel[0]].Workers, "worker")
	f := &charts.Figure{ID: slug("makespan", workload), Title: b.makespanFinding(workload, panel)}
	highest := 0.0
	x, places := b.sizeAxis(panel)
	rows := len(panel) == 1
	for s, series := range b.series {
		if !b.shows(s) {
			continue
		}
		mark := charts.Mark{Series: series.Name, Color: s, Shape: charts.Line}
		raw := charts.Mark{Series: series.Name, Color: s, Shape: charts.Raw}
		for i, condition := range panel {
			c := b.cell(condition, s)
			if c == nil || c.GeoMean == nil {
				continue
			}
			f.N += c.N
			p := point(places[i], *c.GeoMean, c.Interval, fmt.Sprintf("%s, %s: %s s%s, n = %d", c.Series, c.Size, number(FormatSeconds, *c.GeoMean), interval(c.Interval, FormatSeconds), c.N))
			highest = max(highest, *c.GeoMean, *c.Max, hi(c.Interval, 3**c.Max))
			times := c.times()
			if rows {
				row := float64(len(f.Y.Categories))
				f.Y.Categories = append(f.Y.Categories, c.Series)
				p.X, p.Y = *c.GeoMean, row
				p.Label = number(FormatSeconds, *c.GeoMean) + " s" + interval(c.Interval, FormatSeconds)
				for _, t := range times {
					raw.Point = append(raw.Point, charts.Point{X: t, Y: row, Name: number(FormatSeconds, t) + " s"})
				}
			} else {
				for _, t := range times {
					raw.Point = append(raw.Point, charts.Point{X: places[i], Y: t, Name: number(FormatSeconds, t) + " s"})
				}
			}
			mark.Point = append(mark.Point, p)
		}
		if rows {
			mark.Shape = charts.Dots
		}
		if len(mark.Point) > 0 {
			f.Marks = append(f.Marks, raw, mark)
		}
	}
	makespan := charts.Axis{Name: "makespan (s)", Max: charts.NiceMax(highest)}
	if rows {
		f.X = makespan
		f.Y.Name = "scheduler and policy"
		f.Aid = "Further left is faster. " + aidInterval
	} else {
		f.X, f.Y = x, makespan
		f.Aid = "Lower is faster; lines join sizes of one series. " + aidInterval
		if x.Categories == nil {
			f.Aid += " Series stand a little beside one another."
		}
	}
	f.Alt = fmt.Sprintf("Makespan in seconds of %s with %s for %d series. %s.", workload, on, len(f.Marks)/2, f.Title)
	return f
}

// shows tells whether a figure is about a series.
func (b *builder) shows(series int) bool { return b.shown == nil || b.shown(series) }

func point(x, y float64, iv *stats.Interval, name string) charts.Point {
	p := charts.Point{X: x, Y: y, Name: name}
	if iv != nil {
		p.Lo, p.Hi = new(iv.Lo), new(iv.Hi)
	}
	return p
}

// hi is the upper end of an interval, at most limit: an interval of three
// scattered values may be so wide that nothing else could be seen.
func hi(iv *stats.Interval, limit float64) float64 {
	if iv == nil {
		return 0
	}
	return min(iv.Hi, limit)
}

// ratioFigure shows what external scheduling costs or gains against the main
// baseline, with the absolute times beside.
func (b *builder) ratioFigure(workload string, panel []int) *charts.Figure {
	var rows []Ratio
	for _, condition := range panel {
		for _, r := range b.ratios {
			if r.condition == condition && r.baseline == b.mainBaseline() {
				rows = append(rows, r)
			}
		}
	}
	all := len(rows)
	for len(rows) > maxRows && rows[0].condition != rows[len(rows)-1].condition {
		first := rows[0].condition
		rows = slices.DeleteFunc(rows, func(r Ratio) bool { return r.condition == first })
	}
	if len(rows) == 0 {
		return nil
	}
	f := &charts.Figure{ID: slug("ratio", workload), Parity: new(1.0), Base: "beside each ratio, and in its data"}
	f.X.Name = "makespan relative to " + rows[0].Baseline + " (ratio)"
	f.Y.Name = "scheduler and policy"
	highest := 1.0
	marks := make(map[int]*charts.Mark)
	for i, r := range rows {
		label := r.Series
		if len(panel) > 1 {
			label = r.Size + " · " + r.Series
		}
		f.Y.Categories = append(f.Y.Categories, label)
		times := fmt.Sprintf("%s s vs %s s", number(FormatSeconds, r.SeriesS), number(FormatSeconds, r.BaselineS))
		p := point(r.Value, float64(i), r.Interval, fmt.Sprintf("%s, %s: %s%s, %s, n = %d", r.Series, r.Size, number(FormatRatio, r.Value), interval(r.Interval, FormatRatio), times, r.N))
		p.Label = number(FormatRatio, r.Value) + interval(r.Interval, FormatRatio) + "\n" + times
		f.N += r.N
		highest = max(highest, r.Value, hi(r.Interval, 3*r.Value))
		if marks[r.series] == nil {
			marks[r.series] = &charts.Mark{Series: r.Series, Color: r.series, Shape: charts.Dots}
		}
		marks[r.series].Point = append(marks[r.series].Point, p)
	}
	for s := range b.series {
		if marks[s] != nil {
			f.Marks = append(f.Marks, *marks[s])
		}
	}
	f.X.Max = charts.NiceMax(highest * 1.05)
	f.Title = ratioFinding(workload, b.conditions[panel[0]], rows)
	f.Aid = fmt.Sprintf("Left of the line at 1 is faster than %s. Bars are 95 %% intervals; one that crosses the line is undecided. Beside, where there is room, and in the data: the ratio and the two times it is made of.", rows[0].Baseline)
	if len(rows) < all {
		f.Aid += " The smallest sizes are only in the tables."
	}
	f.Alt = fmt.Sprintf("Ratio of makespans to %s with 95 %% intervals, %s. %s.", rows[0].Baseline, plural(len(rows), "row"), f.Title)
	return f
}

func ratioFinding(workload string, c Condition, rows []Ratio) string {
	lo, hi := rows[0], rows[0]
	faster, slower, intervals := 0, 0, 0
	for _, r := range rows {
		if r.Interval != nil {
			intervals++
		}
		if r.Value < lo.Value {
			lo = r
		}
		if r.Value > hi.Value {
			hi = r
		}
		switch r.Verdict {
		case stats.Faster:
			faster++
		case stats.Slower:
			slower++
		}
	}
	on := workload + " with " + plural(c.Workers, "worker")
	switch {
	case len(rows) == 1:
		return fmt.Sprintf("%s takes %s times %s on %s %s with %s", lo.Series, number(FormatRatio, lo.Value), lo.Baseline, workload, lo.Size, plural(c.Workers, "worker"))
	case intervals == 0:
		return fmt.Sprintf("%s to %s times %s on %s, with too few repetitions to decide", number(FormatRatio, lo.Value), number(FormatRatio, hi.Value), lo.Baseline, on)
	case faster == len(rows):
		return fmt.Sprintf("All %d are faster than %s on %s: %s to %s of its makespan", len(rows), lo.Baseline, on, number(FormatRatio, lo.Value), number(FormatRatio, hi.Value))
	case slower == len(rows):
		return fmt.Sprintf("All %d are slower than %s on %s: %s to %s times its makespan", len(rows), lo.Baseline, on, number(FormatRatio, lo.Value), number(FormatRatio, hi.Value))
	}
	return fmt.Sprintf("Against %s on %s: %d faster, %d slower, %d undecided", lo.Baseline, on, faster, slower, len(rows)-faster-slower)
}
