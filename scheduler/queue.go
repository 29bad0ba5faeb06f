package scheduler

import "container/heap"

// queue holds the root tasks that are ready and not reserved, best first.
// Tasks that left the queue by other ways stay inside as dead entries until
// they reach the top.
type queue struct {
	before func(a, b *Task) bool
	items  []entry
	seq    uint64
}

// entry remembers which stay in the queue it belongs to: a task that was
// queued, released and queued again is in the heap twice.
type entry struct {
	task *Task
	seq  uint64
}

func (q *queue) Len() int { return len(q.items) }
func (q *queue) Less(i, j int) bool {
	a, b := q.items[i].task, q.items[j].task
	if q.before != nil {
		if q.before(a, b) {
			return true
		}
		if q.before(b, a) {
			return false
		}
	}
	if a.Priority != b.Priority {
		return a.Priority.Less(b.Priority)
	}
	return a.ID < b.ID
}
func (q *queue) Swap(i, j int) { q.items[i], q.items[j] = q.items[j], q.items[i] }
func (q *queue) Push(x any)    { q.items = append(q.items, x.(entry)) }
func (q *queue) Pop() any {
	last := len(q.items) - 1
	x := q.items[last]
	q.items = q.items[:last]
	return x
}

func (q *queue) push(t *Task) {
	q.seq++
	t.ticket = q.seq
	heap.Push(q, entry{t, q.seq})
}

// waiting reports whether the entry still stands for a task that waits.
func (e entry) waiting() bool {
	return e.task.Phase == Queued && !e.task.reserved && !e.task.Gone && e.task.ticket == e.seq
}

// peek returns the first task that waits, or nil.
func (q *queue) peek() *Task {
	for len(q.items) > 0 {
		if q.items[0].waiting() {
			return q.items[0].task
		}
		if dead := heap.Pop(q).(entry); dead.task.ticket == dead.seq {
			dead.task.ticket = 0
		}
	}
	return nil
}

// pop removes what peek returned.
func (q *queue) pop() {
	heap.Pop(q).(entry).task.ticket = 0
}

// holds reports whether the task waits in the queue.
func (q *queue) holds(t *Task) bool { return t.ticket != 0 }
