package scheduler

// Phase is a task's place in its life.
type Phase uint8

// The phases of a task.
//
//	Waiting --TaskQueued--> Queued --TaskPlaced--> Placed --TaskFinished--> InMemory
//	Waiting --TaskPlaced--------------------------> Placed
//	any     --TaskReleased--> Released --TaskQueued, TaskPlaced--> (computed again)
//	any     --TaskErred-----> Failed
const (
	Waiting  Phase = iota // known; some input is missing, or it was not asked for yet
	Queued                // ready; waits in the core's queue
	Placed                // sent to a worker
	InMemory              // finished; at least one replica
	Released              // was computed, or wanted, and is no longer
	Failed
)

// Task is a node of a task graph. Policies may read all of it and must not
// change it.
type Task struct {
	ID       TaskID
	Flags    Flags
	Phase    Phase
	Prefix   *Prefix
	Priority Priority
	// BLevel is the length in seconds of the longest path from the task's start
	// to the end of its graph, by the durations known when it was submitted and
	// one unit where none was.
	BLevel float64
	// Deps are its inputs. Dependents may contain tasks that were forgotten:
	// skip those with Gone.
	Deps       []*Task
	Dependents []*Task
	// Worker is where it is planned (a hint or a reservation), placed, or was
	// computed; nil when none of it.
	Worker *Worker
	// Replicas are the workers that hold its result, Bytes its size.
	Replicas []*Worker
	Bytes    int64
	// Gone marks a forgotten task.
	Gone bool

	known    bool    // was added, not only named as an input
	planned  bool    // counted in Worker.planned
	reserved bool    // a queued task reserved for a slot of Worker
	seceded  bool    // placed, but occupies no slot
	cost     float64 // seconds counted in Worker.Work while placed or planned
	ticket   uint64  // its stay in the core's queue
	missing  int     // inputs that are neither placed nor in memory
	dead     int     // dependents that are gone
}

// Prefix is what tasks of the same function have in common.
type Prefix struct {
	ID uint32
	// Count is the number of finished tasks; Seconds and Bytes are moving
	// averages of their duration and result size, meaningless at Count 0.
	Count   int
	Seconds float64
	Bytes   float64
}

// decay is the weight of the newest value in the moving averages of a prefix:
// an eighth, as in TCP's smoothed round-trip time (RFC 6298), follows a change
// within some ten tasks and forgets a stray one.
const decay = 1.0 / 8

func (p *Prefix) observe(seconds, bytes float64) {
	p.Count++
	if p.Count == 1 {
		p.Seconds, p.Bytes = seconds, bytes
		return
	}
	p.Seconds += decay * (seconds - p.Seconds)
	p.Bytes += decay * (bytes - p.Bytes)
}

// UnknownSeconds is the duration assumed for a task of which nothing is known
// yet, and UnknownBytes its result size. Both are small on purpose: the first
// results correct them within milliseconds, and a large guess would spread the
// first tasks of every graph over the whole cluster.
const (
	UnknownSeconds = 1e-3
	UnknownBytes   = 1 << 10
)

// Expected returns the duration in seconds to expect of a task with the
// prefix.
func (p *Prefix) Expected() float64 {
	if p.Count == 0 {
		return UnknownSeconds
	}
	return p.Seconds
}

// Size returns the size of the task's result in bytes, estimated from its
// prefix while it is not finished.
func (t *Task) Size() float64 {
	switch {
	case len(t.Replicas) > 0:
		return float64(t.Bytes)
	case t.Prefix.Count > 0:
		return t.Prefix.Bytes
	}
	return UnknownBytes
}

// On reports whether the task's result is, or will be, on w.
func (t *Task) On(w *Worker) bool {
	for _, r := range t.Replicas {
		if r == w {
			return true
		}
	}
	return len(t.Replicas) == 0 && t.Worker == w
}

// available reports whether a task can serve as an input soon: it is running
// somewhere or its result exists.
func (t *Task) available() bool { return t.Phase == Placed || t.Phase == InMemory }

// Worker is a worker process. Policies may read all of it and must not change
// it.
type Worker struct {
	ID          WorkerID
	Threads     int
	Running     bool // false: paused or leaving
	MemoryLimit int64
	// Stored is the size in bytes of the results it holds.
	Stored int64
	// Delay is the time in seconds that its last heartbeat took to arrive, as
	// far as the clocks agree.
	Delay float64
	// Processing is the number of tasks sent to it that occupy a slot.
	Processing int
	// Work is the expected duration in seconds of all tasks assigned to it and
	// not finished; Downstream the part of it that is not root tasks.
	Work       float64
	Downstream float64
	// Slots is the number of tasks it may hold before further root tasks wait.
	Slots int

	planned  int // tasks hinted to it and not placed yet
	reserved int // queued tasks reserved for it
	used     int64
	usedAt   int64 // Stored when used was reported
	removed  bool
}

// Assigned is the number of unfinished tasks that are on the worker or
// planned for it.
func (w *Worker) Assigned() int { return w.Processing + w.planned + w.reserved }

// Load is the number of assigned tasks per thread.
func (w *Worker) Load() float64 { return float64(w.Assigned()) / float64(w.Threads) }

// MemoryUsed is the memory in use in bytes: the last report, corrected by
// what was stored and released since.
func (w *Worker) MemoryUsed() int64 { return max(0, w.used+w.Stored-w.usedAt) }

// Memory is the share of the memory limit in use, 0 when there is no limit.
func (w *Worker) Memory() float64 {
	if w.MemoryLimit <= 0 {
		return 0
	}
	return float64(w.MemoryUsed()) / float64(w.MemoryLimit)
}

// State mirrors a cluster and its task graphs.
type State struct {
	// Workers are all workers present, sorted by ID.
	Workers []*Worker
	// Bandwidth between workers in bytes a second, for estimates of transfers.
	Bandwidth float64

	tasks    []*Task   // by ID
	byID     []*Worker // nil where removed
	prefixes []*Prefix
	running  []*Worker // those of Workers that run, sorted by ID
	live     int
	fresh    []*Task // added and not ranked yet
	ready    []*Task // all inputs became available, and nobody planned them yet
	queued   []*Task // became queued since the core looked
}

// DefaultBandwidth is the estimate that Dask starts from too, 100 MB/s.
const DefaultBandwidth = 100e6

func newState() *State { return &State{Bandwidth: DefaultBandwidth} }

// Running returns the workers that take new tasks, sorted by ID. The slice is
// valid until the next event.
func (s *State) Running() []*Worker { return s.running }

// Tasks is the number of tasks that are not forgotten.
func (s *State) Tasks() int { return s.live }

// Task returns a task by ID, or nil.
func (s *State) Task(id TaskID) *Task {
	if int(id) >= len(s.tasks) {
		return nil
	}
	return s.tasks[id]
}

// Worker returns a worker by ID, or nil when it is not present.
func (s *State) Worker(id WorkerID) *Worker {
	if int(id) >= len(s.byID) {
		return nil
	}
	return s.byID[id]
}

func (s *State) prefix(id uint32) *Prefix {
	for int(id) >= len(s.prefixes) {
		s.prefixes = append(s.prefixes, nil)
	}
	if s.prefixes[id] == nil {
		s.prefixes[id] = &Prefix{ID: id}
	}
	return s.prefixes[id]
}
