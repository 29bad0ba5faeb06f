package runners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// Extender is implemented by a [Site] whose queue may let nodes go on beyond
// their deadline.
type Extender interface {
	// Extend asks the queue for so much more time and returns the new deadline,
	// or why there is none.
	Extend(ctx context.Context, by time.Duration) (time.Time, error)
}

// ErrFixed is returned by [Runner.Extend] when there is nothing to extend.
var ErrFixed = errors.New("claim cannot be extended")

// claim is the time for which the nodes are there.
type claim struct {
	number int  // from 1
	last   bool // no other follows

	mu       sync.Mutex // the rest changes when the claim is extended
	deadline time.Time  // zero: never
	stop     time.Time  // until when trials may run; the rest is for an orderly end
	alarm    *time.Timer
	taken    error // why the nodes were taken back early; nil when they were not
}

// runClaim reserves nodes once and runs what fits until they are taken back.
// What does not remains open, unless this was the last claim.
func (r *Runner) runClaim(ctx context.Context, number int) error {
	r.claim.number, r.claim.last = number, number >= max(r.Claims, 1)
	if refused := r.tooShort(); refused != nil {
		if number == 1 {
			return refused
		}
		r.skip = refused.Error() // learned by running: the claims before were of use
		return r.skipRest()
	}
	waiting, stopWaiting := r.whileWanted(ctx)
	grant, err := r.Site.Reserve(waiting, r.Tell)
	stopWaiting()
	defer r.release()
	if err != nil && errors.Is(context.Cause(waiting), ErrStopped) {
		return ErrStopped
	}
	if err != nil {
		return fmt.Errorf("reservation: %w", err)
	}
	r.grant = grant
	if r.Granted != nil {
		if err := r.Granted(grant); err != nil {
			return err
		}
	}
	claimed, end := r.begin(ctx)
	defer end()
	unfinished := 0 // the repetition that goes on in the next claim
	for i := 0; ; i++ {
		if i == len(r.Plan.Blocks) {
			if more, err := r.goOn(claimed); !more {
				return err
			}
		}
		b := r.Plan.Blocks[i]
		if unfinished != 0 && b.Repetition != unfinished && !r.claim.last && r.skip == "" {
			return nil // a repetition is complete before the next begins
		}
		w := &blockRun{Runner: r, Block: b, index: i, todo: r.trials[i], warmups: b.Warmups}
		err := w.run(claimed)
		r.trials[i] = w.todo
		if err != nil {
			return err
		}
		if unfinished == 0 && r.anyFits(b, w.todo) {
			unfinished = b.Repetition
		}
	}
}

// whileWanted is a context for the wait for nodes: it ends when the run is
// asked to stop after a trial, since there is none to wait for.
func (r *Runner) whileWanted(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-r.Stop:
			cancel(ErrStopped)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// begin starts the clock of a claim that was granted. The context ends, with
// errClaimEnds as its cause, when trials may not run any longer.
func (r *Runner) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &r.claim
	keep := func() bool { return true }
	if taken := r.grant.Taken; taken != nil {
		keep = context.AfterFunc(taken, func() {
			c.mu.Lock()
			c.taken = context.Cause(taken)
			c.mu.Unlock()
			cancel(fmt.Errorf("%w: %w", errTaken, context.Cause(taken)))
		})
	}
	if r.grant.Deadline.IsZero() {
		return ctx, func() { keep(); cancel(nil) }
	}
	now := r.Now()
	length := r.grant.Deadline.Sub(now)
	c.mu.Lock()
	c.deadline, c.stop = r.grant.Deadline, r.grant.Deadline.Add(-collection(length))
	c.alarm = time.AfterFunc(c.stop.Sub(now), func() { cancel(errClaimEnds) })
	e := record.Event{Kind: record.EventClaim, State: "granted", Order: c.number, Total: max(r.Claims, 1), Deadline: c.deadline,
		Message: fmt.Sprintf("until %s, trials until %s", clockTime(c.deadline), clockTime(c.stop))}
	c.mu.Unlock()
	r.Tell(e)
	return ctx, func() {
		keep()
		c.mu.Lock()
		c.alarm.Stop()
		c.alarm, c.deadline, c.stop, c.taken = nil, time.Time{}, time.Time{}, nil
		c.mu.Unlock()
		cancel(nil)
	}
}

// Extend asks for more time in the claim that runs, and tells what came of
// it. It may be called from any goroutine while Run runs.
func (r *Runner) Extend(ctx context.Context, by time.Duration) error {
	c := &r.claim
	if deadline, _ := c.end(); deadline.IsZero() {
		return fmt.Errorf("%w: none with a deadline is running", ErrFixed)
	}
	x, ok := r.Site.(Extender)
	if !ok {
		return fmt.Errorf("%w: the queue of this cluster has no way to", ErrFixed)
	}
	deadline, err := x.Extend(ctx, by)
	if err != nil {
		return fmt.Errorf("extension by %s: %w", by, err)
	}
	c.mu.Lock()
	if c.alarm == nil || !c.alarm.Stop() {
		c.mu.Unlock()
		return fmt.Errorf("%w: it has just ended", ErrFixed)
	}
	kept := c.deadline.Sub(c.stop)
	c.deadline, c.stop = deadline, deadline.Add(-kept)
	c.alarm.Reset(c.stop.Sub(r.Now()))
	e := record.Event{Kind: record.EventClaim, State: "extended", Order: c.number, Total: max(r.Claims, 1), Deadline: deadline,
		Message: fmt.Sprintf("until %s, trials until %s", clockTime(c.deadline), clockTime(c.stop))}
	c.mu.Unlock()
	r.Tell(e)
	return nil
}

