package runners

import (
	"time"

	"github.com/esched/esched/runners/record"
)

// Plan is the trials of an experiment in the order in which they will run.
// It is a pure function of the experiment: the same file gives the same plan.
type Plan struct {
	Blocks []Block
	// Seed is the one that ordered the trials, recorded with the run.
	Seed int64
}

// Block is a sequence of trials that share one deployment: one repetition of
// everything that is to run under one scheduler with one number of workers. A
// new deployment for each repetition lets the intervals cover what differs
// from one deployment to the next.
type Block struct {
	Scheduler SchedulerSpec
	Nodes     int
	// WorkersPerNode and Threads shape the deployment.
	WorkersPerNode int
	Threads        int
	Repetition     int
	// Warmups run first and count in no result.
	Warmups []record.Trial
	Trials  []record.Trial
}

// SchedulerSpec is a scheduler of the experiment.
type SchedulerSpec struct {
	// Name is the scheduler's name in the experiment, Kind "dask" or "sidekick".
	Name string
	Kind string
	// Dask holds Dask configuration values set for it, Options what its kind
	// understands ("slots" for the sidekick: "adaptive" or "stock").
	Dask    map[string]any
	Options map[string]any
}

// Estimate is the time that a plan is expected to need.
type Estimate struct {
	Trials, Warmups, Deployments int
	Duration                     time.Duration
	NodeSeconds                  float64
	// Claim is the experiment's claim time and Fits whether Duration is within
	// it.
	Claim time.Duration
	Fits  bool
}
