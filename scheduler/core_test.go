package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// step is a batch of events and everything that the core says to it.
type step struct {
	events []Event
	starve bool // the runtime says that it starves
	want   string
}

// Short forms of the events.
func worker(id WorkerID) Event  { return Event{Kind: WorkerAdded, Worker: id, Threads: 1} }
func gone(id WorkerID) Event    { return Event{Kind: WorkerRemoved, Worker: id} }
func paused(id WorkerID) Event  { return Event{Kind: WorkerPaused, Worker: id} }
func resumed(id WorkerID) Event { return Event{Kind: WorkerResumed, Worker: id} }
func root(id TaskID) Event {
	return Event{Kind: TaskAdded, Task: id, Prefix: 1, Flags: Root, Priority: Priority{Order: uint32(id)}}
}

func task(id TaskID, deps ...TaskID) Event {
	return Event{Kind: TaskAdded, Task: id, Prefix: 2, Deps: deps, Priority: Priority{Order: uint32(id)}}
}

func queued(id TaskID) Event             { return Event{Kind: TaskQueued, Task: id} }
func placed(id TaskID, w WorkerID) Event { return Event{Kind: TaskPlaced, Task: id, Worker: w} }
func released(id TaskID) Event           { return Event{Kind: TaskReleased, Task: id} }
func forgotten(id TaskID) Event          { return Event{Kind: TaskForgotten, Task: id} }
func erred(id TaskID) Event              { return Event{Kind: TaskErred, Task: id} }
func seceded(id TaskID) Event            { return Event{Kind: TaskSeceded, Task: id} }
func replica(id TaskID, w WorkerID) Event {
	return Event{Kind: ReplicaAdded, Task: id, Worker: w, Bytes: 8}
}
func lost(id TaskID, w WorkerID) Event { return Event{Kind: ReplicaRemoved, Task: id, Worker: w} }
func finished(id TaskID, w WorkerID) Event {
	return Event{Kind: TaskFinished, Task: id, Worker: w, Bytes: 100, Seconds: 1}
}

func constrained(id TaskID, deps ...TaskID) Event {
	e := task(id, deps...)
	e.Flags = Constrained
	return e
}

// each applies one form to several tasks.
func each(form func(TaskID) Event, ids ...TaskID) []Event {
	var events []Event
	for _, id := range ids {
		events = append(events, form(id))
	}
	return events
}

// spell writes instructions as the tables do.
func spell(out []Instruction) string {
	var words []string
	for _, i := range out {
		switch i.Kind {
		case Hint:
			words = append(words, fmt.Sprintf("hint %d>%d", i.Task, i.Worker))
		case Reserve:
			words = append(words, fmt.Sprintf("next %d>%d", i.Task, i.Worker))
		case Slots:
			words = append(words, fmt.Sprintf("slots %d=%d", i.Worker, i.N))
		}
	}
	return strings.Join(words, ", ")
}

