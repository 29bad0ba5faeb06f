package runners

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/esched/esched/runners/record"
)

// TimeModel is what is known about durations from earlier runs. The zero
// value knows nothing.
type TimeModel struct {
	// Cells holds the median seconds of a trial by [record.Trial.Cell], from
	// its start to the end of its verification.
	Cells map[string]float64
	// DeployS and WarmupS are the median seconds that a block spent on its
	// deployment and on all its warm-ups; 0: not known.
	DeployS, WarmupS float64
}

// Guesses for what no earlier run tells, in seconds: a deployment imports Dask
// in all its processes at the same time (on two cores
// 1.5 s, and as much again with the end of the one before), and a driver process
// prepares and verifies beside what it measures.
const (
	guessedDeployS = 2.5
	guessedRemoteS = 6 // a deployment on other machines
	guessedTrialS  = 5
	guessedWarmupS = 2
	guessedStopS   = 2
)

// LearnTimes takes the medians of earlier records. Only trials that are ok
// count.
func LearnTimes(records []record.Record) TimeModel {
	cells := map[string][]float64{}
	type block struct {
		run  string // records of one block have the same clocks
		rep  int
		name string
	}
	deploys, warmups := map[block]float64{}, map[block]float64{}
	for _, r := range records {
		if r.Warmup || r.Status != record.StatusOK {
			continue
		}
		cell := r.Trial.Cell()
		cells[cell] = append(cells[cell], r.RunS)
		b := block{fmt.Sprint(r.DeployS, r.WarmupS), r.Repetition, r.Scheduler}
		deploys[b], warmups[b] = r.DeployS, r.WarmupS
	}
	m := TimeModel{Cells: map[string]float64{}, DeployS: medianOf(deploys), WarmupS: medianOf(warmups)}
	for cell, values := range cells {
		m.Cells[cell] = median(values)
	}
	return m
}

