package runners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/esched/esched/runners/record"
)

// Site is where a run takes place: a queue with nodes, and the means to
// deploy on them. Its methods are called from one goroutine; what they tell
// may come from several.
type Site interface {
	// Reserve obtains the nodes of the whole run and returns when they are
	// granted. It bounds its wait itself.
	Reserve(ctx context.Context, tell func(record.Event)) (Grant, error)
	// Deploy starts what a block needs and returns when it is ready. It bounds
	// its wait itself, and leaves nothing behind when it returns an error.
	Deploy(ctx context.Context, b Block, tell func(record.Event)) (Deployment, error)
	// Release gives the nodes back; it does nothing when there are none.
	Release(ctx context.Context, tell func(record.Event)) error
}

// Grant is what a Site reserved.
type Grant struct {
	// Hosts describes the nodes, Deadline is when they are taken back (zero:
	// never), Queue how long the run waited for them.
	Hosts    []record.Host
	Deadline time.Time
	Queue    time.Duration
}

// Deployment executes trials, one at a time.
type Deployment interface {
	// Hosts names the nodes, the scheduler's first.
	Hosts() []string
	// Run executes a trial and returns what was measured: the fields of the
	// record that the runner cannot know. It returns soon after ctx is done. An
	// error that wraps [ErrBroken] says that the deployment is of no further use.
	Run(ctx context.Context, t record.Trial) (record.Record, error)
	// Check returns what differs from the deployment as it was made: a worker
	// that is lost, a process that ended.
	Check() error
	// Stop ends all processes, by force as soon as ctx is done.
	Stop(ctx context.Context) error
}

// ErrBroken is wrapped by errors of [Deployment.Run] after which the
// deployment cannot execute further trials.
var ErrBroken = errors.New("deployment broken")

// ErrWrong is wrapped by errors of [Deployment.Run] for a result that was
// computed and is not right. Such a trial is not tried again.
var ErrWrong = errors.New("wrong result")

// Causes for which a run ends before its plan does. [Runner.Run] returns one
// of the first three, wrapped, when the run can be resumed.
var (
	// ErrInterrupted is the cause with which the context of a run is cancelled
	// to stop it at once.
	ErrInterrupted = errors.New("interrupted")
	// ErrStopped tells that the run was asked to stop after a trial.
	ErrStopped = errors.New("stopped after the current trial")
	// ErrStore is wrapped by errors about the run directory.
	ErrStore = errors.New("run directory not writable")

	errTimeLimit = errors.New("time limit")
	errClaimEnds = errors.New("claim ends")
)

// Waits of the runner, each with the reason for its length.
const (
	// answerGrace is how long a deployment may take to return from a trial that
	// was cancelled: it has to kill a driver, which takes milliseconds.
	answerGrace = 10 * time.Second
	// stopGrace is how long the processes of a deployment may take to end
	// before they are killed: Dask closes in about two seconds.
	stopGrace = 20 * time.Second
	// releaseGrace bounds giving nodes back; a queue under load answers slowly.
	releaseGrace = time.Minute
	// deployTries is how often a deployment is tried in a row.
	deployTries = 2
)

// Journal keeps what happened. [record.Store] is one.
type Journal interface {
	// AppendRecord returns when the record is on stable storage, AppendEvent
	// when the event survives the end of the process.
	AppendRecord(r record.Record) error
	AppendEvent(e record.Event) error
}

// Runner executes a plan. Set its fields, then call Run once; Tell may be
// called at any time and from any goroutine.
type Runner struct {
	// Plan, Site and Journal are required.
	Plan    *Plan
	Site    Site
	Journal Journal
	// Show is told of every event after it is on disk. It must not block for
	// long. Optional.
	Show func(record.Event)
	// Granted is told of the nodes before the first deployment. Optional.
	Granted func(Grant) error
	// Limit returns the time limit of one attempt of a trial. Required.
	Limit func(record.Trial) time.Duration
	// Retries is how many further attempts a failed trial gets.
	Retries int
	// FailFast skips the rest of the plan after the first trial that is not ok.
	FailFast bool
	// Done holds the records of trials that need not run, by trial id.
	Done map[string]record.Record
	// Stop, when closed, ends the run after the trial that is running. Optional.
	Stop <-chan struct{}
	// Kill, when done, ends every wait for an orderly end. Required.
	Kill context.Context
	// Now is the clock. Required.
	Now func() time.Time

	telling    sync.Mutex
	journalErr error // first error of the journal; guarded by telling

	digests map[string]digest // by workload and parameters
	grant   Grant
	outcome Outcome
	skip    string // why the trials that remain are skipped
}

