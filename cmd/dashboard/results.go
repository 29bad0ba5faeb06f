package dashboard

import (
	"cmp"
	"slices"
	"strconv"
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

func keyOf(t record.Trial) cellKey {
	return cellKey{t.Workload, t.Size, t.ParamString(), t.Nodes, t.Workers, t.Threads, t.Environment}
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
	values  map[string]float64 // makespans by repetition
	failed  map[string]bool    // repetitions
	shown   figures            // see cell.figures
	stale   bool
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
	key := keyOf(t)
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
	r := &row{series: t.Series(), kind: t.Kind, values: map[string]float64{}, failed: map[string]bool{}}
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
	case record.StatusFailed, record.StatusTimeout:
		row.failed[strconv.Itoa(r.Repetition)] = true
	case record.StatusOK:
		delete(row.failed, strconv.Itoa(r.Repetition))
		row.values[strconv.Itoa(r.Repetition)] = r.MakespanS
		rs.index[keyOf(r.Trial)].changed(row)
	}
}

// changed marks what is to be summarised again after a row got a value: the
// row, and with the baseline the rows that are compared with it.
func (c *cell) changed(by *row) {
	base := c.baseline()
	for _, r := range c.rows {
		r.stale = r.stale || r == by || by == base
	}
}

// figures summarises a row. It does so only after a change, because intervals
// of many values take milliseconds and the screen is drawn often.
func (c *cell) figures(r *row) figures {
	if r.stale {
		r.shown, r.stale = figuresOf(r.values, c.baseline().makespans()), false
	}
	return r.shown
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

func (r *row) makespans() map[string]float64 {
	if r == nil {
		return nil
	}
	return r.values
}
