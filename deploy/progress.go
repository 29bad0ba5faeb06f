package deploy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Progress is how far the trial is that a deployment executes, as Dask's
// scheduler counts it.
type Progress struct {
	// Mark is the number that the driver gave the trial when it began; 0 before
	// the first. Seconds is the time since, by the scheduler's clock. All counts
	// are since then.
	Mark    int
	Seconds float64
	// Submitted are the tasks that the scheduler got, Finished those that were
	// executed, Erred those that raised, Queued those that wait for a free
	// worker at this moment. A task that is repeated counts again.
	Submitted, Finished, Erred, Queued int
	// Workers have registered, Busy of them have something to do; together they
	// have so many Threads, of which Occupied have something to do.
	Workers, Busy, Threads, Occupied int
	// Decisions are those of the sidekick, nil without it.
	Decisions *ProgressDecisions
}

// ProgressDecisions are what the sidekick counted in a trial so far.
type ProgressDecisions struct {
	// Decisions were made by the service, Fallbacks by Dask in its place.
	Decisions, Fallbacks int
	// BlockedSeconds is how long Dask's scheduler waited for answers.
	BlockedSeconds float64
}

// Observer asks the scheduler of a deployment how far it is, over one
// connection as long as that holds. Its methods may be called from several
// goroutines; questions are asked one after the other.
type Observer struct {
	life context.Context // ends with Close
	end  context.CancelCauseFunc

	mu    sync.Mutex
	asker asker
}

var errObserverClosed = errors.New("observer closed")

// Observer returns an observer of the deployment, which the caller closes.
func (d *Deployment) Observer() *Observer {
	o := &Observer{asker: asker{d: d}}
	o.life, o.end = context.WithCancelCause(context.Background())
	return o
}

// progressBound is how long an answer may take: Dask's scheduler may be busy
// with a large graph for many seconds, in which it answers nobody.
const progressBound = time.Minute

// Progress asks once. It costs the scheduler about a quarter of a
// millisecond; see BenchmarkProgress.
func (o *Observer) Progress(ctx context.Context) (Progress, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, release := context.WithCancelCause(ctx)
	defer release(nil)
	defer context.AfterFunc(o.life, func() { release(errObserverClosed) })()
	if err := context.Cause(ctx); err != nil {
		return Progress{}, err
	}
	var facts map[string]any
	err := o.asker.ask(ctx, progressBound, func(ctx context.Context) (err error) {
		facts, err = o.asker.client.Ask(ctx, "esched_progress")
		return err
	})
	if err != nil {
		return Progress{}, fmt.Errorf("question how far Dask is: %w", err)
	}
	p := Progress{Seconds: number(facts, "seconds")}
	for name, field := range map[string]*int{
		"mark": &p.Mark, "submitted": &p.Submitted, "finished": &p.Finished, "erred": &p.Erred, "queued": &p.Queued,
		"workers": &p.Workers, "busy": &p.Busy, "threads": &p.Threads, "occupied": &p.Occupied,
	} {
		*field = int(number(facts, name))
	}
	if d, ok := facts["decisions"].(map[string]any); ok {
		p.Decisions = &ProgressDecisions{
			Decisions: int(number(d, "decisions")), Fallbacks: int(number(d, "fallbacks")), BlockedSeconds: number(d, "blocked_s"),
		}
	}
	return p, nil
}

// Close ends the connection, and a question that is being asked.
func (o *Observer) Close() {
	o.end(errObserverClosed)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asker.close()
}

// number is the number of that name, 0 when there is none.
func number(facts map[string]any, name string) float64 {
	switch n := facts[name].(type) {
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}
