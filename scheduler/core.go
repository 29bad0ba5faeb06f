package scheduler

import (
	"math"
	"time"
)

// Config of a core.
type Config struct {
	// Policy decides. Required.
	Policy Policy
	// Saturation is the runtime's own number of tasks a thread may hold before
	// root tasks wait: Dask's worker-saturation. 0 is Dask's default, 1.1.
	Saturation float64
	// Window is how much work of root tasks a worker may hold ahead, per thread,
	// unless the policy is a Windower. 0 keeps the runtime's own depth.
	Window time.Duration
}

// DefaultSaturation is the default of Dask's setting
// distributed.scheduler.worker-saturation.
const DefaultSaturation = 1.1

// DefaultWindow is the adaptive depth that drivers use when the user does not
// choose: work for 10 ms covers the batching delays between Dask's scheduler
// and a worker (5 ms and 2 ms), and a task bound so early waits no longer.
const DefaultWindow = 10 * time.Millisecond

const (
	// maxSlotsPerThread bounds the adaptive depth; beyond it the gain was below
	// what could be measured, while late binding suffers.
	maxSlotsPerThread = 12
	// maxAhead bounds the reservations beyond a worker's slots, aheadSeconds is
	// the work they are to cover: the time from a task's start until a refill
	// that it caused can arrive.
	maxAhead     = 16
	aheadSeconds = 6e-3
	// memoryShare is the part of a worker's free memory that the results of the
	// tasks it holds ahead may fill.
	memoryShare = 0.1
)

// InstructionKind tells what an instruction is.
type InstructionKind uint8

// The kinds of instructions.
const (
	Hint    InstructionKind = iota + 1 // when Task becomes ready, send it to Worker
	Reserve                            // queued Task goes to Worker's next free slot
	Slots                              // Worker may hold N tasks before root tasks wait
)

// Instruction is a decision of the core that nobody has asked for yet.
type Instruction struct {
	Kind   InstructionKind
	Worker WorkerID
	Task   TaskID
	N      uint32
}

// Core joins a state and a policy.
type Core struct {
	State *State

	cfg      Config
	orderer  Orderer
	observer Observer
	windower Windower
	queue    queue
	room     []*Worker // scratch
	out      []Instruction
}

// New returns a core without workers and tasks.
func New(cfg Config) *Core {
	if cfg.Saturation <= 0 || math.IsInf(cfg.Saturation, 0) || math.IsNaN(cfg.Saturation) {
		cfg.Saturation = DefaultSaturation
	}
	c := &Core{State: newState()}
	c.Configure(cfg)
	return c
}

// Configure changes policy and depth from the next decision on. The new policy
// decides anew what was hinted or reserved and is not placed yet: what the core
// said of it is void.
func (c *Core) Configure(cfg Config) {
	if cfg.Saturation <= 0 {
		cfg.Saturation = c.cfg.Saturation
	}
	c.cfg = cfg
	c.orderer, _ = cfg.Policy.(Orderer)
	c.observer, _ = cfg.Policy.(Observer)
	c.windower, _ = cfg.Policy.(Windower)
	var before func(a, b *Task) bool
	if c.orderer != nil {
		before = func(a, b *Task) bool { return c.orderer.Before(c.State, a, b) }
	}
	c.queue = queue{before: before}
	for _, t := range c.State.tasks {
		switch {
		case t == nil:
		case t.Phase == Queued:
			c.State.leave(t)
			t.Worker = nil
			c.queue.push(t)
		case t.planned:
			c.State.leave(t)
			t.Worker = nil
			c.State.ready = append(c.State.ready, t)
		}
	}
}

// Apply changes the state by one event.
func (c *Core) Apply(e Event) {
	c.State.apply(e)
	if len(c.State.queued) > 0 {
		c.State.rank() // the queue's order must not change while a task is in it
	}
	for _, t := range c.State.queued {
		c.queue.push(t)
	}
	c.State.queued = c.State.queued[:0]
	if e.Kind == WorkerRemoved || e.Kind == WorkerPaused {
		c.requeue(e.Worker)
	}
	if c.observer != nil {
		c.observer.Observe(c.State, e)
	}
}

// requeue gives back what was reserved for a worker that takes no more tasks.
func (c *Core) requeue(id WorkerID) {
	for _, t := range c.State.tasks {
		if t == nil || t.Phase != Queued {
			continue
		}
		// The removal of a worker has cleared Worker of what was reserved there.
		if t.Worker == nil && !c.queue.holds(t) || t.Worker != nil && t.Worker.ID == id {
			c.State.leave(t)
			t.Worker = nil
			c.queue.push(t)
		}
	}
}

// React returns what the core decides after the events so far: hints for
// tasks whose inputs are all placed, reservations of queued tasks, and changed
// slots. The slice is valid until the next call.
func (c *Core) React() []Instruction {
	c.out = c.out[:0]
	c.State.rank()
	c.hint()
	c.resize()
	c.reserve(false)
	return c.out
}

// Starving is React for a runtime that has a free slot, queued tasks, and no
// reservation for them. It also takes tasks back that were reserved for workers
// without a free slot.
func (c *Core) Starving() []Instruction {
	c.out = c.out[:0]
	c.State.rank()
	c.hint()
	c.resize()
	c.reserve(true)
	return c.out
}