// TestReactions plays events and reads all that the core answers; silence is
// an answer too. Workers have one thread, hence two slots, and one reservation
// is made ahead of them.
func TestReactions(t *testing.T) {
	t.Parallel()
	two := step{events: []Event{worker(1), worker(2)}, want: "slots 1=2, slots 2=2"}
	one := step{events: []Event{worker(1)}, want: "slots 1=2"}
	for _, x := range []struct {
		name  string
		steps []step
	}{
		{"a worker gets slots once", []step{one, {want: ""}}},
		{"a worker told of twice is one", []step{one, {events: []Event{worker(1)}}}},
		{"a paused worker gets nothing until it resumes", []step{
			{events: []Event{worker(1), paused(1)}},
			{events: []Event{task(1)}},
			{events: []Event{resumed(1)}, want: "slots 1=2"},
		}},
		{"a task without inputs is hinted at once", []step{one, {events: []Event{task(1)}, want: "hint 1>1"}, {want: ""}}},
		{"hints spread by load", []step{two, {events: each(func(i TaskID) Event { return task(i) }, 1, 2, 3), want: "hint 1>1, hint 2>2, hint 3>1"}}},
		{"nobody runs, nothing is said", []step{{events: []Event{task(1)}}}},
		{"a root task is not hinted", []step{one, {events: []Event{root(1)}}}},
		{"a constrained task is not hinted", []step{one, {events: []Event{constrained(1)}}}},
		{"a task is hinted when its input is placed, before it finishes", []step{
			one,
			{events: []Event{constrained(1), task(2, 1)}},
			{events: []Event{placed(1, 1)}, want: "hint 2>1"},
			{events: []Event{finished(1, 1)}},
			{events: []Event{placed(2, 1)}},
		}},
		{"of two inputs both must be placed", []step{
			one,
			{events: []Event{root(1), root(2), task(3, 1, 2), placed(1, 1)}},
			{events: []Event{placed(2, 1)}, want: "hint 3>1"},
		}},
		{"an input named before it is added", []step{
			one,
			{events: []Event{task(3, 1), root(1)}},
			{events: []Event{placed(1, 1)}, want: "hint 3>1"},
		}},
		{"scattered data is an input too", []step{
			one,
			{events: []Event{task(2, 1), replica(1, 1)}, want: "hint 2>1"},
		}},
		{"lost data is none", []step{
			two,
			{events: []Event{root(1), task(3, 1), constrained(2), placed(1, 1), finished(1, 1), lost(1, 1)}},
			{events: []Event{placed(1, 2)}, want: "hint 3>1"},
		}},
		{"a queued task is reserved", []step{one, {events: []Event{root(1), queued(1)}, want: "next 1>1"}, {want: ""}}},
		{"slots and one ahead are reserved, by priority", []step{
			one,
			{events: append(each(root, 1, 2, 3, 4, 5), each(queued, 5, 4, 3, 2, 1)...), want: "next 1>1, next 2>1, next 3>1"},
			{events: []Event{placed(1, 1), placed(2, 1)}, want: ""},
			{events: []Event{placed(3, 1), finished(1, 1), finished(2, 1)}, want: "next 4>1, next 5>1"},
		}},
		{"a starving runtime gets what others hold in reserve", []step{
			one,
			{events: append(each(root, 1, 2, 3), each(queued, 1, 2, 3)...), want: "next 1>1, next 2>1, next 3>1"},
			{events: []Event{worker(2)}, want: "slots 2=2"},
			{starve: true, want: "next 1>2"},
			{starve: true, want: ""},
		}},
		{"reservations of a lost worker go to others", []step{
			two,
			{events: append(each(root, 1, 2), each(queued, 1, 2)...), want: "next 1>1, next 2>2"},
			{events: []Event{gone(1)}, want: "next 1>2"},
		}},
		{"reservations of a paused worker go to others", []step{
			two,
			{events: append(each(root, 1, 2), each(queued, 1, 2)...), want: "next 1>1, next 2>2"},
			{events: []Event{paused(2)}, want: "next 2>1"},
		}},
		{"a released task leaves the queue", []step{
			{events: append(each(root, 1, 2), queued(1), queued(2), released(1))},
			{events: []Event{worker(1)}, want: "slots 1=2, next 2>1"},
		}},
		{"a forgotten task leaves the queue", []step{
			{events: append(each(root, 1, 2), queued(1), queued(2), forgotten(1))},
			{events: []Event{worker(1)}, want: "slots 1=2, next 2>1"},
		}},
		{"a task queued twice is reserved once", []step{
			{events: []Event{root(1), queued(1), released(1), queued(1)}},
			{events: []Event{worker(1)}, want: "slots 1=2, next 1>1"},
		}},
		{"an erred input keeps its dependents back", []step{
			one,
			{events: []Event{root(1), task(2, 1), erred(1)}},
		}},
		{"a seceded task frees its slot", []step{
			one,
			{events: append(each(root, 1, 2, 3, 4), placed(1, 1), placed(2, 1), queued(3), queued(4)), want: "next 3>1"},
			{events: []Event{seceded(1)}, want: "next 4>1"},
		}},
		{"what is computed again is hinted again", []step{
			one,
			{events: []Event{constrained(1), task(2, 1), placed(1, 1)}, want: "hint 2>1"},
			{events: []Event{finished(1, 1), placed(2, 1), finished(2, 1), released(2), released(1)}},
			{events: []Event{placed(1, 1)}, want: "hint 2>1"},
		}},
		{"events of unknown tasks and workers", []step{
			{events: []Event{queued(9), placed(9, 9), finished(9, 9), erred(9), released(9), forgotten(9), gone(9), paused(9), replica(9, 9), lost(9, 9)}},
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := New(Config{Policy: lightest{}})
			for i, s := range x.steps {
				for _, e := range s.events {
					c.Apply(e)
				}
				out := c.React
				if s.starve {
					out = c.Starving
				}
				if have := spell(out()); have != s.want {
					t.Errorf("step %d: want %q, have %q", i, s.want, have)
				}
				if err := c.validate(); err != nil {
					t.Errorf("step %d: %v", i, err)
				}
			}
		})
	}
}

