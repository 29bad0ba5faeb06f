package runners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/esched/esched/runners/record"
)

// blockRun takes the open trials of one block through their states.
type blockRun struct {
	*Runner
	Block
	index   int            // of the block in the plan
	todo    []*progress    // open trials; the first is next
	warmups []record.Trial // to run on each new deployment

	deployment Deployment
	failures   int // deployments in a row on which no trial was attempted
	deploying  time.Duration
	warming    time.Duration
}

// run returns when no trial is open any more, when those that are have to
// wait for the next claim, or with the reason why the run must stop. It leaves
// no deployment.
func (b *blockRun) run(ctx context.Context) error {
	defer b.teardown()
	for len(b.todo) > 0 {
		if err := b.stopping(ctx); err != nil {
			return b.interrupted(err)
		}
		if b.skip != "" {
			return b.skipAll()
		}
		next, waits := b.next(ctx)
		var err error
		switch {
		case next == nil && !b.claim.last:
			return b.postpone(waits)
		case next == nil:
			err = b.skipLate(waits)
		case b.deployment == nil:
			err = b.deploy(ctx)
		default:
			err = b.attempt(ctx, next)
		}
		if err != nil {
			return b.interrupted(err)
		}
	}
	return nil
}

// interrupted puts the open trials back to planned.
func (b *blockRun) interrupted(reason error) error {
	for _, p := range b.todo {
		if err := p.step(inputInterrupt); err != nil {
			return errors.Join(reason, err)
		}
	}
	return reason
}

// deploy starts the block's processes and warms them up.
func (b *blockRun) deploy(ctx context.Context) error {
	if err := b.stepAll(inputDeploy, Planned); err != nil {
		return err
	}
	began := b.Now()
	d, err := b.Site.Deploy(ctx, b.Block, b.Tell)
	deployed := b.Now().Sub(began)
	b.deploying += deployed
	b.spent(deployed)
	if err != nil {
		if ctx.Err() != nil {
			return b.claimOver(ctx)
		}
		if errors.Is(err, ErrTooFewNodes) {
			return b.skipLate(err.Error())
		}
		if errors.Is(err, ErrStore) {
			return err
		}
		return b.unhealthy(err)
	}
	b.deployment = d
	if err := b.stepAll(inputDeployed, Deploying); err != nil {
		return err
	}
	began = b.Now()
	err = b.warmUp(ctx)
	b.warming += b.Now().Sub(began)
	b.spent(b.Now().Sub(began))
	if ctx.Err() != nil {
		return b.claimOver(ctx)
	}
	if errors.Is(err, ErrStore) {
		return err
	}
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		return b.unhealthy(err)
	}
	b.Forecast.ready(b.Block, deployed, b.Now().Sub(began))
	return nil
}

// unhealthy notes that no trial can be attempted on the deployment. The
// second time in a row fails the trials of the block.
func (b *blockRun) unhealthy(reason error) error {
	b.failures++
	b.teardown()
	message := fmt.Sprintf("deployment for %s: %v", b.Scheduler.Name, reason)
	if b.failures < deployTries {
		b.Tell(record.Event{Kind: record.EventDeployment, State: "failed", Message: message + "; trying once more"})
		for _, p := range b.todo {
			if err := p.step(inputUnhealthy); err != nil {
				return err
			}
		}
		return nil
	}
	b.Tell(record.Event{Kind: record.EventDeployment, State: "failed",
		Message: fmt.Sprintf("%s; %d trial(s) of its block failed", message, len(b.todo))})
	now := b.Now()
	for len(b.todo) > 0 && b.skip == "" {
		if err := b.end(b.todo[0], inputHopeless, record.Record{Error: message, Started: now}); err != nil {
			return err
		}
	}
	return nil
}

// stepAll takes the open trials that are in the given state to their next.
func (b *blockRun) stepAll(in input, from State) error {
	for _, p := range b.todo {
		if p.state != from {
			continue
		}
		if err := p.step(in); err != nil {
			return err
		}
	}
	return nil
}

