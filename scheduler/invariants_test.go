package scheduler

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// validate checks every invariant of a core's state against a recount.
func (c *Core) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	s := c.State

	if !slices.IsSortedFunc(s.Workers, func(a, b *Worker) int { return int(a.ID) - int(b.ID) }) {
		fail("workers are not sorted")
	}
	var running []*Worker
	for _, w := range s.Workers {
		if s.Worker(w.ID) != w || w.removed {
			fail("worker %d is listed, but not present", w.ID)
		}
		if w.Running {
			running = append(running, w)
		}
	}
	if !slices.Equal(running, s.running) {
		fail("running workers are %v, listed %v", running, s.running)
	}

	type count struct {
		processing, planned, reserved int
		stored                        int64
		work, downstream              float64
	}
	counts := map[*Worker]*count{}
	for _, w := range s.Workers {
		counts[w] = &count{}
	}
	live, waiting := 0, 0
	for id, t := range s.tasks {
		if t == nil {
			continue
		}
		live++
		if int(t.ID) != id || t.Gone {
			fail("task %d is at %d (gone: %v)", t.ID, id, t.Gone)
		}
		if err := t.validate(); err != nil {
			errs = append(errs, err)
		}
		for _, w := range t.Replicas {
			if counts[w] == nil {
				fail("task %d has a replica on worker %d, which is gone", t.ID, w.ID)
				continue
			}
			counts[w].stored += t.Bytes
		}
		if t.Phase == Queued && !t.reserved {
			waiting++
			if !c.queue.holds(t) {
				fail("task %d is queued, but not in the queue", t.ID)
			}
		}
		if !t.planned && !t.reserved && t.Phase != Placed {
			continue
		}
		n := counts[t.Worker]
		if n == nil {
			fail("task %d counts on a worker that is gone", t.ID)
			continue
		}
		switch {
		case t.reserved:
			n.reserved++
		case t.planned:
			n.planned++
		case !t.seceded:
			n.processing++
		}
		n.work += t.cost
		if t.Flags&Root == 0 {
			n.downstream += t.cost
		}
	}
	if live != s.live {
		fail("%d tasks live, counted %d", live, s.live)
	}
	if have := c.queue.waiting(); have != waiting {
		fail("%d tasks wait, the queue has %d", waiting, have)
	}
	for _, w := range s.Workers {
		n := counts[w]
		have := count{w.Processing, w.planned, w.reserved, w.Stored, w.Work, w.Downstream}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*(1+math.Abs(b)) }
		if have.processing != n.processing || have.planned != n.planned || have.reserved != n.reserved ||
			have.stored != n.stored || !near(have.work, n.work) || !near(have.downstream, n.downstream) {
			fail("worker %d counts %+v, has %+v", w.ID, have, *n)
		}
		if have.processing < 0 || have.planned < 0 || have.reserved < 0 || have.stored < 0 {
			fail("worker %d has a negative count: %+v", w.ID, have)
		}
	}
	return errors.Join(errs...)
}

// waiting counts the live entries of a queue.
func (q *queue) waiting() int {
	n := 0
	for _, e := range q.items {
		if e.waiting() {
			n++
		}
	}
	return n
}

// validate checks what one task says of itself.
func (t *Task) validate() error {
	missing := 0
	for _, d := range t.Deps {
		if !d.available() {
			missing++
		}
		if !d.Gone && !slices.Contains(d.Dependents, t) {
			return fmt.Errorf("task %d: input %d does not know it", t.ID, d.ID)
		}
	}
	switch {
	case t.missing != missing:
		return fmt.Errorf("task %d: %d inputs are missing, counted %d", t.ID, missing, t.missing)
	case t.reserved && t.Phase != Queued, t.planned && t.reserved, t.planned && t.Phase != Waiting && t.Phase != Released && t.Phase != Failed,
		t.seceded && t.Phase != Placed:
		return fmt.Errorf("task %d: phase %d, planned %v, reserved %v, seceded %v", t.ID, t.Phase, t.planned, t.reserved, t.seceded)
	case (t.planned || t.reserved || t.Phase == Placed) && t.Worker == nil:
		return fmt.Errorf("task %d: phase %d without a worker", t.ID, t.Phase)
	case t.Phase == InMemory && len(t.Replicas) == 0:
		return fmt.Errorf("task %d: in memory nowhere", t.ID)
	case t.Phase != InMemory && len(t.Replicas) > 0:
		return fmt.Errorf("task %d: phase %d with replicas", t.ID, t.Phase)
	case t.cost < 0 || math.IsNaN(t.cost):
		return fmt.Errorf("task %d costs %v", t.ID, t.cost)
	}
	for i, w := range t.Replicas {
		if slices.Contains(t.Replicas[:i], w) {
			return fmt.Errorf("task %d: two replicas on worker %d", t.ID, w.ID)
		}
	}
	return nil
}
