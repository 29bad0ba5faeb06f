package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/esched/esched/report/charts"
)

// The IDs of the tables of a comparison; the data of figures follow.
const (
	TableCompared    = "compared"
	TableUncompared  = "uncompared"
	TableDifferences = "differences"
)

// Table returns the table with an ID, or nil.
func (c *Comparison) Table(id string) *Table {
	for i := range c.tables {
		if c.tables[i].ID == id {
			return &c.tables[i]
		}
	}
	return nil
}

// Figures are the figures of the page.
func (c *Comparison) Figures() []charts.Figure { return c.figures }

func (c *Comparison) cellTable() Table {
	t := Table{ID: TableCompared, Title: "Every cell", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"n_a", "n of A", FormatCount}, Column{"n_b", "n of B", FormatCount},
		Column{"a_s", "A (s)", FormatSeconds}, Column{"b_s", "B (s)", FormatSeconds},
		Column{"ratio", "B over A", FormatRatio}, Column{"lo", "95 % from", FormatRatio}, Column{"hi", "to", FormatRatio}, Column{"interval", "Interval by", FormatText},
		Column{"verdict", "B is", FormatText},
		Column{"a_mean_s", "Mean of A (s)", FormatSeconds}, Column{"b_mean_s", "Mean of B (s)", FormatSeconds},
		Column{"difference_s", "B less A (s)", FormatSeconds}, Column{"difference_lo_s", "95 % from (s)", FormatSeconds}, Column{"difference_hi_s", "to (s)", FormatSeconds},
		Column{"test", "Rank test", FormatText}, Column{"p", "p", FormatRatio}, Column{"holm_p", "p after Holm", FormatRatio},
		Column{"a12", "A12", FormatRatio}, Column{"effect", "Effect", FormatText}, Column{"remark", "Remark", FormatText}, variantColumn(), paramsColumn(),
	), Note: "B over A below 1 means that B is faster: the quotient of the two times before it, which are geometric means. The difference is that of the arithmetic means. A12 is the probability that a trial of B takes longer than one of A."}
	for _, x := range c.Cells {
		lo, hi, method := ends(x.Ratio.Interval)
		dlo, dhi, _ := ends(x.Difference.Interval)
		var test, p any
		if x.Test != nil {
			test, p = string(x.Test.Name), x.Test.P
		}
		t.add(append(x.Condition.values(), x.Series, x.A.N, x.B.N, x.A.GeoMean, x.B.GeoMean, x.Ratio.Value, lo, hi, method, string(x.Ratio.Verdict),
			x.A.Mean, x.B.Mean, x.Difference.Value, dlo, dhi, test, p, x.HolmP, x.A12, string(x.Effect), x.mark(), x.Variant, x.Params)...)
	}
	t.dropEmpty("remark", "variant")
	return t
}

func variantColumn() Column { return Column{"variant", "Variant", FormatText} }

// dropEmpty takes out those of the columns that have no word in any row.
func (t *Table) dropEmpty(keys ...string) {
	for _, key := range keys {
		at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key })
		if slices.ContainsFunc(t.Rows, func(row []any) bool { return row[at] != "" }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, at, at+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], at, at+1)
		}
	}
}

func (c *Comparison) uncomparedTable() Table {
	t := Table{ID: TableUncompared, Title: "Cells that cannot be compared", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"why", "Why", FormatText}, variantColumn(), paramsColumn())}
	for _, u := range c.Uncompared {
		t.add(append(u.Condition.values(), u.Series, u.Why, u.Variant, u.Params)...)
	}
	t.dropEmpty("variant")
	return t
}

func (c *Comparison) differencesTable() Table {
	t := Table{ID: TableDifferences, Title: "What else differs", Columns: []Column{
		{"what", "What", FormatText}, {"a", "A", FormatText}, {"b", "B", FormatText},
	}}
	for _, d := range c.Differences {
		t.add(d.What, d.A, d.B)
	}
	return t
}

