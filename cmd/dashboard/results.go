package dashboard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/esched/esched/runners/record"
)

// results are the measured makespans: a cell for each workload, size and
// number of workers, in it a row for each series. Cells and rows come from
// the plan, so that they have their place before they have values.
type results struct {
	cells []*cell
	index map[cellKey]*cell
}

// cellKey is what the series of a cell have in common.
type cellKey struct {
	workload, size, params  string
	nodes, workers, threads int
	environment             string
}

type cell struct {
	key   cellKey
	title string
	rows  []*row
}

// row is a series of a cell.
type row struct {
	series  string
	kind    string // "dask": a baseline
	planned int
	values  []float64
	failed  int
}

func newResults(plan []record.Planned) results {
	rs := results{index: map[cellKey]*cell{}}
	for _, p := range plan {
		if !p.Warmup {
			rs.row(p.Trial).planned++
		}
	}
	// The order of execution is shuffled; people look for what they wrote.
	slices.SortStableFunc(rs.cells, func(a, b *cell) int {
		return cmp.Or(strings.Compare(a.key.workload, b.key.workload), cmp.Compare(firstNumber(a.key.size), firstNumber(b.key.size)),
			strings.Compare(a.key.size, b.key.size), cmp.Compare(a.key.workers, b.key.workers))
	})
	for _, c := range rs.cells {
		slices.SortStableFunc(c.rows, func(a, b *row) int {
			return cmp.Or(cmp.Compare(baselineLast(b), baselineLast(a)), strings.Compare(a.series, b.series))
		})
	}
	return rs
}

func baselineLast(r *row) int {
	if r.kind == "dask" {
		return 1
	}
	return 0
}

// firstNumber makes "500 chunks" come before "2000 chunks".
func firstNumber(s string) int {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' || n > 1e12 {
			break
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// row returns the row of a trial and makes it if it is not planned.
func (rs *results) row(t record.Trial) *row {
	key := cellKey{t.Workload, t.Size, t.ParamString(), t.Nodes, t.Workers, t.Threads, t.Environment}
	c := rs.index[key]
	if c == nil {
		c = &cell{key: key, title: cellTitle(t)}
		rs.index[key] = c
		rs.cells = append(rs.cells, c)
	}
	for _, r := range c.rows {
		if r.series == t.Series() {
			return r
		}
	}
	r := &row{series: t.Series(), kind: t.Kind}
	c.rows = append(c.rows, r)
	return r
}

func cellTitle(t record.Trial) string {
	workers := plural(t.Workers, "worker")
	if t.Nodes > 1 {
		workers += " on " + plural(t.Nodes, "node")
	}
	return joined(clean(t.Workload)+" "+grouped(clean(t.Size)), workers)
}

func (rs *results) add(r *record.Record) {
	row := rs.row(r.Trial)
	switch r.Status {
	case record.StatusOK:
		row.values = append(row.values, r.MakespanS)
	case record.StatusFailed, record.StatusTimeout:
		row.failed++
	}
}

// baseline is the row that the others are compared with: unmodified Dask, the
// first of them if there are several. It is nil as long as it has no value.
func (c *cell) baseline() *row {
	for _, r := range c.rows {
		if r.kind == "dask" && len(r.values) > 0 {
			return r
		}
	}
	return nil
}

// verdict compares a row with the baseline.
type verdict struct {
	ratio     float64
	low, high float64 // the row's spread, as a ratio
	// sign is -1 if the row is faster and the spreads are apart, 1 if it is
	// slower, and 0 if that is not clear.
	sign int
}

// enoughToJudge is the number of values from which on spreads that are apart
// are called a difference.
const enoughToJudge = 3

func (c *cell) compare(r *row) (v verdict, ok bool) {
	base := c.baseline()
	if base == nil || len(r.values) == 0 {
		return v, false
	}
	m := median(base.values)
	if m <= 0 {
		return v, false
	}
	mine, theirs := spreadOf(r.values), spreadOf(base.values)
	v = verdict{ratio: median(r.values) / m, low: mine.low / m, high: mine.high / m}
	if len(r.values) >= enoughToJudge && len(base.values) >= enoughToJudge && mine.apart(theirs) {
		v.sign = cmp.Compare(v.ratio, 1)
	}
	return v, true
}
