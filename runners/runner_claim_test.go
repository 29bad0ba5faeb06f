package runners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// sized is a trial that takes so many seconds in a clocked world.
func sized(scheduler string, repetition, seconds int) record.Trial {
	t := record.Trial{Workload: "w", Size: fmt.Sprintf("%d s", seconds), Params: map[string]any{"seconds": int64(seconds)},
		Scheduler: scheduler, Kind: scheduler, Nodes: 1, Workers: 2, Threads: 1, Environment: "default", Repetition: repetition}
	t.ID = t.Identity()
	return t
}

// sizes is a plan with a block for each repetition of each scheduler; every
// block has trials of the given seconds, without warm-ups.
func sizes(repetitions int, schedulers []string, seconds ...int) *Plan {
	p := &Plan{}
	for rep := 1; rep <= repetitions; rep++ {
		for _, s := range schedulers {
			b := Block{Scheduler: SchedulerSpec{Name: s, Kind: s}, Nodes: 1, WorkersPerNode: 2, Threads: 1, Repetition: rep}
			for _, n := range seconds {
				b.Trials = append(b.Trials, sized(s, rep, n))
			}
			p.Blocks = append(p.Blocks, b)
		}
	}
	return p
}

// clocked is a site where everything takes the time that the test says, and
// that notes what was started when.
type clocked struct {
	world
	deployS float64
	// contactS is how long granted nodes take until they are of use, releaseS
	// how long the queue takes to have them back.
	contactS, releaseS float64
	actual             func(t record.Trial) float64
	broken             string // schedulers whose trials fail

	claims  []held
	started []start
}

type held struct{ from, deadline, to time.Time }

type start struct {
	trial record.Trial
	left  time.Duration // until the end for trials, when it began
}

func (c *clocked) Reserve(context.Context, func(record.Event)) (Grant, error) {
	if c.reserve != nil {
		return Grant{}, c.reserve
	}
	time.Sleep(30 * time.Second) // in the queue
	now := time.Now()
	c.claims = append(c.claims, held{from: now, deadline: now.Add(c.claim)})
	time.Sleep(time.Duration(c.contactS * float64(time.Second)))
	return Grant{Hosts: []record.Host{{Name: "here"}}, Deadline: now.Add(c.claim)}, nil
}

func (c *clocked) Release(context.Context, func(record.Event)) error {
	if n := len(c.claims); n > 0 && c.claims[n-1].to.IsZero() {
		time.Sleep(time.Duration(c.releaseS * float64(time.Second)))
		c.claims[n-1].to = time.Now()
	}
	return nil
}