// TestDecide asks for single placements.
func TestDecide(t *testing.T) {
	t.Parallel()
	c := New(Config{Policy: lightest{}})
	if w := c.Decide(1, nil); w != nil {
		t.Errorf("no worker runs: want none, have %d", w.ID)
	}
	for id := range WorkerID(3) {
		c.Apply(worker(id + 1))
	}
	for _, e := range []Event{task(1), task(2), placed(2, 1), paused(3)} {
		c.Apply(e)
	}
	if w := c.Decide(1, nil); w == nil || w.ID != 2 {
		t.Errorf("want worker 2, which has no task, have %+v", w)
	}
	if w := c.Decide(1, []*Worker{c.State.Worker(1)}); w == nil || w.ID != 1 || c.State.Task(1).Worker != w {
		t.Errorf("want the only candidate, have %+v", w)
	}
	if n := c.State.Worker(2).Assigned(); n != 0 {
		t.Errorf("worker 2 still counts %d tasks", n)
	}
	if err := c.validate(); err != nil {
		t.Error(err)
	}
}

// TestHold lets a policy hold tasks: they wait while something runs, and not
// for ever.
func TestHold(t *testing.T) {
	t.Parallel()
	c := New(Config{Policy: scatterer{}}) // holds task 3
	c.Apply(worker(1))
	for _, e := range []Event{root(3), root(4), placed(4, 1), queued(3), task(10)} {
		c.Apply(e)
	}
	if have := spell(c.React()); have != "slots 1=2" {
		t.Errorf("task 3 is held: have %q", have)
	}
	c.Apply(finished(4, 1))
	if have := spell(c.React()); have != "next 3>1" {
		t.Errorf("the cluster is idle: have %q", have)
	}
}

// TestSlots computes the adaptive depth.
func TestSlots(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name    string
		threads uint16
		limit   int64
		seconds float64
		bytes   int64
		window  time.Duration
		want    int
	}{
		{"stock depth without a window", 1, 0, 1e-3, 1, 0, 2},
		{"stock depth of four threads: ceil(4.4)", 4, 0, 1e-3, 1, 0, 5},
		{"10 ms of tasks of 2 ms", 1, 0, 2e-3, 1, 10 * time.Millisecond, 5},
		{"two threads hold twice as much", 2, 0, 2e-3, 1, 10 * time.Millisecond, 10},
		{"never more than twelve a thread", 2, 0, 1e-5, 1, 10 * time.Millisecond, 24},
		{"long tasks: stock", 1, 0, 1, 1, 10 * time.Millisecond, 2},
		{"a tenth of 1000 free bytes for results of 30", 1, 1030, 1e-3, 30, 10 * time.Millisecond, 3},
		{"results as large as the memory: stock", 1, 2000, 1e-3, 1000, 10 * time.Millisecond, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := New(Config{Policy: lightest{}, Window: x.window})
			c.Apply(Event{Kind: WorkerAdded, Worker: 1, Threads: x.threads, MemoryLimit: x.limit})
			for id := TaskID(1); id < 100; id++ {
				c.Apply(root(id))
			}
			c.Apply(placed(1, 1))
			e := finished(1, 1)
			e.Bytes, e.Seconds = x.bytes, x.seconds
			c.Apply(e)
			for id := TaskID(2); id < 100; id++ {
				c.Apply(queued(id))
			}
			c.React()
			if have := c.State.Worker(1).Slots; have != x.want {
				t.Errorf("want %d slots, have %d", x.want, have)
			}
		})
	}
}

