package scheduler

import "time"

// Policy chooses a worker for a task.
//
// Place sees only its arguments and its own memory. candidates is never
// empty, is sorted by ID, and holds only running workers on which the task may
// run; it is valid until Place returns. Place returns one of them, or nil to
// hold the task: a root task then stays in the queue until something changes,
// any other task is left to the runtime's own choice. The core overrules a
// hold that would leave the cluster idle.
//
// A policy has further abilities when it implements [Orderer], [Observer],
// [Windower] or [Scorer]. It is used by one core only and needs no locks.
type Policy interface {
	Place(s *State, t *Task, candidates []*Worker) *Worker
}

// Orderer decides the queue's order: Before reports whether a runs before b.
// It must be a strict weak ordering that does not change while the tasks are
// queued. Ties, and policies without the ability, follow Task.Priority.
type Orderer interface {
	Before(s *State, a, b *Task) bool
}

// Observer is told of each event after the state has changed: feedback.
type Observer interface {
	Observe(s *State, e Event)
}

// Windower says how much work of root tasks a worker may hold ahead, per
// thread; 0 is the runtime's own depth. It replaces the core's default.
type Windower interface {
	Window(s *State, w *Worker) time.Duration
}

// Scorer explains a decision: smaller is better.
type Scorer interface {
	Score(s *State, t *Task, w *Worker) float64
}

// Best returns the candidate with the smallest score; ties go to the worker
// with fewer assigned tasks per thread, then to the smaller ID.
func Best(candidates []*Worker, score func(*Worker) float64) *Worker {
	best, low := candidates[0], score(candidates[0])
	for _, w := range candidates[1:] {
		if v := score(w); v < low || v == low && w.Load() < best.Load() {
			best, low = w, v
		}
	}
	return best
}