func (c *clocked) Deploy(ctx context.Context, b Block, _ func(record.Event)) (Deployment, error) {
	select {
	case <-time.After(time.Duration(c.deployS * float64(time.Second))):
		return &clockedDeployment{c}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type clockedDeployment struct{ *clocked }

func (d *clockedDeployment) Hosts() []string { return []string{"here"} }
func (d *clockedDeployment) Check() error    { return nil }
func (d *clockedDeployment) Stop(context.Context) error {
	time.Sleep(2 * time.Second)
	return nil
}

func (d *clockedDeployment) Run(ctx context.Context, t record.Trial) (record.Record, error) {
	d.mu.Lock()
	last := d.claims[len(d.claims)-1]
	d.mu.Unlock()
	d.started = append(d.started, start{t, time.Until(last.deadline.Add(-collection(d.claim)))})
	select {
	case <-time.After(time.Duration(d.actual(t) * float64(time.Second))):
		if strings.Contains(d.broken, t.Scheduler) {
			return record.Record{}, errors.New("ValueError: no")
		}
		return record.Record{MakespanS: d.actual(t)}, nil
	case <-ctx.Done():
		return record.Record{}, ctx.Err()
	}
}

func exactly(t record.Trial) float64 { return float64(t.Params["seconds"].(int64)) }

// forecast knows the time of every trial of a plan.
func forecast(p *Plan, deployS float64) *Forecast {
	f := &Forecast{times: TimeModel{Cells: map[string]float64{}, DeployS: deployS}}
	for _, b := range p.Blocks {
		for _, t := range b.Trials {
			f.times.Cells[t.Cell()] = exactly(t)
		}
	}
	return f
}

func claimsRunner(c *clocked, p *Plan, claims int) *Runner {
	r := &Runner{Plan: p, Site: c, Journal: c, Now: time.Now, Kill: context.Background(),
		Limit: func(record.Trial) time.Duration { return time.Hour }, Claim: c.claim, Claims: claims, Forecast: forecast(p, c.deployS)}
	return r
}

// sequence renders what was started, claim by claim: "dask 1: 50 20 | ...".
func (c *clocked) sequence() string {
	var b strings.Builder
	for _, s := range c.started {
		fmt.Fprintf(&b, "%s/%d %s, ", s.trial.Scheduler, s.trial.Repetition, s.trial.Size)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func TestRunnerFillsClaims(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		plan       *Plan
		claim      time.Duration
		claims     int
		actual     func(record.Trial) float64
		want       string // sequence
		outcome    Outcome
		wantClaims int
		told       string // in an event
	}{
		{"one claim is enough", sizes(1, []string{"a"}, 30, 20), 100 * time.Second, 3, exactly,
			"a/1 30 s, a/1 20 s", Outcome{OK: 2}, 1, "claim granted"},
		{"the shorter one goes first", sizes(1, []string{"a"}, 30, 40, 20), 75 * time.Second, 2, exactly,
			"a/1 30 s, a/1 20 s, a/1 40 s", Outcome{OK: 3}, 2, "postponed needs about 40s, 33s are left: shorter trials of its block go first"},
		{"another block of the repetition fills the claim, not of the next", sizes(2, []string{"a", "b"}, 40, 10), 80 * time.Second, 9, exactly,
			"a/1 40 s, a/1 10 s, b/1 10 s, b/1 40 s, a/2 10 s, a/2 40 s, b/2 10 s, b/2 40 s", Outcome{OK: 8}, 4,
			"wait for the next claim (claim ends at"},
		{"the last claim takes what it can", sizes(2, []string{"a"}, 60, 15), 78 * time.Second, 1, exactly,
			"a/1 60 s", Outcome{OK: 1, Skipped: 3}, 1, ""},
		{"estimate too short: cut, and run again", sizes(1, []string{"a"}, 20, 30), 80 * time.Second, 3,
			func(x record.Trial) float64 { return exactly(x) * 1.6 },
			"a/1 20 s, a/1 30 s, a/1 30 s", Outcome{OK: 2}, 2, "it was running; again in the next claim"},
		{"too long for any claim", sizes(1, []string{"a"}, 20, 90), 80 * time.Second, 3, exactly,
			"a/1 20 s", Outcome{OK: 1, Skipped: 1}, 1, ""},
		{"longer than any claim, as it turns out", sizes(1, []string{"a"}, 50), 80 * time.Second, 5,
			func(record.Trial) float64 { return 500 }, "a/1 50 s", Outcome{Skipped: 1}, 1, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &clocked{world: world{t: t, claim: test.claim}, deployS: 5, actual: test.actual}
				outcome, err := claimsRunner(c, test.plan, test.claims).Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if have := c.sequence(); have != test.want {
					t.Errorf("started:\nwant %s\nhave %s", test.want, have)
				}
				if outcome != test.outcome || len(c.claims) != test.wantClaims {
					t.Errorf("want %+v in %d claims, have %+v in %d", test.outcome, test.wantClaims, outcome, len(c.claims))
				}
				c.checkEnds(t)
				if !slices.ContainsFunc(c.events, func(e record.Event) bool {
					return strings.Contains(fmt.Sprintf("%s %s %s", e.Kind, e.State, e.Message), test.told) ||
						strings.Contains(fmt.Sprintf("%s %s", e.Kind, e.Message), test.told)
				}) {
					t.Errorf("no event tells %q", test.told)
				}
				// What counts of the records is one for each trial.
				last := map[string]record.Status{}
				for _, r := range c.records {
					if last[r.ID] == record.StatusOK {
						t.Errorf("trial %s ran again after it was ok", r.Trial)
					}
					last[r.ID] = r.Status
				}
				if len(last) != test.plan.Trials() {
					t.Errorf("%d of %d trials have a record", len(last), test.plan.Trials())
				}
			})
		})
	}
}

