package scheduler

import "slices"

// apply changes the state by one event. Events about tasks or workers that
// the state does not know are ignored: a driver may tell of a task's end after
// its worker's removal.
func (s *State) apply(e Event) {
	switch e.Kind {
	case WorkerAdded:
		s.addWorker(e)
	case WorkerRemoved:
		if w := s.Worker(e.Worker); w != nil {
			s.removeWorker(w)
		}
	case WorkerPaused, WorkerResumed:
		if w := s.Worker(e.Worker); w != nil {
			w.Running = e.Kind == WorkerResumed
			s.refreshRunning()
		}
	case WorkerMetrics:
		if w := s.Worker(e.Worker); w != nil {
			w.used, w.usedAt, w.Delay = e.Bytes, w.Stored, e.Delay
		}
	case TaskAdded:
		s.addTask(e)
	case ReplicaAdded, ReplicaRemoved:
		s.applyReplica(e)
	default:
		if t := s.Task(e.Task); t != nil {
			s.applyTask(t, e)
		}
	}
}

func (s *State) applyTask(t *Task, e Event) {
	switch e.Kind {
	case TaskQueued:
		if t.available() {
			s.release(t)
		}
		s.leave(t)
		t.Phase, t.Worker = Queued, nil
		s.queued = append(s.queued, t)
	case TaskPlaced:
		if w := s.Worker(e.Worker); w != nil {
			s.place(t, w)
		}
	case TaskFinished:
		t.Prefix.observe(e.Seconds, float64(e.Bytes))
		w := s.Worker(e.Worker)
		if w == nil {
			return // its removal released the task already
		}
		available := t.available()
		s.leave(t)
		for _, r := range t.Replicas {
			r.Stored += e.Bytes - t.Bytes
		}
		t.Phase, t.Worker, t.Bytes = InMemory, w, e.Bytes
		s.addReplica(t, w)
		if !available {
			s.announce(t)
		}
	case TaskSeceded:
		if t.Phase == Placed && !t.seceded && t.Worker != nil {
			t.seceded = true
			t.Worker.Processing--
			t.Worker.addWork(t, -1)
			t.cost = 0
		}
	case TaskReleased, TaskErred, TaskForgotten:
		s.release(t)
		switch e.Kind {
		case TaskErred:
			t.Phase = Failed
		case TaskForgotten:
			s.forget(t)
		}
	}
}

func (s *State) addWorker(e Event) {
	if s.Worker(e.Worker) != nil {
		return
	}
	w := &Worker{
		ID: e.Worker, Threads: max(1, int(e.Threads)), Running: true, MemoryLimit: e.MemoryLimit,
	}
	for int(w.ID) >= len(s.byID) {
		s.byID = append(s.byID, nil)
	}
	s.byID[w.ID] = w
	at, _ := slices.BinarySearchFunc(s.Workers, w.ID, func(x *Worker, id WorkerID) int { return int(x.ID) - int(id) })
	s.Workers = slices.Insert(s.Workers, at, w)
	s.refreshRunning()
}

// removeWorker forgets a worker, its replicas and what was planned or placed
// there. The driver tells afterwards what becomes of the tasks.
func (s *State) removeWorker(w *Worker) {
	w.removed, w.Running = true, false
	s.byID[w.ID] = nil
	s.Workers = slices.DeleteFunc(s.Workers, func(x *Worker) bool { return x == w })
	s.refreshRunning()
	for _, t := range s.tasks {
		if t == nil {
			continue
		}
		wasAvailable := t.available()
		t.Replicas = slices.DeleteFunc(t.Replicas, func(x *Worker) bool { return x == w })
		if t.Worker == w {
			s.leave(t)
			t.Worker = nil
			if t.Phase == Placed {
				t.Phase = Released
			}
		}
		if t.Phase == InMemory && len(t.Replicas) == 0 {
			t.Phase, t.Worker = Released, nil
		}
		if wasAvailable && !t.available() {
			s.retract(t)
		}
	}
}

func (s *State) refreshRunning() {
	s.running = s.running[:0]
	for _, w := range s.Workers {
		if w.Running {
			s.running = append(s.running, w)
		}
	}
}

func (s *State) addTask(e Event) {
	t := s.need(e.Task)
	if t.Worker != nil { // counted there under its old flags
		t.Worker.addWork(t, -1)
		t.Flags = e.Flags
		t.Worker.addWork(t, +1)
	}
	t.Flags, t.Priority = e.Flags, e.Priority
	if t.known { // submitted again: how urgent it is may be new, its inputs are not
		return
	}
	t.known = true
	t.Prefix = s.prefix(e.Prefix)
	s.fresh = append(s.fresh, t)
	if len(e.Deps) > 0 {
		t.Deps = make([]*Task, 0, len(e.Deps))
		for _, id := range e.Deps {
			if id == e.Task {
				continue
			}
			d := s.need(id)
			t.Deps = append(t.Deps, d)
			d.Dependents = append(d.Dependents, t)
			if !d.available() {
				t.missing++
			}
		}
	}
	if t.missing == 0 && t.Phase == Waiting {
		s.ready = append(s.ready, t)
	}
}