func medianOf[K comparable](values map[K]float64) float64 {
	var all []float64
	for _, v := range values {
		all = append(all, v)
	}
	return median(all)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// Estimate is the time that a plan is expected to need.
type Estimate struct {
	// Trials, Warmups and Deployments count what the plan holds; Measured is
	// the number of trials whose duration earlier runs tell.
	Trials, Warmups, Deployments, Measured int
	// TrialTime, WarmupTime and DeployTime add up to Duration. Waiting for
	// nodes is not part of it.
	TrialTime, WarmupTime, DeployTime time.Duration
	Duration                          time.Duration
	// Nodes is what the run reserves, NodeSeconds what that costs over
	// Duration.
	Nodes       int
	NodeSeconds float64
	// Claim is the experiment's claim time and Fits whether one is enough.
	Claim time.Duration
	Fits  bool
	// Most is what the plan may grow to; nil when the number of repetitions is
	// fixed.
	Most *Growth
	// Claims is how many claims in a row the plan takes, and TooLong the number
	// of trials that fit into none.
	Claims, TooLong int
}

// Growth is what a plan may grow to until its cells are known precisely enough.
type Growth struct {
	Precision   float64 `json:"precision"`
	Repetitions int     `json:"repetitions"`
	Trials      int     `json:"trials"`
	DurationS   float64 `json:"duration_s"`
	// BudgetS is the time after which no repetition is added; 0: no bound.
	BudgetS float64 `json:"budget_s,omitempty"`
}

// growth says what a plan, estimated as it is, may grow to.
func growth(p *Plan, e *Experiment, est Estimate) *Growth {
	if e.Stop.Precision == 0 || len(p.Blocks) == 0 {
		return nil
	}
	last := p.Blocks[len(p.Blocks)-1].Repetition
	each := 0
	for _, b := range p.Blocks {
		if b.Repetition == last {
			each += len(b.Trials)
		}
	}
	g := &Growth{Precision: e.Stop.Precision, Repetitions: max(e.Stop.Most, last), BudgetS: e.Stop.Time.Seconds()}
	g.Trials = est.Trials + (g.Repetitions-last)*each
	g.DurationS = est.Duration.Seconds() * float64(g.Trials) / float64(max(est.Trials, 1))
	if g.BudgetS > 0 {
		g.DurationS = max(est.Duration.Seconds(), min(g.DurationS, g.BudgetS))
	}
	return g
}

// String says what the plan may grow to.
func (g Growth) String() string {
	text := fmt.Sprintf("goes on by whole repetitions until every interval is within %s: at most %d repetitions, %d trials, %s",
		record.Percent(g.Precision), g.Repetitions, g.Trials, round(seconds(g.DurationS)))
	if g.BudgetS > 0 {
		text += fmt.Sprintf(" (max_time is %s)", round(seconds(g.BudgetS)))
	}
	return text
}

// EstimatePlan adds up how long a plan of an experiment will take: from
// earlier runs where they tell, else from what the workloads guess.
func EstimatePlan(p *Plan, e *Experiment, times TimeModel) Estimate {
	est := Estimate{Deployments: len(p.Blocks), Nodes: p.Nodes(), Claim: e.ClaimTime}
	f := NewForecast(e, times)
	var trials, warmups, deploys float64
	for _, b := range p.Blocks {
		for _, t := range b.Trials {
			seconds, measured := f.trial(t)
			if measured {
				est.Measured++
			}
			trials += seconds
		}
		est.Trials += len(b.Trials)
		est.Warmups += len(b.Warmups)
		deploys += f.deploy(b)
		warmups += f.warmup(b)
	}
	est.TrialTime, est.WarmupTime, est.DeployTime = seconds(trials), seconds(warmups), seconds(deploys)
	est.Duration = min(est.TrialTime+est.WarmupTime+est.DeployTime, longestEstimate)
	est.NodeSeconds = est.Duration.Seconds() * float64(est.Nodes)
	est.Most = growth(p, e, est)
	est.Claims, est.TooLong = f.layOut(p, e.ClaimTime)
	est.Fits = est.Claims <= 1 && est.TooLong == 0
	return est
}

func known(value, fallback float64) float64 {
	if value > 0 {
		return value
	}
	return fallback
}

func guess(by func(map[string]any, int) float64, t record.Trial, fallback float64) float64 {
	if by == nil {
		return fallback
	}
	return max(by(t.Params, t.Workers), 0)
}

// longestEstimate bounds guesses of absurd parameters, 30 years; the sum of
// three such parts does not overflow.
const longestEstimate = 30 * 365 * 24 * time.Hour

func seconds(s float64) time.Duration {
	if !(s < longestEstimate.Seconds()) { // also NaN
		return longestEstimate
	}
	return time.Duration(s * float64(time.Second))
}

// Arithmetic says how the estimate comes about and whether it fits the claim,
// in lines for people.
func (e Estimate) Arithmetic() string {
	known := "guessed by the workloads"
	switch {
	case e.Measured == e.Trials && e.Trials > 0:
		known = "by earlier runs"
	case e.Measured > 0:
		known = fmt.Sprintf("%d by earlier runs, %d guessed", e.Measured, e.Trials-e.Measured)
	}
	kept := collection(e.Claim)
	fits := fmt.Sprintf("fits the claim of %s, %s to spare (%s are kept for the end)", round(e.Claim), round(e.Claim-kept-e.Duration), round(kept))
	if !e.Fits {
		fits = fmt.Sprintf("takes %d claims of %s (%s of each are kept for its end)", e.Claims, round(e.Claim), round(kept))
	}
	if e.TooLong > 0 {
		fits += fmt.Sprintf("; %d trial(s) fit into none", e.TooLong)
	}
	if e.Most != nil {
		fits += "\n" + e.Most.String()
	}
	return fmt.Sprintf("%s = %s for %d trials (%s) + %s for %d deployments + %s for %d warm-ups\n%d node(s) x %s = %.0f node-seconds\n%s",
		round(e.Duration), round(e.TrialTime), e.Trials, known, round(e.DeployTime), e.Deployments, round(e.WarmupTime), e.Warmups,
		e.Nodes, round(e.Duration), e.NodeSeconds, fits)
}

func round(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// MarshalJSON writes durations in seconds.
func (e Estimate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Trials      int     `json:"trials"`
		Warmups     int     `json:"warmups"`
		Deployments int     `json:"deployments"`
		Measured    int     `json:"measured"`
		TrialS      float64 `json:"trial_s"`
		WarmupS     float64 `json:"warmup_s"`
		DeployS     float64 `json:"deploy_s"`
		DurationS   float64 `json:"duration_s"`
		Nodes       int     `json:"nodes"`
		NodeSeconds float64 `json:"node_seconds"`
		ClaimS      float64 `json:"claim_s"`
		Fits        bool    `json:"fits"`
		Claims      int     `json:"claims"`
		TooLong     int     `json:"too_long,omitempty"`
		Most        *Growth `json:"most,omitempty"`
	}{e.Trials, e.Warmups, e.Deployments, e.Measured, e.TrialTime.Seconds(), e.WarmupTime.Seconds(), e.DeployTime.Seconds(),
		e.Duration.Seconds(), e.Nodes, e.NodeSeconds, e.Claim.Seconds(), e.Fits, e.Claims, e.TooLong, e.Most})
}