// checkEnds checks that nodes were given back before they were taken.
func (c *clocked) checkEnds(t interface{ Errorf(string, ...any) }) {
	for i, s := range c.claims {
		if s.to.IsZero() || s.to.After(s.deadline) {
			t.Errorf("claim %d: nodes until %v, given back %v", i+1, s.deadline, s.to)
		}
	}
}

// TestNothingStartsThatCannotEnd lets chance make plans, claims and
// durations: no trial starts whose estimate exceeds the time left, no claim is
// overdrawn, and with enough claims everything that fits one gets done.
func TestNothingStartsThatCannotEnd(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.SliceOfN(rapid.IntRange(1, 120), 1, 6).Draw(t, "seconds")
		plan := sizes(rapid.IntRange(1, 3).Draw(t, "repetitions"), []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "schedulers")], seconds...)
		claim := time.Duration(rapid.IntRange(30, 600).Draw(t, "claim")) * time.Second
		noise := rapid.Float64Range(0.5, 1).Draw(t, "noise")
		deploys := rapid.Float64Range(0.1, 15).Draw(t, "deploy")
		bubble(outer, func(ctx context.Context) {
			c := &clocked{world: world{claim: claim}, deployS: deploys, actual: func(x record.Trial) float64 { return noise * exactly(x) }}
			r := claimsRunner(c, plan, 1000)
			planned, tooLong := r.Forecast.layOut(plan, claim)
			outcome, err := r.Run(ctx)
			if err != nil {
				if hint.Exit(err) != hint.ExitUsage || tooLong != plan.Trials() {
					t.Fatalf("refused: %v (%d of %d too long)", err, tooLong, plan.Trials())
				}
				return
			}
			for _, s := range c.started {
				// The estimate is what is known before, or the longest of this run.
				if need := time.Duration(noise * exactly(s.trial) * float64(time.Second)); need > s.left {
					t.Fatalf("%s was started %v before the end, and takes %v", s.trial, s.left, need)
				}
			}
			c.checkEnds(t)
			if outcome.OK < plan.Trials()-tooLong || outcome.Open != 0 || len(c.claims) > planned+planned/2+1 {
				t.Fatalf("outcome %+v of %d trials, %d too long; %d claims, planned %d", outcome, plan.Trials(), tooLong, len(c.claims), planned)
			}
		})
	})
}

// bubble runs f with a simulated clock inside a property, whose way to fail is
// to panic.
func bubble(t *testing.T, f func(ctx context.Context)) {
	var failed any
	synctest.Test(t, func(t *testing.T) {
		defer func() { failed = recover() }()
		f(t.Context())
	})
	if failed != nil {
		panic(failed)
	}
}

func TestClaimTooShortIsRefused(t *testing.T) {
	t.Parallel()
	c := &clocked{world: world{t: t, claim: 40 * time.Second}, deployS: 8, actual: exactly}
	outcome, err := claimsRunner(c, sizes(1, []string{"dask"}, 30, 60), 3).Run(t.Context())
	if err == nil || hint.Exit(err) != hint.ExitUsage || outcome.Open != 2 || len(c.claims) != 0 {
		t.Fatalf("have %+v, %v, %d claims", outcome, err, len(c.claims))
	}
	if want := "40s - 4s for an orderly end < 38s = 8s for a deployment with warm-ups + 30s for the shortest"; !strings.Contains(err.Error(), want) {
		t.Errorf("want %q in %v", want, err)
	}
	if !strings.Contains(hint.Of(err), "set claim_time to at least 43s") {
		t.Errorf("hint %q", hint.Of(err))
	}
}

