package runners

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// noisy is the time of a trial: that of its size, with noise that depends on
// the trial alone, so that it takes the same time in every session.
func noisy(share float64) func(record.Trial) float64 {
	return func(t record.Trial) float64 {
		h := fnv.New64a()
		fmt.Fprint(h, t.ID)
		return exactly(t) * math.Exp(share*rand.New(rand.NewPCG(h.Sum64(), 1)).NormFloat64())
	}
}

// byIntervals is the rule of real runs.
func byIntervals(precision float64) func([]float64) Look {
	return func(times []float64) Look {
		p := stats.Stopping{Precision: precision}.Next(times, 1, stats.Seed)
		look := Look{Precise: p.Outcome == stats.Precise, Further: p.Further}
		if p.HalfWidth != nil {
			look.HalfWidth = *p.HalfWidth
		}
		return look
	}
}

// growing is a plan of two schedulers and two sizes, 4 and 9 seconds, that goes
// on, and what was decided about it.
func growing(least int, stop Stop) (*Plan, *Sequence, *[]record.Stopping) {
	decided := &[]record.Stopping{}
	q := &Sequence{Stop: stop, Least: least, Look: byIntervals(stop.Precision),
		Repetition: func(number int) []Block {
			all := sizes(number, []string{"dask", "sidekick"}, 4, 9)
			return all.Blocks[2*(number-1):]
		},
		Decided: func(s record.Stopping) error { *decided = append(*decided, s); return nil }}
	return sizes(least, []string{"dask", "sidekick"}, 4, 9), q, decided
}

func TestSequenceEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		noise    float64
		least    int
		stop     Stop
		claim    time.Duration // 0: an hour
		claims   int
		fails    string // scheduler whose trials fail
		failFast bool
		outcome  record.StopOutcome
		from, to int // repetitions
	}{
		{name: "quiet machine", noise: 0.001, least: 4, stop: Stop{Precision: 0.05, Most: 50}, outcome: record.StopPrecise, from: 4, to: 4},
		{name: "noise of a tenth", noise: 0.1, least: 5, stop: Stop{Precision: 0.05, Most: 60}, claims: 20, outcome: record.StopPrecise, from: 12, to: 40},
		{name: "one repetition makes no interval", noise: 0.001, least: 1, stop: Stop{Precision: 0.05, Most: 50}, outcome: record.StopPrecise, from: 3, to: 3},
		{name: "as often as allowed", noise: 0.5, least: 4, stop: Stop{Precision: 0.05, Most: 7}, outcome: record.StopRepetitions, from: 7, to: 7},
		// A repetition takes about 26 s for its trials and 2 x 5 s for deployments.
		{name: "budget of time", noise: 0.01, least: 3, stop: Stop{Precision: 0.001, Most: 50, Time: 250 * time.Second}, outcome: record.StopTime, from: 6, to: 6},
		{name: "budget below the least", noise: 0.01, least: 3, stop: Stop{Precision: 0.001, Most: 50, Time: time.Second}, outcome: record.StopTime, from: 3, to: 3},
		// And 2 x 2 s to end; 20 s of the claim are kept.
		{name: "claim", noise: 0.01, least: 3, stop: Stop{Precision: 0.001, Most: 50}, claim: 300 * time.Second, outcome: record.StopClaim, from: 6, to: 7},
		{name: "claims in a row", noise: 0.01, least: 3, stop: Stop{Precision: 0.001, Most: 15}, claim: 300 * time.Second, claims: 4, outcome: record.StopRepetitions, from: 15, to: 15},
		{name: "one scheduler fails", noise: 0.001, least: 3, stop: Stop{Precision: 0.05, Most: 50}, fails: "sidekick", outcome: record.StopPrecise, from: 3, to: 3},
		{name: "all fail", least: 3, stop: Stop{Precision: 0.05, Most: 50}, fails: "dask sidekick", outcome: record.StopFailures, from: 3, to: 3},
		{name: "fail fast", noise: 0.5, least: 3, stop: Stop{Precision: 0.05, Most: 50}, fails: "sidekick", failFast: true, outcome: record.StopSkipped, from: 3, to: 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plan, q, decided := growing(test.least, test.stop)
				if test.claim == 0 {
					test.claim = time.Hour
				}
				c := &clocked{deployS: 5, actual: noisy(test.noise)}
				c.t, c.world.claim = t, test.claim
				c.broken = test.fails
				r := claimsRunner(c, plan, max(test.claims, 1))
				r.Sequence, r.FailFast = q, test.failFast
				outcome, err := r.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				last := (*decided)[len(*decided)-1]
				if last.Outcome != test.outcome || last.Repetitions < test.from || last.Repetitions > test.to {
					t.Errorf("ended with %+v, want %s after %d to %d repetitions", last, test.outcome, test.from, test.to)
				}
				if want := 4 * last.Repetitions; outcome.Total() != want || outcome.Open != 0 || plan.Trials() != want {
					t.Errorf("outcome %+v of a plan with %d trials, want %d", outcome, plan.Trials(), want)
				}
				checkSequence(t, c, *decided, plan)
			})
		})
	}
}

