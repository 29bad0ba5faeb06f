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

// Guesses for what no earlier run tells, in seconds: a local deployment
// imports Dask in a few processes one after the other, and a driver process
// prepares and verifies beside what it measures.
const (
	guessedDeployS = 6
	guessedTrialS  = 5
	guessedWarmupS = 2
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
	// Claim is the experiment's claim time and Fits whether Duration is within
	// it.
	Claim time.Duration
	Fits  bool
}

// EstimatePlan adds up how long a plan of an experiment will take: from
// earlier runs where they tell, else from what the workloads guess.
func EstimatePlan(p *Plan, e *Experiment, times TimeModel) Estimate {
	est := Estimate{Deployments: len(p.Blocks), Nodes: p.Nodes(), Claim: e.ClaimTime}
	guesses := map[string]func(map[string]any, int) float64{}
	for _, c := range e.cells {
		guesses[c.entry.Name] = c.entry.Seconds
	}
	var trials, warmups, deploys float64
	for _, b := range p.Blocks {
		for _, t := range b.Trials {
			seconds, measured := times.Cells[t.Cell()]
			if measured {
				est.Measured++
			} else {
				seconds = guess(guesses[t.Workload], t, guessedTrialS)
			}
			trials += seconds
		}
		est.Trials += len(b.Trials)
		est.Warmups += len(b.Warmups)
		deploys += known(times.DeployS, guessedDeployS)
		if len(b.Warmups) > 0 {
			fallback := 0.0
			for _, t := range b.Warmups {
				fallback += guess(guesses[t.Workload], t, guessedWarmupS)
			}
			warmups += known(times.WarmupS, fallback)
		}
	}
	est.TrialTime, est.WarmupTime, est.DeployTime = seconds(trials), seconds(warmups), seconds(deploys)
	est.Duration = min(est.TrialTime+est.WarmupTime+est.DeployTime, longestEstimate)
	est.NodeSeconds = est.Duration.Seconds() * float64(est.Nodes)
	est.Fits = est.Duration <= est.Claim
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
	fits := fmt.Sprintf("fits the claim of %s, %s to spare", round(e.Claim), round(e.Claim-e.Duration))
	if !e.Fits {
		fits = fmt.Sprintf("exceeds the claim of %s by %s", round(e.Claim), round(e.Duration-e.Claim))
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
	}{e.Trials, e.Warmups, e.Deployments, e.Measured, e.TrialTime.Seconds(), e.WarmupTime.Seconds(), e.DeployTime.Seconds(),
		e.Duration.Seconds(), e.Nodes, e.NodeSeconds, e.Claim.Seconds(), e.Fits})
}