// extending is a clocked site whose queue gives more time.
type extending struct{ *clocked }

func (x extending) Extend(_ context.Context, by time.Duration) (time.Time, error) {
	if by > time.Hour {
		return time.Time{}, errors.New("limit of the partition reached")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	last := &x.claims[len(x.claims)-1]
	last.deadline = last.deadline.Add(by)
	return last.deadline, nil
}

func TestClaimIsExtended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{world: world{t: t, claim: 60 * time.Second}, deployS: 5, actual: exactly}
		r := claimsRunner(c, sizes(1, []string{"dask"}, 40, 45), 1)
		if err := r.Extend(t.Context(), time.Minute); !errors.Is(err, ErrFixed) {
			t.Errorf("before the claim: %v", err)
		}
		r.Site = extending{c}
		done := make(chan Outcome)
		go func() {
			outcome, err := r.Run(t.Context())
			if err != nil {
				t.Error(err)
			}
			done <- outcome
		}()
		time.Sleep(50 * time.Second)
		if err := r.Extend(t.Context(), 2*time.Hour); err == nil || !strings.Contains(err.Error(), "limit of the partition") {
			t.Errorf("refusal: %v", err)
		}
		if err := r.Extend(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
		if outcome := <-done; outcome.OK != 2 {
			t.Errorf("have %+v", outcome)
		}
		c.checkEnds(t)
	})
}

func TestClaimOfASiteThatCannotExtend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{world: world{t: t, claim: 60 * time.Second}, deployS: 5, actual: exactly}
		r := claimsRunner(c, sizes(1, []string{"dask"}, 30), 1)
		go func() {
			time.Sleep(50 * time.Second)
			if err := r.Extend(t.Context(), time.Minute); !errors.Is(err, ErrFixed) || !strings.Contains(err.Error(), "no way") {
				t.Errorf("have %v", err)
			}
		}()
		if _, err := r.Run(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}

// TestStopBetweenClaims asks for the end while the nodes of the first of
// several claims are given back.
func TestStopBetweenClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{world: world{t: t, claim: time.Minute}, deployS: 5, actual: exactly}
		r := claimsRunner(c, sizes(1, []string{"dask"}, 40, 41), 5)
		stop := make(chan struct{})
		r.Stop = stop
		r.Show = func(e record.Event) {
			if e.Kind == record.EventPostponed {
				close(stop)
			}
		}
		outcome, err := r.Run(t.Context())
		if !errors.Is(err, ErrStopped) || outcome.OK != 1 || outcome.Open != 1 || len(c.claims) != 1 {
			t.Errorf("have %+v, %v, %d claims", outcome, err, len(c.claims))
		}
	})
}

// patient is a site whose queue grants nothing until it is told to stop.
type patient struct{ *clocked }

func (p patient) Reserve(ctx context.Context, _ func(record.Event)) (Grant, error) {
	<-ctx.Done()
	return Grant{}, context.Cause(ctx)
}

func TestStopEndsTheWaitForNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{world: world{t: t, claim: time.Hour}, deployS: 5, actual: exactly}
		r := claimsRunner(c, sizes(1, []string{"dask"}, 30), 1)
		stop := make(chan struct{})
		r.Site, r.Stop = patient{c}, stop
		time.AfterFunc(time.Hour, func() { close(stop) })
		outcome, err := r.Run(t.Context())
		if !errors.Is(err, ErrStopped) || outcome.Open != 1 {
			t.Errorf("have %+v, %v", outcome, err)
		}
	})
}
