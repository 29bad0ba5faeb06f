package policies

import (
	"iter"

	"github.com/esched/esched/scheduler"
)

const (
	// fetchSeconds is what fetching one input costs beyond its bytes: both
	// workers spend milliseconds of CPU on a fetch however small it is. With
	// bytes alone, tiny partitions look free to move and a group-by took 31 %
	// longer.
	fetchSeconds = 3e-3
	// strangerSeconds is what a worker without any of the inputs must be ahead
	// before it gets the task. A task that follows its input costs nothing to
	// place, its own dependents stay together, and root tasks even the load out
	// later; moving it pays only when its place is really crowded.
	strangerSeconds = 100e-3
	// maxSiblings bounds the inputs of a dependent that are looked at to keep
	// siblings together, maxDependents the dependents.
	maxSiblings   = 8
	maxDependents = 4
)

// earliestStart estimates when the task could start on each candidate and
// takes the earliest.
//
// The estimate is the work in front of it there, divided by the threads, plus
// the fetches of the inputs that are elsewhere, plus a surcharge where none of
// them is. In front of a root task is
// everything assigned to the worker; in front of any other task only other
// such tasks, because workers run by priority and root tasks come last.
// Siblings (inputs of a common dependent) attract one another by the fetch
// that their separation would cost later.
type earliestStart struct {
	bytes []float64 // by position in candidates: input bytes that are there
	count []int     // and their number
	near  []int     // siblings there
}

// Before implements [scheduler.Orderer]: the longer path to the end first.
func (p *earliestStart) Before(_ *scheduler.State, a, b *scheduler.Task) bool {
	if a.Priority.User != b.Priority.User {
		return a.Priority.User < b.Priority.User
	}
	if a.Priority.Generation != b.Priority.Generation {
		return a.Priority.Generation < b.Priority.Generation // an earlier submission first
	}
	return a.BLevel > b.BLevel
}

func (p *earliestStart) Place(s *scheduler.State, t *scheduler.Task, candidates []*scheduler.Worker) *scheduler.Worker {
	p.reset(len(candidates))
	total := 0.0
	for _, d := range t.Deps {
		size := d.Size()
		total += size
		for i := range p.holders(d, candidates) {
			p.bytes[i] += size
			p.count[i]++
		}
	}
	p.attract(t, candidates)
	var best *scheduler.Worker
	var low float64
	for i, w := range candidates {
		fetches := len(t.Deps) - p.count[i] - p.near[i]
		start := ahead(t, w) + (total-p.bytes[i])/s.Bandwidth + fetchSeconds*float64(fetches)
		if len(t.Deps) > 0 && p.count[i] == 0 {
			start += strangerSeconds
		}
		if best == nil || start < low || start == low && lighter(w, best) {
			best, low = w, start
		}
	}
	return best
}

// Score implements [scheduler.Scorer]: the estimated start in seconds from
// now, without the attraction of siblings.
func (p *earliestStart) Score(s *scheduler.State, t *scheduler.Task, w *scheduler.Worker) float64 {
	start := ahead(t, w)
	here := 0
	for _, d := range t.Deps {
		if d.On(w) {
			here++
		} else {
			start += d.Size()/s.Bandwidth + fetchSeconds
		}
	}
	if len(t.Deps) > 0 && here == 0 {
		start += strangerSeconds
	}
	return start
}

func (p *earliestStart) reset(n int) {
	if cap(p.bytes) < n {
		p.bytes, p.count, p.near = make([]float64, n), make([]int, n), make([]int, n)
	}
	p.bytes, p.count, p.near = p.bytes[:n], p.count[:n], p.near[:n]
	clear(p.bytes)
	clear(p.count)
	clear(p.near)
}

// holders yields the positions of the candidates that hold an input, or will.
func (p *earliestStart) holders(d *scheduler.Task, candidates []*scheduler.Worker) iter.Seq[int] {
	return func(yield func(int) bool) {
		if len(d.Replicas) == 0 && d.Worker != nil {
			if i := position(candidates, d.Worker); i >= 0 {
				yield(i)
			}
			return
		}
		for _, w := range d.Replicas {
			if i := position(candidates, w); i >= 0 && !yield(i) {
				return
			}
		}
	}
}

// attract counts siblings of a root task that are placed or planned already.
func (p *earliestStart) attract(t *scheduler.Task, candidates []*scheduler.Worker) {
	if t.Flags&scheduler.Root == 0 || len(t.Dependents) > maxDependents {
		return
	}
	for _, d := range t.Dependents {
		if d.Gone || len(d.Deps) > maxSiblings {
			continue
		}
		for _, sibling := range d.Deps {
			if sibling == t || sibling.Gone {
				continue
			}
			for i := range p.holders(sibling, candidates) {
				p.near[i]++
			}
		}
	}
}

// ahead is the work in seconds in front of a new task on a worker.
func ahead(t *scheduler.Task, w *scheduler.Worker) float64 {
	if t.Flags&scheduler.Root != 0 {
		return w.Work / float64(w.Threads)
	}
	return w.Downstream / float64(w.Threads)
}

// lighter prefers fewer assigned tasks, then less stored data.
func lighter(a, b *scheduler.Worker) bool {
	if a.Load() != b.Load() {
		return a.Load() < b.Load()
	}
	return a.Stored < b.Stored
}

// position finds a worker among candidates sorted by ID, or returns -1.
func position(candidates []*scheduler.Worker, w *scheduler.Worker) int {
	lo, hi := 0, len(candidates)
	for lo < hi {
		mid := (lo + hi) / 2
		if candidates[mid].ID < w.ID {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(candidates) && candidates[lo] == w {
		return lo
	}
	return -1
}
