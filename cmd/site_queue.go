package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/das"
	queue "github.com/esched/esched/reserve/local"
	"github.com/esched/esched/reserve/slurm"
	"github.com/esched/esched/reserve/static"
	"github.com/esched/esched/runners/record"
)

const (
	// outageLimit is how long a queue may fail to answer while esched waits for
	// nodes: restarts of controllers take minutes.
	outageLimit = 10 * time.Minute
	// watchPause is the least time between two questions about a reservation
	// that runs.
	watchPause = 30 * time.Second
	// confirmPause is the time until the second question when a reservation
	// seems to be gone.
	confirmPause = 5 * time.Second
	// freshAnswer is how old an answer may be to vouch for a node.
	freshAnswer = time.Minute
	// staleAnswer is how old it may be when the queue does not answer.
	staleAnswer = 5 * time.Minute
)

// newReserver returns the queue of a cluster.
func (p Process) newReserver(o clusterOptions) (reserve.Reserver, error) {
	profile := reserve.Profile{Ledger: p.ledger(), Now: p.Now, Cluster: o.Name, MaxNodes: o.MaxNodes, Policy: o.timePolicy()}
	batch := reserve.Batch{
		Profile: profile, Exec: p.exec, Partition: o.Partition, Account: o.Account, Constraint: o.Constraint, Native: o.Native,
	}
	switch o.Kind {
	case clusterLocal:
		return queue.New(queue.Config{Profile: profile}), nil
	case clusterStatic:
		return static.New(static.Config{Profile: profile, Hosts: o.Hosts}), nil
	case clusterDAS:
		return das.New(das.Config{Batch: batch, User: p.login("")}), nil
	case clusterSLURM:
		batch.Native = o.nativeArguments()
		return slurm.New(batch), nil
	}
	return nil, usageError("use the version of esched that made the run", "unknown kind of cluster %q", o.Kind)
}

// ledger is where this user's reservations are noted.
func (p Process) ledger() *reserve.Ledger {
	return reserve.OpenLedger(filepath.Join(p.stateDir(), "ledger"))
}

// holding is a reservation with the queue's last answer about it. Its methods
// may be called from several goroutines.
type holding struct {
	reserve.Reservation
	now func() time.Time

	mu    sync.Mutex // held while the queue is asked: one question serves all
	last  reserve.Status
	asked time.Time
	until atomic.Pointer[time.Time] // the deadline in last; nil before the first answer
}

// ask asks the queue, unless its last answer is younger than that.
func (h *holding) ask(ctx context.Context, younger time.Duration) (reserve.Status, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.asked.IsZero() && h.now().Sub(h.asked) < younger {
		return h.last, nil
	}
	s, err := h.Status(ctx)
	if err != nil {
		return h.last, err
	}
	h.last, h.asked = s, h.now()
	h.until.Store(&s.Deadline)
	return s, nil
}

// extend asks the queue for so much more time, and returns the new deadline.
func (h *holding) extend(ctx context.Context, by time.Duration) (time.Time, error) {
	e, ok := h.Reservation.(reserve.Extender)
	if !ok {
		return time.Time{}, reserve.ErrFixed
	}
	h.mu.Lock() // an older answer must not come after this one
	defer h.mu.Unlock()
	deadline, err := e.Extend(ctx, by)
	if err == nil {
		h.last.Deadline = deadline
		h.until.Store(&deadline)
	}
	return deadline, err
}

// held tells whether the nodes were ours when the queue last answered, and
// their time is not over.
func (h *holding) held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last.State == reserve.Running && (h.last.Deadline.IsZero() || h.now().Before(h.last.Deadline))
}