// warmUp runs the warm-ups whose workload has open trials. Their failures are
// told; one that spoils the deployment is returned and will not run again.
func (b *blockRun) warmUp(ctx context.Context) error {
	for _, t := range b.warmups {
		needed := slices.ContainsFunc(b.todo, func(p *progress) bool { return p.trial.Workload == t.Workload })
		if !needed {
			continue
		}
		b.Tell(record.Event{Kind: record.EventTrialStarted, Trial: &t})
		started := b.Now()
		r, err, broken := b.execute(ctx, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Schema, r.Trial, r.Started, r.Block = record.Schema, t, started, b.index
		r.Status, r.RunS = record.StatusOK, b.Now().Sub(started).Seconds()
		r.Hosts = b.deployment.Hosts()
		if err != nil {
			r.Status, r.Error = failureStatus(err), err.Error()
		}
		if err := b.Journal.AppendRecord(r); err != nil {
			return fmt.Errorf("%w: %w", ErrStore, err)
		}
		b.Tell(record.Event{Kind: record.EventTrialEnded, Record: &r})
		if broken {
			b.warmups = slices.DeleteFunc(slices.Clone(b.warmups), func(w record.Trial) bool { return w.ID == t.ID })
			return fmt.Errorf("warm-up %s: %w", t.Workload, err)
		}
	}
	return nil
}

// execute runs a trial once within its time limit. Broken tells that the
// deployment must not be used again.
func (b *blockRun) execute(ctx context.Context, t record.Trial) (r record.Record, err error, broken bool) {
	limit := b.Limit(t)
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTimeLimit)
	defer cancel()
	type answer struct {
		r   record.Record
		err error
	}
	answers := make(chan answer, 1)
	deployment := b.deployment // a deaf one may be replaced before it answers
	go func() {
		r, err := deployment.Run(limited, t)
		answers <- answer{r, err}
	}()
	select {
	case a := <-answers:
		r, err = a.r, a.err
	case <-limited.Done():
		grace := time.NewTimer(answerGrace)
		defer grace.Stop()
		select {
		case a := <-answers:
			r, err = a.r, a.err
		case <-grace.C:
			err = fmt.Errorf("no answer %s after it was cancelled: %w", answerGrace, ErrBroken)
		case <-b.Kill.Done():
			err = fmt.Errorf("killed: %w", ErrBroken)
		}
	}
	if err != nil && errors.Is(context.Cause(limited), errTimeLimit) {
		return r, fmt.Errorf("%w of %s exceeded", errTimeLimit, limit), true
	}
	if changed := deployment.Check(); changed != nil {
		if err != nil {
			return r, fmt.Errorf("%w (%w)", err, changed), true
		}
		// The result is right in spite of the loss, which is worth knowing; the
		// time is that of a disturbed deployment, and the record says so.
		r.Disturbed = changed.Error()
		return r, nil, true
	}
	return r, err, errors.Is(err, ErrBroken)
}

func failureStatus(err error) record.Status {
	if errors.Is(err, errTimeLimit) || errors.Is(err, ErrLate) {
		return record.StatusTimeout
	}
	return record.StatusFailed
}

// attempt runs the trial that is next and decides what follows.
func (b *blockRun) attempt(ctx context.Context, p *progress) error {
	b.failures = 0
	if p.state != Running {
		if err := p.step(inputStart); err != nil {
			return err
		}
		b.Tell(record.Event{Kind: record.EventTrialStarted, Trial: &p.trial, Order: p.order, Total: b.outcome.Total()})
	}
	started := b.Now()
	r, err, broken := b.execute(ctx, p.trial)
	r.Started, r.RunS = started, b.Now().Sub(started).Seconds()
	b.spent(b.Now().Sub(started))
	r.Hosts = b.deployment.Hosts()
	if ctx.Err() != nil && err != nil { // a result that made it in time counts
		if stop := b.claimOver(ctx); stop != nil {
			return stop
		}
		return b.cut(ctx, p, r)
	}
	if err == nil {
		b.Forecast.measured(p.trial, b.Now().Sub(started))
	}
	// Told before the deployment is torn down: a failure is news.
	if err == nil {
		err = b.finish(p, r)
	} else {
		err = b.failed(p, r, err, broken)
	}
	if broken { // the others of the block need a new deployment too
		b.teardown()
		err = errors.Join(err, b.stepAll(inputUnhealthy, Warming))
	}
	return err
}