// Decide chooses a worker for a task that is ready now, among candidates
// sorted by ID, or among all running workers when candidates is empty. It
// returns nil when no worker runs, or when the policy holds the task.
func (c *Core) Decide(id TaskID, candidates []*Worker) *Worker {
	c.State.rank()
	t := c.State.need(id)
	if len(candidates) == 0 {
		candidates = c.State.running
	}
	if len(candidates) == 0 {
		return nil
	}
	w := c.cfg.Policy.Place(c.State, t, candidates)
	if w != nil && !t.available() {
		c.State.plan(t, w)
	}
	return w
}

// hint places the tasks that will be ready when their inputs, all placed,
// have finished.
func (c *Core) hint() {
	s := c.State
	if len(s.running) == 0 {
		s.ready = s.ready[:0]
		return
	}
	for _, t := range s.ready {
		if t.Gone || t.missing > 0 || t.planned || !t.known || t.Flags&(Root|Constrained) != 0 ||
			t.Phase != Waiting && t.Phase != Released {
			continue
		}
		w := c.cfg.Policy.Place(s, t, s.running)
		if w == nil {
			continue
		}
		s.plan(t, w)
		c.out = append(c.out, Instruction{Kind: Hint, Worker: w.ID, Task: t.ID})
	}
	s.ready = s.ready[:0]
}

// reserve gives queued tasks to workers with room, up to their slots and a few
// ahead, so that a slot that opens finds its task chosen already.
func (c *Core) reserve(starving bool) {
	s := c.State
	head := c.queue.peek()
	if head == nil {
		if starving {
			c.steal()
		}
		return
	}
	ahead := c.ahead(head)
	c.room = c.room[:0]
	for _, w := range s.running {
		// Refill only below half: few, larger batches.
		if free := w.Slots - w.Processing; w.reserved <= max(free, 0)+ahead/2 && w.reserved < free+ahead {
			c.room = append(c.room, w)
		}
	}
	for len(c.room) > 0 {
		t := c.queue.peek()
		if t == nil {
			return
		}
		w := c.cfg.Policy.Place(s, t, c.room)
		if w == nil {
			if !c.idle() {
				return
			}
			w = c.room[0] // a hold with nothing running would never end
		}
		c.queue.pop()
		s.plan(t, w)
		c.out = append(c.out, Instruction{Kind: Reserve, Worker: w.ID, Task: t.ID})
		if w.reserved >= w.Slots-w.Processing+ahead {
			for i, x := range c.room {
				if x == w {
					c.room = append(c.room[:i], c.room[i+1:]...)
					break
				}
			}
		}
	}
}

// idle reports whether no worker has anything to do.
func (c *Core) idle() bool {
	for _, w := range c.State.running {
		if w.Processing+w.reserved > 0 {
			return false
		}
	}
	return true
}

// steal moves one reserved task from each worker that has more reservations
// than free slots to a worker with a free slot and none.
func (c *Core) steal() {
	s := c.State
	var hungry []*Worker
	for _, w := range s.running {
		if w.reserved == 0 && w.Processing < w.Slots {
			hungry = append(hungry, w)
		}
	}
	if len(hungry) == 0 {
		return
	}
	for _, t := range s.tasks {
		if len(hungry) == 0 {
			return
		}
		if t == nil || !t.reserved || t.Worker.reserved <= max(0, t.Worker.Slots-t.Worker.Processing) {
			continue
		}
		w := hungry[0]
		hungry = hungry[1:]
		s.plan(t, w)
		c.out = append(c.out, Instruction{Kind: Reserve, Worker: w.ID, Task: t.ID})
	}
}

// ahead is the number of reservations beyond a worker's free slots.
func (c *Core) ahead(head *Task) int {
	n := min(maxAhead, int(math.Ceil(aheadSeconds/max(head.Prefix.Expected(), 1e-6))))
	if rest := len(c.queue.items) / (2*len(c.State.running) + 1); n > rest {
		n = rest // towards the end of the queue, bind late
	}
	return max(n, 1)
}

// resize sets each worker's slots from the duration of the task at the head
// of the queue.
func (c *Core) resize() {
	head := c.queue.peek()
	for _, w := range c.State.running {
		n := c.slots(w, head)
		// Every change is a message; one of less than a quarter changes nothing.
		if n == w.Slots || w.Slots > c.stock(w) && n > c.stock(w) && 4*abs(n-w.Slots) < w.Slots {
			continue
		}
		w.Slots = n
		c.out = append(c.out, Instruction{Kind: Slots, Worker: w.ID, N: uint32(n)})
	}
}

// stock is the runtime's own depth: Dask's _task_slots_available for an empty
// worker.
func (c *Core) stock(w *Worker) int {
	return max(1, int(math.Ceil(c.cfg.Saturation*float64(w.Threads))))
}

func (c *Core) slots(w *Worker, head *Task) int {
	stock := c.stock(w)
	window := c.cfg.Window
	if c.windower != nil {
		window = c.windower.Window(c.State, w)
	}
	if window <= 0 {
		return stock
	}
	if head == nil {
		return max(stock, w.Slots) // nothing waits: leave it
	}
	if head.Prefix.Count == 0 {
		return stock // of unknown length: bind late
	}
	n := math.Ceil(float64(w.Threads) * window.Seconds() / max(head.Prefix.Seconds, 1e-6))
	n = min(n, float64(maxSlotsPerThread*w.Threads))
	if w.MemoryLimit > 0 && head.Prefix.Bytes > 0 {
		free := float64(w.MemoryLimit - w.MemoryUsed())
		n = min(n, memoryShare*free/head.Prefix.Bytes)
	}
	return max(stock, int(n))
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