// draw makes a figure for each workload.
func (c *Comparison) draw() []charts.Figure {
	var all []charts.Figure
	for start := 0; start < len(c.Cells); {
		end := start
		for end < len(c.Cells) && c.Cells[end].Workload == c.Cells[start].Workload {
			end++
		}
		f := compareFigure(c.Cells[start:end])
		f.Table = "data-" + f.ID
		all = append(all, f)
		start = end
	}
	return all
}

// compareFigure shows B over A in the cells of one workload: of too many the
// ones farthest from 1.
func compareFigure(cells []ComparedCell) charts.Figure {
	workload := cells[0].Workload
	rows := slices.Clone(cells)
	if len(rows) > maxRows {
		distance := func(x ComparedCell) float64 { return math.Abs(math.Log(x.Ratio.Value)) }
		slices.SortStableFunc(rows, func(x, y ComparedCell) int { return cmp.Compare(distance(y), distance(x)) })
		far := make(map[CellName]bool)
		for _, x := range rows[:maxRows] {
			far[x.CellName] = true
		}
		rows = slices.DeleteFunc(slices.Clone(cells), func(x ComparedCell) bool { return !far[x.CellName] })
	}
	f := charts.Figure{ID: slug("compare", workload), Group: workload, Parity: new(1.0)}
	f.X.Name, f.Y.Name = "makespan of B relative to A (ratio)", "cell"
	highest := 1.0
	marks := make(map[string]int)
	for i, x := range rows {
		f.Y.Categories = append(f.Y.Categories, rowName(x, rows))
		times := fmt.Sprintf("%s s after %s s", number(FormatSeconds, x.B.GeoMean), number(FormatSeconds, x.A.GeoMean))
		p := point(x.Ratio.Value, float64(i), x.Ratio.Interval, fmt.Sprintf("%s: %s, %s, n = %d and %d", x.words(), ratioWords(x.Ratio), times, x.A.N, x.B.N))
		p.Label = ratioWords(x.Ratio) + "\n" + times
		f.N += x.A.N + x.B.N
		highest = max(highest, x.Ratio.Value, hi(x.Ratio.Interval, 3*x.Ratio.Value))
		at, ok := marks[x.Series]
		if !ok {
			at = len(f.Marks)
			marks[x.Series] = at
			f.Marks = append(f.Marks, charts.Mark{Series: x.Series, Color: x.color, Shape: charts.Dots})
		}
		f.Marks[at].Point = append(f.Marks[at].Point, p)
	}
	f.X.Max = charts.NiceMax(highest * 1.05)
	one := Comparison{Cells: cells}
	faster, slower, undecided, few := one.verdicts()
	f.Title = fmt.Sprintf("%s: B is faster in %d, slower in %d, undecided in %d of %s", workload, faster, slower, undecided+few, plural(len(cells), "cell"))
	f.Aid = "Left of the line at 1, B is faster than A. Bars are 95 % intervals; one that crosses the line is undecided. Beside, where there is room, and in the data: the ratio and the two times it is made of."
	if len(rows) < len(cells) {
		f.Aid += fmt.Sprintf(" Shown are the %d cells farthest from 1; all are in the table.", len(rows))
	}
	f.Alt = fmt.Sprintf("Ratio of makespans of B to those of A with 95 %% intervals, %s. %s.", plural(len(rows), "row"), f.Title)
	return f
}

// rowName names a cell by what is not the same in all rows.
func rowName(x ComparedCell, rows []ComparedCell) string {
	name := x.Series
	differ := func(get func(ComparedCell) any) bool {
		return slices.ContainsFunc(rows, func(r ComparedCell) bool { return get(r) != get(rows[0]) })
	}
	if differ(func(r ComparedCell) any { return [2]any{r.Workers, r.Nodes} }) {
		workers := plural(x.Workers, "worker")
		if differ(func(r ComparedCell) any { return r.Nodes }) {
			workers += ", " + plural(x.Nodes, "node")
		}
		name = workers + " · " + name
	}
	if differ(func(r ComparedCell) any { return r.Size }) {
		name = x.Size + " · " + name
	}
	if x.Variant != "" {
		name += " (" + x.Variant + ")"
	}
	return name
}
