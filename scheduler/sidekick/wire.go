package sidekick

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/esched/esched/scheduler"
)

// The protocol. All integers are little-endian.
//
// Python to Go: frames of u32 length and packed records, each a u8 tag and
// the fields below. Fire-and-forget records cost no reaction of their own: the
// core applies all records of a frame and reacts at its end. The requests (ask,
// sync, starving, policy) are answered where they stand, from the records
// before them; a frame holds at most one or two of those. Nothing but frames
// makes the core react, so that a log of frames replays exactly.
//
//	hello      u32 version, f64 saturation           first record of a connection
//	worker     u16 worker, u16 threads, u64 memory limit
//	gone       u16 worker
//	paused     u16 worker
//	resumed    u16 worker
//	metrics    u16 worker, u64 memory used, f32 delay
//	graph      u32 n, then n tasks as u32 words:
//	           id, prefix << 8 | flags, user priority (i32), generation (f32),
//	           order, number of inputs, inputs...
//	queued     u32 task
//	placed     u32 task, u16 worker
//	finished   u32 task, u16 worker, u64 bytes, u32 microseconds
//	erred      u32 task
//	released   u32 task
//	forgotten  u32 task
//	seceded    u32 task
//	replica+   u32 task, u16 worker, u64 bytes
//	replica-   u32 task, u16 worker
//	ask        u32 request, u32 task, u16 n, n x u16 candidate workers (0: all)
//	sync       u32 request                            answered when all before is done
//	starving   u32 request                            a slot is free, nothing reserved
//	policy     u32 request, u64 seed, f32 window (s; -1: the service's own),
//	           u8 length, name
//
// Go to Python: records of 8 bytes, u8 kind, u8 status, u16 worker, u32 id.
//
//	hint       worker, task          next       worker, task
//	slots      worker, number        answer     worker (0: hold), task
//	end        request, status 0 or 1 (refused: unknown policy)
//	anew                               what was said of hints and next is void:
//	                                   a new policy decides
//
// All replies to what precedes a request precede its end.

// Version of the protocol; both halves must agree.
const Version = 2

// ownWindow stands for the window that the service was started with.
const ownWindow = -1

const (
	tagHello = iota + 1
	tagWorker
	tagGone
	tagPaused
	tagResumed
	tagMetrics
	tagGraph
	tagQueued
	tagPlaced
	tagFinished
	tagErred
	tagReleased
	tagForgotten
	tagSeceded
	tagReplicaAdded
	tagReplicaRemoved
	tagAsk
	tagSync
	tagStarving
	tagPolicy
)

const (
	replyHint = iota + 1
	replyNext
	replySlots
	replyAnswer
	replyEnd
	replyAnew
)

// Limits on what a frame may name, so that a damaged one cannot make the
// state grow beyond a multiple of what was read. Ids are given out in order,
// and a task takes minTaskBytes in a frame, so that a larger id than all that
// was read can have introduced is damage.
const (
	maxFrame     = 256 << 20
	maxTask      = 1 << 26
	maxPrefix    = 1 << 20
	minTaskBytes = 4 // as an input, whose own record follows
	slackTasks   = 64
	maxBytes     = 1 << 48 // of a result or a memory; sums of it stay below an int64
)

// simple are the records that are one event with a task, a worker or both.
var simple = [...]struct {
	kind         scheduler.EventKind
	task, worker bool
}{
	tagGone:           {scheduler.WorkerRemoved, false, true},
	tagPaused:         {scheduler.WorkerPaused, false, true},
	tagResumed:        {scheduler.WorkerResumed, false, true},
	tagQueued:         {scheduler.TaskQueued, true, false},
	tagPlaced:         {scheduler.TaskPlaced, true, true},
	tagErred:          {scheduler.TaskErred, true, false},
	tagReleased:       {scheduler.TaskReleased, true, false},
	tagForgotten:      {scheduler.TaskForgotten, true, false},
	tagSeceded:        {scheduler.TaskSeceded, true, false},
	tagReplicaRemoved: {scheduler.ReplicaRemoved, true, true},
}

var errShort = errors.New("record is cut off")

// reader takes fields off a frame. After an error all further fields are 0.
type reader struct {
	b       []byte
	maxTask uint32
	err     error
}

func (r *reader) take(n int) []byte {
	if len(r.b) < n {
		if r.err == nil {
			r.err = errShort
		}
		r.b = nil
		return make([]byte, max(n, 0))
	}
	x := r.b[:n]
	r.b = r.b[n:]
	return x
}

func (r *reader) u8() uint8    { return r.take(1)[0] }
func (r *reader) u16() uint16  { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32  { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64  { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) f32() float64 { return float64(math.Float32frombits(r.u32())) }
func (r *reader) f64() float64 { return math.Float64frombits(r.u64()) }

func (r *reader) task() scheduler.TaskID {
	id := r.u32()
	if id > r.maxTask {
		r.err, r.b = fmt.Errorf("task id %d is beyond %d", id, r.maxTask), nil
		return 0
	}
	return scheduler.TaskID(id)
}

func (r *reader) worker() scheduler.WorkerID { return scheduler.WorkerID(r.u16()) }

func (r *reader) bytes() int64 { return int64(min(r.u64(), maxBytes)) }

// replies collects the records of an answer.
type replies struct{ b []byte }

func (r *replies) add(kind, status uint8, worker scheduler.WorkerID, id uint32) {
	r.b = append(r.b, kind, status)
	r.b = binary.LittleEndian.AppendUint16(r.b, uint16(worker))
	r.b = binary.LittleEndian.AppendUint32(r.b, id)
}

func (r *replies) instructions(list []scheduler.Instruction) {
	for _, i := range list {
		switch i.Kind {
		case scheduler.Hint:
			r.add(replyHint, 0, i.Worker, uint32(i.Task))
		case scheduler.Reserve:
			r.add(replyNext, 0, i.Worker, uint32(i.Task))
		case scheduler.Slots:
			r.add(replySlots, 0, i.Worker, i.N)
		}
	}
}
