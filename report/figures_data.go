package report

import (
	"math"
	"slices"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/stats"
)

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
	marks := map[charts.Shape]string{charts.Dots: "mean", charts.Line: "mean", charts.Raw: "single", charts.Steps: "cumulative", charts.Dashed: "ideal", charts.Dotted: "bound",
		charts.Bars: "from", charts.Thin: "from", charts.Cells: "value"}
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
