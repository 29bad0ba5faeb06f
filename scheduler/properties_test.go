package scheduler

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// lightest is a policy without memory: the candidate with least load.
type lightest struct{}

func (lightest) Place(_ *State, _ *Task, candidates []*Worker) *Worker {
	return Best(candidates, (*Worker).Load)
}

// scatterer picks by the task's ID and holds some tasks.
type scatterer struct{}

func (scatterer) Place(_ *State, t *Task, candidates []*Worker) *Worker {
	if t.ID%7 == 3 {
		return nil
	}
	return candidates[int(t.ID)%len(candidates)]
}

// nonsense draws any event, in any order: a driver never sends most of these
// sequences, but a damaged one must not corrupt the counts.
func nonsense(t *rapid.T) Event {
	e := Event{
		Kind:     EventKind(rapid.IntRange(int(WorkerAdded), int(ReplicaRemoved)).Draw(t, "kind")),
		Worker:   WorkerID(rapid.IntRange(1, 5).Draw(t, "worker")),
		Task:     TaskID(rapid.IntRange(1, 14).Draw(t, "task")),
		Threads:  uint16(rapid.IntRange(0, 3).Draw(t, "threads")),
		Prefix:   uint32(rapid.IntRange(1, 3).Draw(t, "prefix")),
		Flags:    Flags(rapid.IntRange(0, 3).Draw(t, "flags")),
		Bytes:    int64(rapid.IntRange(0, 1000).Draw(t, "bytes")),
		Seconds:  float64(rapid.IntRange(0, 1000).Draw(t, "ms")) / 1000,
		Priority: Priority{Order: uint32(rapid.IntRange(0, 9).Draw(t, "order"))},
	}
	if e.Kind == TaskAdded {
		for range rapid.IntRange(0, 3).Draw(t, "deps") {
			e.Deps = append(e.Deps, TaskID(rapid.IntRange(1, 14).Draw(t, "dep")))
		}
	}
	return e
}

// checkInstructions holds for every answer of a core, whatever came in.
func checkInstructions(t *rapid.T, c *Core, out []Instruction, hold bool) {
	if err := c.validate(); err != nil {
		t.Fatal(err)
	}
	var reserved []TaskID
	for _, i := range out {
		w := c.State.Worker(i.Worker)
		if w == nil || !w.Running {
			t.Fatalf("%+v names a worker that takes no tasks", i)
		}
		if i.Kind == Slots {
			if i.N < 1 || int(i.N) != w.Slots {
				t.Fatalf("%+v, but worker %d has %d slots", i, w.ID, w.Slots)
			}
			continue
		}
		task := c.State.Task(i.Task)
		if task == nil {
			t.Fatalf("%+v names a task that is gone", i)
		}
		switch {
		case i.Kind == Hint && (!task.planned || task.Worker != w):
			t.Fatalf("%+v, but task %+v", i, task)
		case i.Kind == Reserve && (!task.reserved || task.Worker != w || slices.Contains(reserved, i.Task)):
			t.Fatalf("%+v, but task %+v (reserved before: %v)", i, task, reserved)
		}
		if i.Kind == Reserve {
			reserved = append(reserved, i.Task)
		}
	}
	if hold || c.queue.peek() == nil {
		return
	}
	for _, w := range c.State.running {
		if w.reserved < w.Slots-w.Processing {
			t.Fatalf("task %d waits while worker %d has %d slots, %d tasks, %d reserved",
				c.queue.peek().ID, w.ID, w.Slots, w.Processing, w.reserved)
		}
	}
}

// TestNonsense applies random events in random order to two cores: the counts
// stay right, no instruction names what is gone, queued tasks are reserved
// while workers have room, and both cores say the same.
func TestNonsense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hold := rapid.Bool().Draw(t, "holds")
		policy := Policy(lightest{})
		if hold {
			policy = scatterer{}
		}
		cfg := Config{Policy: policy, Window: time.Duration(rapid.IntRange(0, 20).Draw(t, "window")) * time.Millisecond}
		a, b := New(cfg), New(cfg)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			e := nonsense(t)
			a.Apply(e)
			b.Apply(e)
			if err := a.validate(); err != nil {
				t.Fatalf("after %+v: %v", e, err)
			}
			var out, twin []Instruction
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				continue
			case 1:
				out, twin = a.Starving(), b.Starving()
			case 2:
				id := TaskID(rapid.IntRange(1, 14).Draw(t, "ask"))
				v, w := a.Decide(id, nil), b.Decide(id, nil)
				if (v == nil) != (w == nil) || v != nil && (v.ID != w.ID || !v.Running) {
					t.Fatalf("one core chose %+v, the other %+v", v, w)
				}
				if err := a.validate(); err != nil {
					t.Fatalf("after the decision of task %d: %v", id, err)
				}
				continue
			case 3:
				a.Configure(cfg)
				b.Configure(cfg)
				fallthrough
			default:
				out, twin = a.React(), b.React()
			}
			if !slices.Equal(out, twin) {
				t.Fatalf("two cores with the same events differ: %+v and %+v", out, twin)
			}
			checkInstructions(t, a, out, hold)
		}
	})
}