// TestRank computes b-levels: the longest way to the end, in seconds.
func TestRank(t *testing.T) {
	t.Parallel()
	c := New(Config{Policy: lightest{}})
	c.Apply(worker(1))
	known := task(50)
	known.Prefix = 9
	c.Apply(known)
	c.Apply(placed(50, 1))
	c.Apply(finished(50, 1)) // prefix 9 takes 1 s
	// 1 -> 2 -> 4, 1 -> 3 -> 4; 3 takes a second, the others a unit.
	slow := task(3, 1)
	slow.Prefix = 9
	for _, e := range []Event{task(4, 2, 3), task(2, 1), slow, task(1)} {
		c.Apply(e)
	}
	c.React()
	for id, want := range map[TaskID]float64{4: 0.001, 3: 1.001, 2: 0.002, 1: 1.002} {
		if have := c.State.Task(id).BLevel; math.Abs(have-want) > 1e-12 {
			t.Errorf("task %d: want b-level %v, have %v", id, want, have)
		}
	}
}

// shortest orders the queue against the submitter's priorities.
type shortest struct{ lightest }

func (shortest) Before(_ *State, a, b *Task) bool { return a.ID > b.ID }

// watcher counts what it observes.
type watcher struct {
	lightest
	seen []EventKind
}

func (w *watcher) Observe(_ *State, e Event) { w.seen = append(w.seen, e.Kind) }

// wide is a policy with a window of its own.
type wide struct{ lightest }

func (wide) Window(*State, *Worker) time.Duration { return time.Second }

// TestAbilities exercises what a policy may do beyond Place.
func TestAbilities(t *testing.T) {
	t.Parallel()
	t.Run("order", func(t *testing.T) {
		t.Parallel()
		c := New(Config{Policy: shortest{}})
		for _, e := range append(each(root, 1, 2), queued(1), queued(2), worker(1)) {
			c.Apply(e)
		}
		if have := spell(c.React()); have != "slots 1=2, next 2>1, next 1>1" {
			t.Errorf("have %q", have)
		}
	})
	t.Run("observe", func(t *testing.T) {
		t.Parallel()
		w := &watcher{}
		c := New(Config{Policy: w})
		c.Apply(worker(1))
		c.Apply(task(1))
		if !slices.Equal(w.seen, []EventKind{WorkerAdded, TaskAdded}) {
			t.Errorf("saw %v", w.seen)
		}
	})
	t.Run("window", func(t *testing.T) {
		t.Parallel()
		c := New(Config{Policy: wide{}})
		for _, e := range append(each(root, 1, 2), worker(1), placed(1, 1)) {
			c.Apply(e)
		}
		e := finished(1, 1)
		e.Seconds = 0.1
		c.Apply(e)
		c.Apply(queued(2))
		if have := spell(c.React()); have != "slots 1=10, next 2>1" {
			t.Errorf("have %q", have)
		}
	})
}

// TestConfigure changes the policy: what was hinted or reserved is decided anew.
func TestConfigure(t *testing.T) {
	t.Parallel()
	c := New(Config{Policy: lightest{}})
	for _, e := range append(each(root, 1, 2), task(3), task(4, 3), worker(1), queued(1), queued(2)) {
		c.Apply(e)
	}
	if have := spell(c.React()); have != "hint 3>1, slots 1=2, next 1>1, next 2>1" {
		t.Errorf("have %q", have)
	}
	c.Configure(Config{Policy: shortest{}})
	if have := spell(c.React()); have != "hint 3>1, next 2>1, next 1>1" {
		t.Errorf("have %q", have)
	}
	if err := c.validate(); err != nil {
		t.Error(err)
	}
}
