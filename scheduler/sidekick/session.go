package sidekick

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/esched/esched/scheduler"
	"github.com/esched/esched/scheduler/policies"
)

// Session is one connection's conversation, without the connection: frames
// in, replies out. The same frames give the same replies.
type Session struct {
	policy string
	seed   uint64
	window time.Duration // 0: Dask's own depth
	core   *scheduler.Core
	out    replies
	deps   []scheduler.TaskID
	cand   []*scheduler.Worker
	read   int // bytes of all frames
}

// NewSession returns a session that decides by the named policy until a frame
// changes it. Workers hold as many tasks as their duration suggests or, with
// stock, as many as Dask gives them by itself.
func NewSession(policy string, seed uint64, stock bool) (*Session, error) {
	if _, err := policies.New(policy, seed); err != nil {
		return nil, err
	}
	s := &Session{policy: policy, seed: seed, window: scheduler.DefaultWindow}
	if stock {
		s.window = 0
	}
	return s, nil
}

// Frame applies the records of one frame and returns the replies, valid until
// the next call. After an error the session is of no more use: the mirror is
// not what Dask is.
func (s *Session) Frame(frame []byte) ([]byte, error) {
	s.out.b = s.out.b[:0]
	s.read += len(frame)
	r := &reader{b: frame, maxTask: uint32(min(s.read/minTaskBytes+slackTasks, maxTask))}
	for len(r.b) > 0 && r.err == nil {
		tag := r.u8()
		if s.core == nil && tag != tagHello {
			return nil, errors.New("conversation does not begin with hello")
		}
		if err := s.record(tag, r); err != nil {
			return nil, err
		}
		if r.err != nil {
			return nil, fmt.Errorf("record with tag %d: %w", tag, r.err)
		}
	}
	if s.core != nil {
		s.out.instructions(s.core.React())
	}
	return s.out.b, nil
}

func (s *Session) record(tag uint8, r *reader) error {
	switch tag {
	case tagHello:
		return s.hello(r)
	case tagWorker:
		e := scheduler.Event{Kind: scheduler.WorkerAdded, Worker: r.worker(), Threads: r.u16(), MemoryLimit: r.bytes()}
		s.apply(r, e)
	case tagMetrics:
		e := scheduler.Event{Kind: scheduler.WorkerMetrics, Worker: r.worker(), Bytes: r.bytes(), Delay: r.f32()}
		s.apply(r, e)
	case tagFinished:
		e := scheduler.Event{Kind: scheduler.TaskFinished, Task: r.task(), Worker: r.worker(), Bytes: r.bytes()}
		e.Seconds = float64(r.u32()) / 1e6
		s.apply(r, e)
	case tagReplicaAdded:
		s.apply(r, scheduler.Event{Kind: scheduler.ReplicaAdded, Task: r.task(), Worker: r.worker(), Bytes: r.bytes()})
	case tagGraph:
		s.graph(r)
	case tagAsk:
		s.ask(r)
	case tagSync:
		request := r.u32()
		s.out.instructions(s.core.React())
		s.out.add(replyEnd, 0, 0, request)
	case tagStarving:
		request := r.u32()
		s.out.instructions(s.core.Starving())
		s.out.add(replyEnd, 0, 0, request)
	case tagPolicy:
		s.choose(r)
	default:
		if int(tag) >= len(simple) || simple[tag].kind == 0 {
			return fmt.Errorf("unknown record with tag %d", tag)
		}
		e := scheduler.Event{Kind: simple[tag].kind}
		if simple[tag].task {
			e.Task = r.task()
		}
		if simple[tag].worker {
			e.Worker = r.worker()
		}
		s.apply(r, e)
	}
	return nil
}

func (s *Session) apply(r *reader, e scheduler.Event) {
	if r.err == nil {
		s.core.Apply(e)
	}
}

func (s *Session) hello(r *reader) error {
	if v := r.u32(); v != Version && r.err == nil {
		return fmt.Errorf("preload speaks version %d of the protocol, this binary version %d", v, Version)
	}
	policy, err := policies.New(s.policy, s.seed)
	if err != nil {
		return err
	}
	s.core = scheduler.New(scheduler.Config{
		Policy: policy, Saturation: r.f64(), Window: s.window,
	})
	return nil
}

func (s *Session) graph(r *reader) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		e := scheduler.Event{Kind: scheduler.TaskAdded, Task: r.task()}
		word := r.u32()
		e.Prefix, e.Flags = word>>8, scheduler.Flags(word)
		e.Priority = scheduler.Priority{User: int32(r.u32()), Generation: float32(r.f32()), Order: r.u32()}
		deps := r.u32()
		if e.Prefix > maxPrefix || int64(deps)*4 > int64(len(r.b)) {
			r.err = errShort
			return
		}
		s.deps = s.deps[:0]
		for range deps {
			s.deps = append(s.deps, r.task())
		}
		e.Deps = s.deps
		s.apply(r, e)
	}
}

func (s *Session) ask(r *reader) {
	request, task, n := r.u32(), r.task(), r.u16()
	s.cand = s.cand[:0]
	for range n {
		if w := s.core.State.Worker(r.worker()); w != nil && w.Running {
			s.cand = append(s.cand, w)
		}
	}
	if r.err != nil {
		return
	}
	slices.SortFunc(s.cand, func(a, b *scheduler.Worker) int { return int(a.ID) - int(b.ID) })
	var chosen scheduler.WorkerID
	if n == 0 || len(s.cand) > 0 {
		if w := s.core.Decide(task, s.cand); w != nil {
			chosen = w.ID
		}
	}
	s.out.add(replyAnswer, 0, chosen, uint32(task))
	s.out.add(replyEnd, 0, 0, request)
}

func (s *Session) choose(r *reader) {
	request, seed, window := r.u32(), r.u64(), r.f32()
	name := string(r.take(int(r.u8())))
	if r.err != nil {
		return
	}
	if window == ownWindow {
		window = s.window.Seconds()
	}
	policy, err := policies.New(name, seed)
	if err != nil || window < 0 || math.IsNaN(window) || window > 3600 {
		s.out.add(replyEnd, 1, 0, request)
		return
	}
	s.out.add(replyAnew, 0, 0, 0)
	s.core.Configure(scheduler.Config{Policy: policy, Window: time.Duration(window * float64(time.Second))})
	s.out.instructions(s.core.React())
	s.out.add(replyEnd, 0, 0, request)
}
