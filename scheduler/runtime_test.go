package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// runtime is a small Dask: it runs a graph as the core says, loses workers,
// and tells of everything.
type runtime struct {
	t       *rapid.T
	c       *Core
	rng     *rand.Rand
	deps    map[TaskID][]TaskID
	phase   map[TaskID]Phase
	on      map[TaskID]WorkerID // where it runs, or its result is
	hints   map[TaskID]WorkerID
	next    map[WorkerID][]TaskID
	slots   map[WorkerID]int // of the workers present
	holds   bool             // the policy may hold tasks
	last    WorkerID
	decided int
}

func (r *runtime) tell(e Event) {
	r.c.Apply(e)
	if err := r.c.validate(); err != nil {
		r.t.Fatalf("after %+v: %v", e, err)
	}
}

func (r *runtime) hear(out []Instruction) {
	checkInstructions(r.t, r.c, out, r.holds)
	for _, i := range out {
		switch i.Kind {
		case Hint:
			r.hints[i.Task] = i.Worker
		case Reserve:
			r.next[i.Worker] = append(r.next[i.Worker], i.Task)
		case Slots:
			r.slots[i.Worker] = int(i.N)
		}
	}
}

func (r *runtime) in(phase Phase) []TaskID {
	var ids []TaskID
	for id, p := range r.phase {
		if p == phase {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (r *runtime) running(w WorkerID) int {
	n := 0
	for id, p := range r.phase {
		if p == Placed && r.on[id] == w {
			n++
		}
	}
	return n
}

func (r *runtime) place(id TaskID, w WorkerID) {
	r.phase[id], r.on[id] = Placed, w
	delete(r.hints, id)
	r.tell(placed(id, w))
	r.decided++
}

func (r *runtime) join() {
	r.last++
	r.slots[r.last] = 2
	r.tell(worker(r.last))
}

// lose removes a worker with all that it runs and holds.
func (r *runtime) lose(w WorkerID) {
	delete(r.slots, w)
	delete(r.next, w)
	r.tell(gone(w))
	for id, p := range r.phase {
		if r.on[id] == w && (p == Placed || p == InMemory) {
			r.phase[id] = Waiting
		}
	}
	for _, id := range r.in(Waiting) {
		if r.on[id] == w {
			delete(r.on, id)
			r.tell(released(id))
		}
	}
}

// submit sends what is ready: root tasks to the queue, others to workers.
func (r *runtime) submit() {
	for _, id := range r.in(Waiting) {
		if slices.ContainsFunc(r.deps[id], func(d TaskID) bool { return r.phase[d] != InMemory }) {
			continue
		}
		if len(r.deps[id]) == 0 {
			r.phase[id] = Queued
			r.tell(queued(id))
			continue
		}
		w, hinted := r.hints[id]
		if _, present := r.slots[w]; hinted && present {
			r.place(id, w)
		} else if chosen := r.c.Decide(id, nil); chosen != nil {
			r.place(id, chosen.ID)
		} else if r.holds {
			r.place(id, r.c.State.running[0].ID) // the runtime's own choice
		} else {
			r.t.Fatalf("nobody may run task %d", id)
		}
	}
}

// fill sends queued tasks to the slots that they are reserved for.
func (r *runtime) fill() (hungry bool) {
	for _, w := range r.c.State.running {
		free := r.slots[w.ID] - r.running(w.ID)
		for ; free > 0 && len(r.next[w.ID]) > 0; r.next[w.ID] = r.next[w.ID][1:] {
			if id := r.next[w.ID][0]; r.phase[id] == Queued {
				r.place(id, w.ID)
				free--
			}
		}
		hungry = hungry || free > 0
	}
	return hungry && len(r.in(Queued)) > 0
}

// TestRuntime runs random graphs to their ends while workers come and go. The
// core never lets the runtime stall, and counts nothing afterwards.
func TestRuntime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		holds := rapid.Bool().Draw(t, "holds")
		policy := Policy(lightest{})
		if holds {
			policy = scatterer{}
		}
		window := time.Duration(rapid.IntRange(0, 1).Draw(t, "adaptive")) * DefaultWindow
		r := &runtime{
			t: t, c: New(Config{Policy: policy, Window: window}), holds: holds,
			rng:  rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
			deps: map[TaskID][]TaskID{}, phase: map[TaskID]Phase{}, on: map[TaskID]WorkerID{},
			hints: map[TaskID]WorkerID{}, next: map[WorkerID][]TaskID{}, slots: map[WorkerID]int{},
		}
		n := rapid.IntRange(1, 40).Draw(t, "tasks")
		for id := TaskID(1); int(id) <= n; id++ {
			e := root(id)
			if id > 3 && r.rng.IntN(2) == 0 {
				e = task(id, TaskID(1+r.rng.IntN(int(id)-1)), TaskID(1+r.rng.IntN(int(id)-1)))
			}
			r.deps[id], r.phase[id] = e.Deps, Waiting
			r.tell(e)
		}
		r.join()
		r.join()
		for steps := 0; len(r.in(InMemory)) < n; steps++ {
			if steps > 40*n+200 {
				t.Fatalf("%d of %d tasks after %d steps", len(r.in(InMemory)), n, steps)
			}
			switch dice := r.rng.IntN(30); {
			case dice == 0 && steps < 5*n:
				r.join()
			case dice == 1 && len(r.slots) > 1 && steps < 5*n:
				r.lose(r.c.State.running[r.rng.IntN(len(r.c.State.running))].ID)
			}
			r.submit()
			r.hear(r.c.React())
			if r.fill() {
				r.hear(r.c.Starving())
				r.fill()
			}
			busy := r.in(Placed)
			if len(busy) == 0 {
				if len(r.in(InMemory)) < n {
					t.Fatalf("stalled: %d queued, %d waiting, next %v", len(r.in(Queued)), len(r.in(Waiting)), r.next)
				}
				break
			}
			id := busy[r.rng.IntN(len(busy))]
			r.phase[id] = InMemory
			e := finished(id, r.on[id])
			e.Seconds = r.rng.Float64() / 100
			r.tell(e)
		}
		for id := TaskID(1); int(id) <= n; id++ {
			r.tell(forgotten(id))
		}
		for _, w := range r.c.State.Workers {
			if w.Assigned() != 0 || w.Stored != 0 || w.Work != 0 || r.c.State.Tasks() != 0 {
				t.Fatalf("%d tasks known, worker %+v", r.c.State.Tasks(), w)
			}
		}
	})
}