// Outcome counts the planned trials by what became of them. Open ones have no
// record yet.
type Outcome struct {
	OK, Failed, Timeout, Skipped, Open int
}

// Total is the number of trials in the plan.
func (o Outcome) Total() int { return o.OK + o.Failed + o.Timeout + o.Skipped + o.Open }

// String says the outcome in words: "34 ok, 2 failed, 1 not run".
func (o Outcome) String() string {
	s := fmt.Sprintf("%d ok", o.OK)
	for _, part := range []struct {
		n    int
		word string
	}{{o.Failed, "failed"}, {o.Timeout, "timed out"}, {o.Skipped, "skipped"}, {o.Open, "not run"}} {
		if part.n > 0 {
			s += fmt.Sprintf(", %d %s", part.n, part.word)
		}
	}
	return s
}

// Run takes every trial of the plan to a final state, tears down what it
// started and releases the nodes. Failed trials are no error: they are counted
// in the Outcome. An error tells why trials remain open; everything that was
// recorded before stays valid.
func (r *Runner) Run(ctx context.Context) (Outcome, error) {
	todo := r.prepare()
	if r.outcome.Open == 0 {
		return r.outcome, nil
	}
	grant, err := r.Site.Reserve(ctx, r.Tell)
	defer r.release()
	if err != nil {
		return r.outcome, r.why(ctx, fmt.Errorf("reservation: %w", err))
	}
	r.grant = grant
	if r.Granted != nil {
		if err := r.Granted(grant); err != nil {
			return r.outcome, err
		}
	}
	claimed := ctx
	if !grant.Deadline.IsZero() {
		var cancel context.CancelFunc
		// Time to stop in order is kept back, of a very short claim a tenth.
		reserve := min(stopGrace, grant.Deadline.Sub(r.Now())/10)
		claimed, cancel = context.WithDeadlineCause(ctx, grant.Deadline.Add(-reserve), errClaimEnds)
		defer cancel()
	}
	for i, b := range r.Plan.Blocks {
		w := &blockRun{Runner: r, Block: b, index: i, todo: todo[i], warmups: b.Warmups}
		if err := w.run(claimed); err != nil {
			return r.outcome, r.why(ctx, err)
		}
	}
	return r.outcome, r.failure()
}

// prepare numbers the trials, sets those aside that are done and learns their
// digests. The result has the open trials of each block.
func (r *Runner) prepare() [][]*progress {
	r.digests = map[string]digest{}
	todo := make([][]*progress, len(r.Plan.Blocks))
	order := 0
	for i, b := range r.Plan.Blocks {
		for _, t := range b.Trials {
			order++
			if done, ok := r.Done[t.ID]; ok {
				r.outcome.OK++
				r.digests[digestKey(t)] = digest{done.ResultDigest, t}
				continue
			}
			r.outcome.Open++
			todo[i] = append(todo[i], &progress{trial: t, block: i, order: order, state: Planned})
		}
	}
	return todo
}

// why returns the reason that counts: that of the stop, if there was one.
func (r *Runner) why(ctx context.Context, err error) error {
	if stopped := context.Cause(ctx); stopped != nil {
		return stopped
	}
	return err
}

func (r *Runner) release() {
	ctx, cancel := context.WithTimeout(r.Kill, releaseGrace)
	defer cancel()
	if err := r.Site.Release(ctx, r.Tell); err != nil {
		r.Tell(record.Event{Kind: record.EventWarning,
			Message: fmt.Sprintf("release: %v (\"esched clean\" tries again)", err)})
	}
}

// Tell records an event and shows it. An event that cannot be recorded is
// shown all the same and ends the run.
func (r *Runner) Tell(e record.Event) {
	r.telling.Lock()
	defer r.telling.Unlock()
	e.Time = r.Now()
	if err := r.Journal.AppendEvent(e); err != nil && r.journalErr == nil {
		r.journalErr = fmt.Errorf("%w: %w", ErrStore, err)
	}
	if r.Show != nil {
		r.Show(e)
	}
}

// failure returns the journal's first error.
func (r *Runner) failure() error {
	r.telling.Lock()
	defer r.telling.Unlock()
	return r.journalErr
}

// stopping returns why no further trial may start, or nil.
func (r *Runner) stopping(ctx context.Context) error {
	if err := r.failure(); err != nil {
		return err
	}
	select {
	case <-r.Stop:
		return ErrStopped
	default:
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errClaimEnds):
		r.skip = r.claimEnded()
		return nil
	default:
		return cause
	}
}

func (r *Runner) claimEnded() string {
	return "claim ends at " + r.grant.Deadline.Format("15:04:05") + ", no time for further trials"
}