// checkSequence holds what is so however a sequence ended: a decision for each
// repetition beyond the least, the last one with a reason; each grew the plan
// by one whole repetition, and the events tell of just that; orders go up.
func checkSequence(t *testing.T, c *clocked, decided []record.Stopping, plan *Plan) {
	t.Helper()
	for i, s := range decided {
		if (s.Outcome != "") != (i == len(decided)-1) || s.Repetitions != s.Least+i {
			t.Errorf("decision %d: %+v", i+1, s)
		}
	}
	total := 4 * decided[0].Least
	for _, e := range c.events {
		if e.Kind != record.EventRepetition {
			continue
		}
		total += len(e.Added)
		if e.Total != total || e.State == "added" && len(e.Added) != 4 || e.State == "enough" && len(e.Added) != 0 {
			t.Errorf("event %+v", e)
		}
	}
	if total != plan.Trials() {
		t.Errorf("events tell of %d trials, the plan has %d", total, plan.Trials())
	}
	times := map[string]int{}
	for _, r := range c.records {
		if r.Status != record.StatusSkipped {
			times[fmt.Sprintf("%s %d", r.Cell(), r.Repetition)]++
		}
		if at := r.Order - 1; plan.Planned()[at].ID != r.ID {
			t.Errorf("record %d is of another trial than the plan's", r.Order)
		}
	}
	for name, n := range times {
		if n > 1 {
			t.Errorf("%s ran %d times", name, n)
		}
	}
}

// TestSequenceResumed stops a sequence in the middle of each of its trials in
// turn; the second session ends where one without a stop does, by the same
// trials in the same order.
func TestSequenceResumed(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, done []record.Record, plan *Plan, q *Sequence, stopAfter int) ([]record.Record, error) {
		c := &clocked{deployS: 5, actual: noisy(0.1)}
		c.t, c.world.claim = t, 10*time.Hour
		r := claimsRunner(c, plan, 1)
		r.Claim, r.Sequence, r.Done = 10*time.Hour, q, map[string]record.Record{}
		for _, d := range done {
			r.Done[d.ID] = d
		}
		q.Spent = TimeSpent(done)
		stop := make(chan struct{})
		r.Stop = stop
		n := 0
		r.Show = func(e record.Event) {
			if e.Kind == record.EventTrialStarted {
				if n++; n == stopAfter {
					close(stop)
				}
			}
		}
		_, err := r.Run(t.Context())
		return c.records, err
	}
	rule := Stop{Precision: 0.12, Most: 30}
	synctest.Test(t, func(t *testing.T) {
		whole, q, decided := growing(3, rule)
		all, err := run(t, nil, whole, q, 0)
		if err != nil {
			t.Fatal(err)
		}
		end := (*decided)[len(*decided)-1]
		if end.Outcome != record.StopPrecise || end.Repetitions < 5 {
			t.Fatalf("ended with %+v; want a sequence of some repetitions", end)
		}
		for stopAfter := 1; stopAfter <= len(all); stopAfter++ {
			plan, q, decided := growing(3, rule)
			first, err := run(t, nil, plan, q, stopAfter)
			// Nobody is told of a stop that comes with the last of all trials.
			if stopped := errors.Is(err, ErrStopped); stopped != (stopAfter < len(all)) || len(first) != stopAfter {
				t.Fatalf("stopped in trial %d: %d records, %v", stopAfter, len(first), err)
			}
			if n := len(*decided); n > 0 && stopAfter < len(all) && (*decided)[n-1].Outcome != "" {
				t.Errorf("stopped in trial %d: decided %+v", stopAfter, (*decided)[n-1])
			}
			again, q, decided := growing(3, rule)
			again.Blocks = plan.Blocks // as a manifest keeps them
			second, err := run(t, first, again, q, 0)
			if err != nil {
				t.Fatal(err)
			}
			have := (*decided)[len(*decided)-1]
			have.SpentS = end.SpentS // deployments were made anew
			if have != end || planLines(again) != planLines(whole) {
				t.Errorf("stopped in trial %d: resumed to %+v, without a stop %+v", stopAfter, have, end)
			}
			if n := len(first) + len(second); n != len(all) {
				t.Errorf("stopped in trial %d: %d + %d records, without a stop %d", stopAfter, len(first), len(second), len(all))
			}
		}
	})
}

