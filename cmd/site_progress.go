package cmd

import (
	"context"
	"sync"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/runners/record"
)

const (
	// firstLook is when the scheduler is first asked how far a trial is. Shorter
	// trials are not disturbed at all.
	firstLook = 500 * time.Millisecond
	// lookEvery is the time between questions. One costs Dask's scheduler about
	// a quarter of a millisecond.
	lookEvery = time.Second
	// rateWindow is over how much time rates are taken.
	rateWindow = 3.0 // seconds
	// lastAnswer bounds the wait for an answer when the trial has ended.
	lastAnswer = time.Second
	// deafAfter is how many questions in a row may fail before no more are asked
	// in a trial.
	deafAfter = 3
)

// observe asks the scheduler how far the trial is, and tells it to those who
// watch, until stop is called.
func (r *running) observe(t record.Trial) (stop func()) {
	ctx, cancel := context.WithCancel(r.site.runner.Kill)
	over := make(chan struct{})
	rates := &rates{trial: t.ID, mark: r.marks}
	var wait sync.WaitGroup
	wait.Go(func() {
		next := time.NewTimer(firstLook)
		defer next.Stop()
		for deaf := 0; deaf < deafAfter; {
			select {
			case <-next.C:
			case <-over:
				return
			}
			asked := r.site.Now()
			p, err := r.observer.Progress(ctx)
			if err != nil {
				deaf++ // who is deaf for good has ended, which is told elsewhere
			} else if now := rates.add(asked, p); now != nil {
				deaf = 0
				r.site.progress(*now)
			}
			next.Reset(lookEvery)
		}
	})
	return func() {
		close(over)
		late := time.AfterFunc(lastAnswer, cancel)
		wait.Wait()
		late.Stop()
		cancel()
	}
}

// rates makes progress of a trial from counts of the scheduler.
type rates struct {
	trial  string
	mark   int
	recent []deploy.Progress // of the last rateWindow seconds, oldest first
}

// add takes the next counts and returns the progress; nil when the counts are
// not of this trial, whose tasks are only being prepared.
func (r *rates) add(at time.Time, p deploy.Progress) *record.Progress {
	if p.Mark != r.mark {
		return nil
	}
	if r.recent == nil { // when it began, nothing was done
		r.recent = []deploy.Progress{{Decisions: &deploy.ProgressDecisions{}}}
	}
	r.recent = append(r.recent, p)
	for len(r.recent) > 2 && p.Seconds-r.recent[1].Seconds >= rateWindow {
		r.recent = r.recent[1:]
	}
	first := r.recent[0]
	span := p.Seconds - first.Seconds
	per := func(n float64) float64 {
		if span <= 0 {
			return 0
		}
		return max(0, n) / span
	}
	now := &record.Progress{
		Time: at, Trial: r.trial, Seconds: p.Seconds,
		Done: p.Finished, Submitted: p.Submitted, Erred: p.Erred, Queued: p.Queued,
		TasksPerS: per(float64(p.Finished - first.Finished)),
		Workers:   p.Workers, Busy: p.Busy, Threads: p.Threads, Occupied: p.Occupied,
	}
	if d, before := p.Decisions, first.Decisions; d != nil && before != nil {
		now.Sidekick = &record.ProgressDecisions{
			Decisions: d.Decisions, Fallbacks: d.Fallbacks,
			PerS:         per(float64(d.Decisions - before.Decisions)),
			BlockedShare: min(1, per(d.BlockedSeconds-before.BlockedSeconds)),
		}
	}
	return now
}
