package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/esched/esched/runners/record"
)

// maxTimelines bounds the timelines that are read: each may have thousands of
// tasks.
const maxTimelines = 16

// traced is a trial with the times of its tasks.
type traced struct {
	*record.Timeline
	record *record.Record
	cell   *Cell
}

// readTimelines reads one timeline of each cell, as many as there may be: those
// of the main condition first, then a condition of each workload in turn, the
// largest first. What cannot be read is told.
func (b *builder) readTimelines() {
	b.timelines = make(map[[2]int]*traced)
	b.chains = make(map[*record.Record]float64)
	if b.options.Timeline == nil {
		return
	}
	for _, c := range b.byTurns() {
		if len(b.timelines) == maxTimelines {
			return
		}
		for _, rec := range c.records {
			if rec.Timeline == "" {
				continue
			}
			t, err := b.options.Timeline(b.runs[b.runOf[rec]], rec)
			if err != nil {
				b.chains[rec] = 0 // it is told once
				b.careful = append(b.careful, fmt.Sprintf("Times of tasks that cannot be read: %v.", err))
				continue
			}
			b.chains[rec] = t.PathS
			if len(t.Spans) > 0 {
				b.timelines[[2]int{c.condition, c.series}] = &traced{t, rec, c}
				break
			}
		}
	}
}

// byTurns returns the cells, those of the main condition first, then those of
// the last condition of each workload, of the last but one, and so on.
func (b *builder) byTurns() []*Cell {
	turn := make(map[int]int)
	seen := make(map[string]int)
	for i := len(b.conditions) - 1; i >= 0; i-- {
		seen[b.conditions[i].Workload]++
		turn[i] = seen[b.conditions[i].Workload]
	}
	turn[b.mainCondition()] = 0
	cells := slices.Clone(b.cells)
	slices.SortStableFunc(cells, func(x, y *Cell) int { return cmp.Compare(turn[x.condition], turn[y.condition]) })
	return cells
}

// readChains reads the longest chain of every traced trial whose timeline was
// not read. What cannot be read is told.
func (b *builder) readChains() {
	if b.options.Chain == nil {
		return
	}
	broken := 0
	var first error
	for _, rec := range b.records {
		if _, known := b.chains[rec]; known || rec.Timeline == "" || rec.Status != record.StatusOK {
			continue
		}
		chain, err := b.options.Chain(b.runs[b.runOf[rec]], rec)
		if err != nil {
			if broken++; broken == 1 {
				first = err
			}
			continue
		}
		b.chains[rec] = chain
	}
	if broken > 0 {
		b.careful = append(b.careful, fmt.Sprintf("Longest chains of tasks that cannot be read: of %s (%v).", plural(broken, "trial"), first))
	}
}

// tracedTrials tells that tracing took part in what was measured.
func (b *builder) tracedTrials() string {
	n := 0
	for _, rec := range b.records {
		if rec.Timeline != "" && rec.Status == record.StatusOK {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Traced: Dask's scheduler noted the times of tasks in %s, which takes it a few microseconds a task; they count like the others.", plural(n, "trial"))
}

// tracedSeries returns the timelines of the condition that figures of tasks
// are about: the main one if it has any, else the last that has. A workload
// limits the choice to it; "" does not.
func (b *builder) tracedSeries(workload string) []*traced {
	condition := b.mainCondition()
	of := func(c int) []*traced {
		var all []*traced
		if c < 0 || workload != "" && b.conditions[c].Workload != workload {
			return nil
		}
		for s := range b.series {
			if t := b.timelines[[2]int{c, s}]; t != nil && b.shows(s) {
				all = append(all, t)
			}
		}
		return all
	}
	all := of(condition)
	for c := len(b.conditions) - 1; c >= 0 && len(all) == 0; c-- {
		all = of(c)
	}
	return all
}

// lane is one thread of a worker as far as times tell: tasks of a lane do not
// overlap.
type lane struct {
	worker int
	until  float64
}

// lanes lays the tasks of a timeline into as few lanes of each worker as
// their times allow, at most one a thread (workers correct their clocks, so
// that times may overlap a little). It returns the names of lanes, workers
// sorted, and the lane of each span.
func (t *traced) lanes() (names []string, of []int) {
	order := make([]int, len(t.Spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(t.Spans[x].From, t.Spans[y].From) })
	var all []lane
	of = make([]int, len(t.Spans))
	for _, i := range order {
		s := t.Spans[i]
		free, own := -1, 0
		for j, l := range all {
			if l.worker != s.Worker {
				continue
			}
			own++
			if free < 0 || l.until < all[free].until {
				free = j
			}
		}
		if free < 0 || all[free].until > s.From+1e-6 && own < max(t.cell.Threads, 1) {
			free = len(all)
			all = append(all, lane{worker: s.Worker})
		}
		all[free].until = s.To
		of[i] = free
	}
	rank := make([]int, len(all))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(x, y int) int {
		return cmp.Compare(t.Workers[all[x].worker], t.Workers[all[y].worker])
	})
	row := make([]int, len(all))
	seen := make(map[int]int)
	for r, l := range rank {
		row[l] = r
		name := t.Workers[all[l].worker]
		if seen[all[l].worker]++; seen[all[l].worker] > 1 {
			name += fmt.Sprintf(" (thread %d)", seen[all[l].worker])
		}
		names = append(names, name)
	}
	for i := range of {
		of[i] = row[of[i]]
	}
	return names, of
}

// end is when the last task ended.
func (t *traced) end() float64 {
	last := 0.0
	for _, s := range t.Spans {
		last = max(last, s.To)
	}
	return last
}