// ending says why no further trial may run.
func (c *claim) ending() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.taken != nil:
		return c.taken.Error()
	case c.deadline.IsZero():
		return "claim ends"
	}
	return "claim ends at " + clockTime(c.deadline)
}

// end returns the deadline of the claim and until when trials may run; zero
// when it has none.
func (c *claim) end() (deadline, stop time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, c.stop
}

// need is the time that a trial of a block takes, with the deployment and the
// warm-ups if there is none yet.
func (r *Runner) need(b Block, t record.Trial, deployed bool) time.Duration {
	s, _ := r.Forecast.trial(t)
	d := min(seconds(s), r.Limit(t))
	if !deployed {
		d += seconds(r.Forecast.deploy(b) + r.Forecast.warmup(b))
	}
	return d
}

// anyFits tells whether a whole claim would have room for one of the trials.
func (r *Runner) anyFits(b Block, todo []*progress) bool {
	for _, p := range todo {
		if r.Claim <= 0 || r.need(b, p.trial, false) <= r.Claim-collection(r.Claim) {
			return true
		}
	}
	return false
}

// tooShort returns why no open trial fits into a claim, with the arithmetic,
// or nil.
func (r *Runner) tooShort() error {
	var shortest time.Duration
	var trial record.Trial
	var block Block
	for i, b := range r.Plan.Blocks {
		if r.anyFits(b, r.trials[i]) {
			return nil
		}
		for _, p := range r.trials[i] {
			if need := r.need(b, p.trial, false); shortest == 0 || need < shortest {
				shortest, trial, block = need, p.trial, b
			}
		}
	}
	kept := collection(r.Claim)
	alone := r.need(block, trial, true)
	err := fmt.Errorf("claim of %s is too short for any open trial: %s - %s for an orderly end < %s = %s for a deployment with warm-ups + %s for the shortest (%s)",
		round(r.Claim), round(r.Claim), round(kept), round(shortest), round(shortest-alone), round(alone), trial)
	return hint.WithExit(hint.With(err, fmt.Sprintf("set claim_time to at least %s, or make trials smaller", round(shortest+min(stopGrace, shortest/8)))), hint.ExitUsage)
}

// skipRest ends all open trials with the reason in skip.
func (r *Runner) skipRest() error {
	for i, b := range r.Plan.Blocks {
		w := &blockRun{Runner: r, Block: b, index: i, todo: r.trials[i]}
		if err := w.skipAll(); err != nil {
			return err
		}
		r.trials[i] = nil
	}
	return nil
}

// next returns the first open trial of the block that fits into the rest of
// the claim, or nil and why there is none.
func (b *blockRun) next(ctx context.Context) (next *progress, waits string) {
	deadline, stop := b.claim.end()
	ends := b.claim.ending()
	if errors.Is(context.Cause(ctx), errClaimEnds) {
		return nil, ends + ", no time for further trials"
	}
	if deadline.IsZero() {
		return b.todo[0], ""
	}
	left := stop.Sub(b.Now())
	if left <= 0 {
		return nil, ends + ", no time for further trials"
	}
	var least time.Duration
	for i, p := range b.todo {
		need := b.need(b.Block, p.trial, b.deployment != nil)
		if need <= left {
			if i > 0 && b.deployment != nil {
				b.passOver(i, left)
			}
			return p, ""
		}
		if least == 0 || need < least {
			least = need
		}
	}
	what := ""
	if b.deployment == nil {
		what = " with a deployment"
	}
	return nil, fmt.Sprintf("%s: about %s needed%s, %s left until %s", ends, round(least), what, round(left), clockTime(stop))
}

// passOver tells, once for each, which trials are not run in their turn,
// because a later one still fits.
func (b *blockRun) passOver(n int, left time.Duration) {
	for _, p := range b.todo[:n] {
		if p.passed == b.claim.number {
			continue
		}
		p.passed = b.claim.number
		b.Tell(record.Event{Kind: record.EventPostponed, Trial: &p.trial, Order: p.order, Message: fmt.Sprintf(
			"needs about %s, %s are left: shorter trials of its block go first",
			round(b.need(b.Block, p.trial, true)), round(left))})
	}
}

// postpone leaves the open trials to the next claim.
func (b *blockRun) postpone(why string) error {
	for _, p := range b.todo {
		if err := p.step(inputInterrupt); err != nil {
			return err
		}
	}
	b.Tell(record.Event{Kind: record.EventPostponed, Message: fmt.Sprintf("%d trial(s) of %s, repetition %d, wait for the next claim (%s)",
		len(b.todo), b.Scheduler.Name, b.Repetition, why)})
	return nil
}

// skipLate ends the open trials because no claim follows.
func (b *blockRun) skipLate(why string) error {
	for len(b.todo) > 0 {
		if err := b.end(b.todo[0], inputSkip, record.Record{Error: why, Started: b.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// cut records a trial that the end of the claim interrupted.
func (b *blockRun) cut(ctx context.Context, p *progress, r record.Record) error {
	r.Error = b.claim.ending() + "; it was running"
	if !errors.Is(context.Cause(ctx), errTaken) { // else it tells nothing of the trial
		room := b.Claim - collection(b.Claim) - b.need(b.Block, p.trial, false) + b.need(b.Block, p.trial, true)
		b.Forecast.cut(p.trial, seconds(r.RunS), room)
	}
	if b.claim.last {
		return b.end(p, inputSkip, r)
	}
	if err := b.write(p, &r, record.StatusSkipped); err != nil {
		return err
	}
	b.Tell(record.Event{Kind: record.EventTrialRetry, Trial: &p.trial, Order: p.order, Message: r.Error + "; again in the next claim"})
	return p.step(inputCut)
}

func clockTime(t time.Time) string { return t.Format(time.TimeOnly) }