// TestRepetitionOfExperiment holds what resumption rests on: repetitions that
// are added are those of a longer plan, also of selected trials.
func TestRepetitionOfExperiment(t *testing.T) {
	t.Parallel()
	e := mustLoad(t, strings.Replace(small, "repetitions = 2", "precision = 0.05\nrepetitions = 2\nmax_repetitions = 6", 1))
	longer := BuildPlan(mustLoad(t, strings.Replace(small, "repetitions = 2", "repetitions = 5", 1)))
	plan := BuildPlan(e)
	plan.Continue(e, "", longer.Planned())
	if planLines(plan) != planLines(longer) {
		t.Errorf("continued plan:\n%s\nplan of five:\n%s", planLines(plan), planLines(longer))
	}
	only, err := longer.Only("scheduler=dask")
	if err != nil {
		t.Fatal(err)
	}
	some, err := BuildPlan(e).Only("scheduler=dask")
	if err != nil {
		t.Fatal(err)
	}
	some.Continue(e, "scheduler=dask", only.Planned())
	if planLines(some) != planLines(only) {
		t.Errorf("continued selection:\n%s\nselection of the longer plan:\n%s", planLines(some), planLines(only))
	}
	if none := e.Repetition(3, "repetition<=2"); len(none) != 0 {
		t.Errorf("repetition 3 of those up to 2: %d blocks", len(none))
	}
	plan = BuildPlan(e)
	plan.Continue(e, "", BuildPlan(mustLoad(t, strings.Replace(small, "repetitions = 2", "repetitions = 9", 1))).Planned())
	if last := plan.Blocks[len(plan.Blocks)-1].Repetition; last != 6 {
		t.Errorf("continued to repetition %d, more than the experiment allows now", last)
	}
}

func TestRepetitionsOfFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		least int
		want  Stop
	}{
		{"", 3, Stop{}},
		{"repetitions = 7", 7, Stop{}},
		{"precision = 0.05", 10, Stop{Precision: 0.05, Most: 50}},
		{"precision = 0.02\nrepetitions = 4\nmax_repetitions = 9\nmax_time = \"20m\"", 4, Stop{Precision: 0.02, Most: 9, Time: 20 * time.Minute}},
		{"precision = 0.05\nmax_repetitions = 6", 6, Stop{Precision: 0.05, Most: 6}},
		{"precision = 0.05\nrepetitions = 80", 80, Stop{Precision: 0.05, Most: 80}},
	}
	for _, test := range tests {
		e := mustLoad(t, strings.Replace(small, "repetitions = 2", test.text, 1))
		if e.Repetitions != test.least || e.Stop != test.want {
			t.Errorf("%q: have %d, %+v; want %d, %+v", test.text, e.Repetitions, e.Stop, test.least, test.want)
		}
	}
}

// TestGrowthIsEstimated compares what a plan says it may grow to with the plan
// of so many repetitions.
func TestGrowthIsEstimated(t *testing.T) {
	t.Parallel()
	e := mustLoad(t, strings.Replace(small, "repetitions = 2", "precision = 0.05\nrepetitions = 2\nmax_repetitions = 6", 1))
	most := mustLoad(t, strings.Replace(small, "repetitions = 2", "repetitions = 6", 1))
	have := EstimatePlan(BuildPlan(e), e, TimeModel{})
	want := EstimatePlan(BuildPlan(most), most, TimeModel{})
	if g := have.Most; g == nil || g.Trials != want.Trials || math.Abs(g.DurationS-want.Duration.Seconds()) > 0.001 {
		t.Errorf("grows to %+v, want %d trials in %s", have.Most, want.Trials, want.Duration)
	}
	if want.Most != nil {
		t.Errorf("a fixed number grows to %+v", want.Most)
	}
	text := have.Arithmetic()
	if !slices.Contains(strings.Split(text, "\n"), have.Most.String()) || !strings.Contains(text, "within 5 %: at most 6 repetitions") {
		t.Errorf("estimate:\n%s", text)
	}
}