// deadline is when the queue takes the nodes back, as it last said; zero when
// it does not. It waits for no question that is under way.
func (h *holding) deadline() time.Time {
	if at := h.until.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// permit returns why a node must not be contacted: only nodes of a running
// reservation may.
func (h *holding) permit(ctx context.Context, host string) error {
	s, err := h.ask(ctx, freshAnswer)
	if err != nil {
		h.mu.Lock()
		old := h.now().Sub(h.asked) > staleAnswer || !s.Deadline.IsZero() && !h.now().Before(s.Deadline)
		h.mu.Unlock()
		if old {
			return fmt.Errorf("reservation %s may be over: %w", h.ID(), err)
		}
	}
	switch {
	case s.State != reserve.Running:
		return fmt.Errorf("reservation %s is not running: %s %s", h.ID(), s.State, s.Reason)
	case !slices.Contains(s.Hosts, host):
		return fmt.Errorf("%s is not in reservation %s", host, h.ID())
	}
	return nil
}

// pollPause is the time until the next question to a queue that was first
// asked that long ago. Nodes that are free are granted within seconds; after
// that, nobody is helped by asking often.
func pollPause(waited, least time.Duration) time.Duration {
	if waited < 5*time.Second {
		return time.Second
	}
	pause := 30 * time.Second
	for _, step := range []struct{ until, pause time.Duration }{
		{time.Minute, 5 * time.Second}, {5 * time.Minute, 10 * time.Second}, {15 * time.Minute, 15 * time.Second},
	} {
		if waited < step.until {
			pause = step.pause
			break
		}
	}
	return max(pause, least)
}

// wait is a wait for nodes.
type wait struct {
	*holding
	tell   func(record.Event)
	poll   time.Duration // the least time between questions
	bound  time.Duration
	resume string // command that goes on with the run later

	began  time.Time
	news   string    // what was told last
	outage time.Time // when the queue began not to answer; zero while it does
}

// await asks the queue until the nodes are there.
func (w *wait) await(ctx context.Context) (reserve.Status, error) {
	if w.bound <= 0 {
		w.bound = defaultQueueWait
	}
	w.began = w.now()
	for {
		status, err := w.ask(ctx, 0)
		switch {
		case ctx.Err() != nil:
			return status, context.Cause(ctx)
		case err != nil:
			if err := w.noAnswer(err); err != nil {
				return status, err
			}
		case w.tellStatus(status):
			return status, nil
		case status.State == reserve.Failed || status.State == reserve.Gone || status.State == reserve.Released:
			err := fmt.Errorf("reservation %s is %s: %s", w.ID(), status.State, status.Reason)
			return status, hint.WithExit(hint.With(err, w.resume), hint.ExitNoNodes)
		}
		waited := w.now().Sub(w.began)
		if waited >= w.bound {
			return status, w.tooLong(status)
		}
		timer := time.NewTimer(min(pollPause(waited, w.poll), w.bound-waited))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return status, context.Cause(ctx)
		}
	}
}

// tellStatus tells an answer that is news, and returns whether the nodes are
// there.
func (w *wait) tellStatus(s reserve.Status) bool {
	news := string(s.State) + evidence(s)
	if !w.outage.IsZero() {
		w.outage, w.news = time.Time{}, ""
	}
	if news != w.news {
		w.news = news
		w.tell(record.Event{Kind: record.EventReservation, State: string(s.State), Message: strings.TrimSpace(w.ID() + " " + evidence(s)),
			Reservation: w.ID(), Start: s.Start, Deadline: s.Deadline})
	}
	return s.State == reserve.Running
}

// noAnswer tells once that the queue does not answer, and returns an error
// when that has lasted too long.
func (w *wait) noAnswer(err error) error {
	now := w.now()
	if w.outage.IsZero() {
		w.outage = now
		w.tell(record.Event{Kind: record.EventWarning,
			Message: fmt.Sprintf("the queue does not answer (%v); waiting for it for up to %s", err, outageLimit)})
	}
	if now.Sub(w.outage) < outageLimit {
		return nil
	}
	return fmt.Errorf("the queue has not answered for %s: %w", outageLimit, err)
}

// tooLong is the error of a wait that reached its bound.
func (w *wait) tooLong(s reserve.Status) error {
	err := fmt.Errorf("reservation %s: no nodes within %s (queue_wait): %s", w.ID(), w.bound, strings.TrimSpace(string(s.State)+" "+evidence(s)))
	return hint.WithExit(hint.With(err, "ask for fewer nodes, or later: "+w.resume), hint.ExitNoNodes)
}

// evidence says what the queue said.
func evidence(s reserve.Status) string {
	text := s.Reason
	if len(s.Hosts) > 0 {
		text = strings.TrimSpace(strings.Join(s.Hosts, " ") + " " + text)
	}
	if s.State == reserve.Pending && !s.Start.IsZero() {
		text += ", estimated start " + s.Start.Format(time.TimeOnly)
	}
	if !s.Deadline.IsZero() {
		text += ", until " + s.Deadline.Format(time.TimeOnly)
	}
	return strings.TrimPrefix(text, ", ")
}

// errTaken is wrapped by the reasons for which a claim ends before its time.
var errTaken = errors.New("reservation lost")

// watch asks for the state of a running reservation until ctx is done, and
// calls taken with the reason when it runs no longer. Missing nodes are given
// to shrunk.
func (h *holding) watch(ctx context.Context, pause time.Duration, hosts []string, shrunk func(host string), taken func(error)) {
	pause = max(pause, watchPause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	gone := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(pause)
		s, err := h.ask(ctx, confirmPause/2)
		if err != nil {
			continue // an outage ends nothing that runs
		}
		if s.State == reserve.Running {
			gone = 0
			hosts = slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
				missing := !slices.Contains(s.Hosts, host)
				if missing {
					shrunk(host)
				}
				return missing
			})
			continue
		}
		// A listing may be incomplete while a controller restarts.
		if gone++; gone > 1 || s.State == reserve.Failed {
			taken(h.over(s))
			return
		}
		timer.Reset(confirmPause)
	}
}
