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
	// Deploy starts what a block needs and returns when it is ready. An error
	// that wraps [ErrStore] ends the run, others the attempt. It bounds
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
	// Taken is done when the nodes were taken back before the deadline, with
	// the reason as its cause; nil when that cannot happen.
	Taken context.Context
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

// ErrLate is wrapped by errors of [Deployment.Run] for a trial that has a time
// limit of its own and exceeded it.
var ErrLate = errors.New("own time limit exceeded")

// ErrTooFewNodes is wrapped by errors of [Site.Deploy] for a block that asks
// for more nodes than are usable. Its trials are skipped.
var ErrTooFewNodes = errors.New("too few nodes")

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
	// errTaken is a claim that ends before its time.
	errTaken = fmt.Errorf("%w before its time", errClaimEnds)
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
	// Claim is for how long the Site reserves nodes each time, Claims how often
	// it may do so in a row until the plan is done. With a Claim of 0 its length
	// is not known beforehand; Claims of 0 means 1.
	Claim  time.Duration
	Claims int
	// Forecast fits trials into a claim; nil is one that knows little.
	Forecast *Forecast
	// Sequence lets the plan go on; nil leaves it as it is.
	Sequence *Sequence
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
	trials  [][]*progress     // the open ones of each block
	placed  int               // trials that have got their order
	grant   Grant
	outcome Outcome
	skip    string // why the trials that remain are skipped
	claim   claim
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

// Run takes every trial of the plan to a final state, in as many claims as it
// takes and may, tears down what it started and releases the nodes. Failed trials are no error: they are counted
// in the Outcome. An error tells why trials remain open; everything that was
// recorded before stays valid.
func (r *Runner) Run(ctx context.Context) (Outcome, error) {
	if _, err := r.Prepare(ctx); err != nil {
		return r.outcome, r.why(ctx, err)
	}
	for number := 1; r.outcome.Open > 0; number++ {
		err := r.stopping(ctx) // between two claims
		if err == nil {
			err = r.runClaim(ctx, number)
		}
		if err != nil {
			return r.outcome, r.why(ctx, err)
		}
	}
	return r.outcome, r.failure()
}

// Prepare sets the trials aside that are done, and lets a plan of which nothing
// is open go on. The outcome says how many trials Run would begin with. Run
// prepares what is not prepared yet.
func (r *Runner) Prepare(ctx context.Context) (Outcome, error) {
	if r.digests != nil {
		return r.outcome, nil
	}
	r.digests = map[string]digest{}
	if r.Forecast == nil {
		r.Forecast = &Forecast{}
	}
	r.open(0)
	_, err := r.goOn(ctx)
	return r.outcome, err
}

// open numbers the trials of the blocks from the given one on, and learns the
// digests and times of those that are done.
func (r *Runner) open(from int) {
	for i, b := range r.Plan.Blocks[from:] {
		var todo []*progress
		for _, t := range b.Trials {
			r.placed++
			if done, ok := r.Done[t.ID]; ok {
				r.outcome.OK++
				r.digests[digestKey(t)] = digest{done.ResultDigest, t}
				r.timed(t, done.MakespanS)
				continue
			}
			r.outcome.Open++
			todo = append(todo, &progress{trial: t, block: from + i, order: r.placed, state: Planned})
		}
		r.trials = append(r.trials, todo)
	}
}

// timed tells the sequence of a trial that is ok.
func (r *Runner) timed(t record.Trial, makespanS float64) {
	if r.Sequence != nil {
		r.Sequence.add(t, makespanS)
	}
}

// spent tells the sequence of time that its budget has to pay for.
func (r *Runner) spent(d time.Duration) {
	if r.Sequence != nil {
		r.Sequence.Spent += d
	}
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
	return r.claimOver(ctx)
}

// claimOver returns nil when ctx is done because the claim ends, which turns
// into trials that wait or are skipped, and the reason of the stop otherwise.
// Nodes that are gone before their time end the run, unless it may claim
// others: what is open can be resumed.
func (r *Runner) claimOver(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errClaimEnds) || r.claim.last && errors.Is(cause, errTaken) {
		return cause
	}
	return nil
}
