package policies

import (
	"math"
	"testing"

	"github.com/esched/esched/scheduler"
)

// measured makes tasks of prefix 1 take one second and give 100 bytes.
func measured(w world) {
	w.apply(added(90), placed(90, 1),
		scheduler.Event{Kind: scheduler.TaskFinished, Task: 90, Worker: 1, Bytes: 100, Seconds: 1},
		scheduler.Event{Kind: scheduler.TaskForgotten, Task: 90})
}

// TestEarliestStart chooses by queued work and missing inputs.
func TestEarliestStart(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		events []scheduler.Event
		scores []float64 // by worker, in seconds
		want   scheduler.WorkerID
	}{
		{
			"an idle worker before a busy one",
			[]scheduler.Event{added(1), placed(1, 1), added(9)},
			[]float64{1, 0}, 2,
		},
		{
			"work divides by threads",
			[]scheduler.Event{
				worker(3, 4, 0), added(1), added(2), added(3), added(4), placed(1, 1), placed(2, 2), placed(3, 3), placed(4, 3), added(9),
			},
			[]float64{1, 1, 0.5}, 3,
		},
		{
			"the holder of an input before another",
			[]scheduler.Event{added(1), replica(1, 2, 1e6), added(9, 1)},
			[]float64{0.113, 0}, 2, // 1e6 bytes at 100 MB/s, 3 ms, and 100 ms of a stranger
		},
		{
			"a tiny input still costs its fetch",
			[]scheduler.Event{added(1), replica(1, 2, 1), added(9, 1)},
			[]float64{0.10300001, 0}, 2,
		},
		{
			"many inputs outweigh a little work",
			[]scheduler.Event{
				added(1), added(2), replica(1, 1, 2e8), replica(2, 1, 1), added(3), placed(3, 1), added(9, 1, 2),
			},
			[]float64{1, 2.10600001}, 1,
		},
		{
			"much work outweighs an input",
			[]scheduler.Event{added(1), replica(1, 1, 100), added(3), added(4), placed(3, 1), placed(4, 1), added(9, 1)},
			[]float64{2, 0.103001}, 2,
		},
		{
			"an input that runs is where it runs",
			[]scheduler.Event{added(1), added(2), placed(1, 2), placed(2, 1), added(9, 1)},
			[]float64{1.103001, 1}, 2,
		},
		{
			"queued root tasks are not in front of other tasks",
			[]scheduler.Event{root(1), root(2), placed(1, 1), placed(2, 1), added(3), replica(3, 1, 100), added(9, 3)},
			[]float64{0, 0.103001}, 1,
		},
		{
			"they are in front of root tasks",
			[]scheduler.Event{root(1), placed(1, 1), root(9)},
			[]float64{1, 0}, 2,
		},
		{
			"equal starts: the lighter worker",
			[]scheduler.Event{root(1), placed(1, 1), added(9)},
			[]float64{0, 0}, 2,
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "earliest-start")
			w.apply(worker(1, 1, 0), worker(2, 1, 0))
			measured(w)
			w.apply(x.events...)
			for i, want := range x.scores {
				have := (&earliestStart{}).Score(w.State, w.State.Task(9), w.State.Workers[i])
				if math.Abs(have-want) > 1e-9 {
					t.Errorf("worker %d: want start in %v s, have %v", i+1, want, have)
				}
			}
			if have := w.Decide(9, nil); have.ID != x.want {
				t.Errorf("want worker %d, have %d", x.want, have.ID)
			}
		})
	}
}

func root(id scheduler.TaskID) scheduler.Event {
	e := added(id)
	e.Flags = scheduler.Root
	return e
}

// TestSiblings keeps root tasks with a common dependent together, as long as
// that costs less than the fetch it saves.
func TestSiblings(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		events []scheduler.Event
		want   scheduler.WorkerID
	}{
		{"short tasks stay together", []scheduler.Event{placed(1, 1)}, 1},
		{"a sibling that is planned counts", nil, 1},
		{"strangers spread", []scheduler.Event{placed(3, 1)}, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "earliest-start")
			w.apply(worker(1, 1, 0), worker(2, 1, 0), root(1), root(2), root(3), added(8, 1, 2))
			if len(x.events) == 0 {
				w.Decide(1, w.State.Workers[:1])
			}
			w.apply(x.events...)
			if have := w.Decide(2, nil); have.ID != x.want {
				t.Errorf("want worker %d, have %d", x.want, have.ID)
			}
		})
	}
}

// TestUrgency orders root tasks by user priority, submission, then the longer
// way to the end.
func TestUrgency(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "earliest-start")
	w.apply(worker(1, 1, 0))
	// 3 <- 4 <- 5 is a longer way than 1 and 2 have.
	urgent, later := root(2), root(6)
	urgent.Priority.User = -1
	later.Priority.Generation = 1
	w.apply(root(1), urgent, root(3), added(4, 3), added(5, 4), later, added(7, 6), added(8, 7), added(9, 8))
	w.React()
	p := &earliestStart{}
	for _, x := range []struct{ first, second scheduler.TaskID }{{2, 3}, {3, 1}, {1, 6}} {
		a, b := w.State.Task(x.first), w.State.Task(x.second)
		if !p.Before(w.State, a, b) || p.Before(w.State, b, a) {
			t.Errorf("want task %d (b-level %v) before %d (b-level %v)", a.ID, a.BLevel, b.ID, b.BLevel)
		}
	}
}