// need returns a task by ID and makes it when it is not there: within a graph
// tasks may be named as inputs before they are added.
func (s *State) need(id TaskID) *Task {
	if t := s.Task(id); t != nil {
		return t
	}
	for int(id) >= len(s.tasks) {
		s.tasks = append(s.tasks, nil)
	}
	t := &Task{ID: id, Phase: Waiting, Prefix: s.prefix(0)}
	s.tasks[id] = t
	s.live++
	return t
}

// place records that a task was sent to w, whatever was planned before.
func (s *State) place(t *Task, w *Worker) {
	if t.Phase == InMemory {
		s.release(t)
	}
	wasAvailable := t.available()
	s.leave(t)
	t.Phase, t.Worker, t.cost = Placed, w, t.Prefix.Expected()
	w.Processing++
	w.addWork(t, +1)
	if !wasAvailable {
		s.announce(t)
	}
}

// plan records that the core chose w for a task that is not placed yet.
func (s *State) plan(t *Task, w *Worker) {
	s.leave(t)
	t.Worker, t.cost = w, t.Prefix.Expected()
	if t.Phase == Queued {
		t.reserved = true
		w.reserved++
	} else {
		t.planned = true
		w.planned++
	}
	w.addWork(t, +1)
}

func (w *Worker) addWork(t *Task, sign float64) {
	w.Work += sign * t.cost
	if t.Flags&Root == 0 {
		w.Downstream += sign * t.cost
	}
	if w.Processing+w.planned+w.reserved == 0 {
		w.Work, w.Downstream = 0, 0 // no drift of rounding errors over millions of tasks
	}
}

// leave undoes what the task's plan or placement counted on its worker. The
// caller sets the phase that follows.
func (s *State) leave(t *Task) {
	w := t.Worker
	switch {
	case w == nil:
		return
	case t.reserved:
		w.reserved--
	case t.planned:
		w.planned--
	case t.Phase == Placed:
		if !t.seceded {
			w.Processing--
		}
	default:
		return // in memory: Worker only tells where it was computed
	}
	t.planned, t.reserved, t.seceded = false, false, false
	w.addWork(t, -1)
	t.cost = 0
}

// release drops a task's result, placement or place in the queue.
func (s *State) release(t *Task) {
	wasAvailable := t.available()
	s.leave(t)
	for _, w := range t.Replicas {
		w.Stored -= t.Bytes
	}
	t.Replicas = t.Replicas[:0]
	t.Phase, t.Worker = Released, nil
	if wasAvailable {
		s.retract(t)
	}
}

// announce tells the dependents that an input became available.
func (s *State) announce(t *Task) {
	for _, d := range t.Dependents {
		if d.Gone {
			continue
		}
		if d.missing--; d.missing == 0 && (d.Phase == Waiting || d.Phase == Released) {
			s.ready = append(s.ready, d)
		}
	}
}

// retract tells the dependents that an input is available no more.
func (s *State) retract(t *Task) {
	for _, d := range t.Dependents {
		if !d.Gone {
			d.missing++
		}
	}
}

func (s *State) forget(t *Task) {
	t.Gone = true
	s.tasks[t.ID] = nil
	s.live--
	for _, d := range t.Deps {
		// Removing t from a list of n dependents costs n; a persisted input may
		// see millions come and go. So the list is swept when half of it is dead.
		if d.dead++; d.dead > 32 && d.dead > len(d.Dependents)/2 {
			d.Dependents = slices.DeleteFunc(d.Dependents, func(x *Task) bool { return x.Gone })
			d.dead = 0
		}
	}
	t.Deps, t.Dependents = nil, nil
}

func (s *State) applyReplica(e Event) {
	t, w := s.Task(e.Task), s.Worker(e.Worker)
	if t == nil || w == nil {
		return
	}
	wasAvailable := t.available()
	if e.Kind == ReplicaAdded {
		if t.Phase != InMemory { // scattered data, or computed unseen
			s.leave(t)
			t.Phase, t.Bytes = InMemory, e.Bytes
		}
		s.addReplica(t, w)
		if !wasAvailable {
			s.announce(t)
		}
		return
	}
	if at := slices.Index(t.Replicas, w); at >= 0 {
		t.Replicas = slices.Delete(t.Replicas, at, at+1)
		w.Stored -= t.Bytes
	}
	if t.Phase == InMemory && len(t.Replicas) == 0 {
		t.Phase, t.Worker = Released, nil
		s.retract(t)
	}
}

func (s *State) addReplica(t *Task, w *Worker) {
	if !slices.Contains(t.Replicas, w) {
		t.Replicas = append(t.Replicas, w)
		w.Stored += t.Bytes
	}
}