// finish compares the result with that of its equals and ends the trial.
func (b *blockRun) finish(p *progress, r record.Record) error {
	if err := b.agree(p.trial, r.ResultDigest); err != nil {
		r.Error = err.Error()
		return b.end(p, inputWrong, r)
	}
	return b.end(p, inputResult, r)
}

// failed retries the trial or ends it.
func (b *blockRun) failed(p *progress, r record.Record, err error, broken bool) error {
	if errors.Is(err, ErrWrong) {
		r.Error = err.Error()
		return b.end(p, inputWrong, r)
	}
	status := failureStatus(err)
	if len(p.attempts) < b.Retries {
		p.attempts = append(p.attempts, record.Attempt{
			Status: status, Error: err.Error(), Started: r.Started, RunS: r.RunS})
		b.Tell(record.Event{Kind: record.EventTrialRetry, Trial: &p.trial, Order: p.order,
			Message: fmt.Sprintf("%v; attempt %d of %d", err, len(p.attempts)+1, b.Retries+1)})
		if broken {
			return p.step(inputRenew)
		}
		return p.step(inputRetry)
	}
	r.Error = err.Error()
	if status == record.StatusTimeout {
		return b.end(p, inputLate, r)
	}
	return b.end(p, inputFail, r)
}

// skipAll ends the trials that remain with the reason of the skip.
func (b *blockRun) skipAll() error {
	for len(b.todo) > 0 {
		if err := b.end(b.todo[0], inputSkip, record.Record{Error: b.skip, Started: b.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// end takes the trial to a final state, writes its record, and tells.
func (b *blockRun) end(p *progress, in input, r record.Record) error {
	if err := p.step(in); err != nil {
		return err
	}
	b.todo = slices.DeleteFunc(b.todo, func(q *progress) bool { return q == p })
	if err := b.write(p, &r, record.Status(p.state)); err != nil {
		return err
	}
	b.outcome.count(p.state)
	if p.state == OK {
		b.timed(p.trial, r.MakespanS)
	}
	b.Tell(record.Event{Kind: record.EventTrialEnded, Record: &r, Order: p.order, Total: b.outcome.Total()})
	if b.FailFast && b.skip == "" && (p.state == Failed || p.state == Timeout) {
		b.skip = fmt.Sprintf("--fail-fast after trial %d (%s)", p.order, p.trial)
	}
	return nil
}

// write completes the record of a trial and stores it.
func (b *blockRun) write(p *progress, r *record.Record, status record.Status) error {
	r.Schema, r.Trial, r.Status = record.Schema, p.trial, status
	r.Attempts, r.Block, r.Order = p.attempts, p.block, p.order
	r.QueueS, r.DeployS, r.WarmupS = b.grant.Queue.Seconds(), b.deploying.Seconds(), b.warming.Seconds()
	if err := b.Journal.AppendRecord(*r); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// count moves one trial from open to a final state.
func (o *Outcome) count(s State) {
	o.Open--
	switch s {
	case OK:
		o.OK++
	case Failed:
		o.Failed++
	case Timeout:
		o.Timeout++
	default:
		o.Skipped++
	}
}

// teardown ends the deployment, if there is one. It goes on when the run's
// context is done, until [Runner.Kill] is.
func (b *blockRun) teardown() {
	if b.deployment == nil {
		return
	}
	b.Tell(record.Event{Kind: record.EventDeployment, State: "stopping"})
	ctx, cancel := context.WithTimeout(b.Kill, stopGrace)
	defer cancel()
	if err := b.deployment.Stop(ctx); err != nil {
		b.Tell(record.Event{Kind: record.EventWarning, Message: fmt.Sprintf("deployment: %v", err)})
	}
	b.deployment = nil
	b.Tell(record.Event{Kind: record.EventDeployment, State: "stopped"})
}
