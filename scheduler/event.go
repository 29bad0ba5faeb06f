package scheduler

// TaskID names a task within one core. The driver chooses it; small dense
// numbers keep the state compact.
type TaskID uint32

// WorkerID names a worker within one core. A driver must not use an id again
// for another worker.
type WorkerID uint16

// EventKind tells what happened.
type EventKind uint8

// The kinds of events and the fields of [Event] that each of them uses.
const (
	WorkerAdded    EventKind = iota + 1 // Worker, Threads, MemoryLimit; running
	WorkerRemoved                       // Worker
	WorkerPaused                        // Worker: takes no new tasks, keeps its data
	WorkerResumed                       // Worker
	WorkerMetrics                       // Worker, Bytes (memory in use), Delay
	TaskAdded                           // Task, Prefix, Flags, Priority, Deps
	TaskQueued                          // Task: ready, waits for a worker with room
	TaskPlaced                          // Task, Worker: was sent to a worker
	TaskFinished                        // Task, Worker, Bytes, Seconds
	TaskErred                           // Task
	TaskReleased                        // Task: neither queued, placed nor in memory
	TaskForgotten                       // Task: will not be named again
	TaskSeceded                         // Task: runs on, but occupies no slot
	ReplicaAdded                        // Task, Worker, Bytes
	ReplicaRemoved                      // Task, Worker
)

// Flags of a task.
type Flags uint8

const (
	// Root marks a task of a large group with few or no dependencies. It is
	// bound late: it waits in the core's queue until a worker has room.
	Root Flags = 1 << iota
	// Constrained marks a task that only some workers may run (restrictions,
	// resources, actors). It is decided when it is ready, among the workers the
	// driver names.
	Constrained
)

// Priority orders tasks as their submitter wants: smaller runs first, fields
// compared from first to last.
type Priority struct {
	User       int32   // minus the user's priority
	Generation float32 // of the submission
	Order      uint32  // within the graph
}

// Less reports whether p runs before q.
func (p Priority) Less(q Priority) bool {
	if p.User != q.User {
		return p.User < q.User
	}
	if p.Generation != q.Generation {
		return p.Generation < q.Generation
	}
	return p.Order < q.Order
}

// Event is one change of the cluster or of a graph. Which fields are used
// depends on the kind.
type Event struct {
	Kind        EventKind
	Flags       Flags
	Worker      WorkerID
	Threads     uint16
	Task        TaskID
	Prefix      uint32 // names the tasks' function; tasks with one prefix take similar time
	Priority    Priority
	Deps        []TaskID // valid until Apply returns
	MemoryLimit int64    // bytes, 0 for none
	Bytes       int64
	Seconds     float64
	Delay       float64 // seconds between the worker's clock stamp and its receipt
}
