package report

import (
	"fmt"

	"github.com/esched/esched/report/charts"
)

// heatColumns bounds the columns of the heat map.
const heatColumns = 8

// heatFigure shows all ratios to the main baseline at a glance: conditions by
// series.
func (b *builder) heatFigure() *charts.Figure {
	f := &charts.Figure{ID: "heat", X: charts.Axis{Name: "scheduler and policy"}, Y: charts.Axis{Name: "workload"}, Base: "in the table of ratios"}
	column, row := make(map[int]int), make(map[int]int)
	marks := make([]charts.Mark, charts.Shades)
	left, undecided := 0, 0
	for _, r := range b.ratios {
		if r.baseline != b.mainBaseline() || !b.shows(r.series) {
			continue
		}
		x, ok := column[r.series]
		if !ok && len(column) == heatColumns {
			left++
			continue
		}
		y, there := row[r.condition]
		if !there && len(row) == maxRows {
			left++
			continue
		}
		if !ok {
			x = len(column)
			column[r.series] = x
			f.X.Categories = append(f.X.Categories, r.Series)
		}
		if !there {
			y = len(row)
			row[r.condition] = y
			f.Y.Categories = append(f.Y.Categories, fmt.Sprintf("%s %s, %s", r.Workload, r.Size, plural(r.Workers, "worker")))
		}
		shade := shadeOf(r.Value)
		label := number(FormatRatio, r.Value)
		if r.Verdict == "undecided" {
			label = "(" + label + ")"
			undecided++
		}
		f.N += r.N
		marks[shade].Series, marks[shade].Color, marks[shade].Shape = shadeNames[shade], charts.Shade(shade), charts.Cells
		marks[shade].Point = append(marks[shade].Point, charts.Point{X: float64(x), Y: float64(y), Label: label,
			Name: fmt.Sprintf("%s, %s: %s%s, %s s vs %s s", r.Series, r.what(), number(FormatRatio, r.Value), interval(r.Interval, FormatRatio), number(FormatSeconds, r.SeriesS), number(FormatSeconds, r.BaselineS))})
	}
	if len(column) < 2 || len(row) < 2 {
		return nil
	}
	cells := 0
	for _, m := range marks {
		if len(m.Point) > 0 {
			f.Marks = append(f.Marks, m)
			cells += len(m.Point)
		}
	}
	base := b.series[b.mainBaseline()].Name
	f.Title = fmt.Sprintf("Makespans relative to %s in %d cells; %d are undecided", base, cells, undecided)
	f.Aid = fmt.Sprintf("Below 1 is faster than %s. In parentheses: the 95 %% interval holds 1, or there is none.", base)
	if left > 0 {
		f.Aid += fmt.Sprintf(" %s more are in the table of ratios.", count(left))
	}
	f.Alt = fmt.Sprintf("Grid of %d workloads by %d series with the ratio to %s in each field. %s.", len(row), len(column), base, f.Title)
	return f
}

// shades are the upper ends of the steps of the heat map.
var shades = [...]float64{0.67, 0.83, 0.95, 1.05, 1.2, 1.5}

var shadeNames = [...]string{"below 0.67", "0.67 to 0.83", "0.83 to 0.95", "0.95 to 1.05", "1.05 to 1.2", "1.2 to 1.5", "above 1.5"}

func shadeOf(ratio float64) int {
	for i, end := range shades {
		if ratio < end {
			return i
		}
	}
	return len(shades)
}
