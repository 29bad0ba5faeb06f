package runners

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/esched/esched/runners/record"
)

// Plan is the trials of an experiment in the order in which they will run.
// It is a pure function of the experiment: the same file gives the same plan.
type Plan struct {
	Name   string  `json:"name"`
	Blocks []Block `json:"blocks"`
	// Seed is the one that ordered the trials, recorded with the run.
	Seed int64 `json:"seed"`
}

// Block is a sequence of trials that share one deployment: one repetition of
// everything that is to run under one scheduler with one number of workers. A
// new deployment for each repetition lets the intervals cover what differs
// from one deployment to the next.
type Block struct {
	Scheduler SchedulerSpec `json:"scheduler"`
	Nodes     int           `json:"nodes"`
	// WorkersPerNode and Threads shape the deployment.
	WorkersPerNode int `json:"workers_per_node"`
	Threads        int `json:"threads"`
	// WorkerMemoryB limits the memory of each worker, as in a trial.
	WorkerMemoryB int64 `json:"worker_memory_bytes,omitempty"`
	// Worker is the kind of the workers, as in a trial.
	Worker     string `json:"worker,omitempty"`
	Repetition int    `json:"repetition"`
	// Warmups run first and count in no result.
	Warmups []record.Trial `json:"warmups"`
	Trials  []record.Trial `json:"trials"`
}

// SchedulerSpec is a scheduler of the experiment.
type SchedulerSpec struct {
	// Name is the scheduler's name in the experiment, Kind "dask" or "sidekick".
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Dask holds Dask configuration values set for it, Options what its kind
	// understands ("slots" for the sidekick: "adaptive" or "stock"). An option
	// with its default value is absent, so that identities of trials outlive the
	// invention of further options.
	Dask    map[string]any `json:"dask,omitempty"`
	Options map[string]any `json:"options,omitempty"`
}

// BuildPlan lays out an experiment that [Load] made. A repetition is a
// complete pass over all cells before the next one begins, so that what
// changes slowly on the machines hits all schedulers alike; within a
// repetition the blocks, and within a block the trials, are in an order drawn
// from the seed. Each repetition draws from a stream of its own: raising
// their number leaves the earlier ones as they were.
//
// Maps in the trials are shared between them and must not be changed.
func BuildPlan(e *Experiment) *Plan {
	p := &Plan{Name: e.Name, Seed: e.Seed}
	for repetition := 1; repetition <= e.Repetitions; repetition++ {
		p.Blocks = append(p.Blocks, e.repetition(repetition)...)
	}
	return p
}

// repetition returns the blocks of one pass over all cells, in its own order.
func (e *Experiment) repetition(number int) []Block {
	type shape struct {
		scheduler               string
		nodes, workers, threads int
	}
	var order []shape
	members := map[shape][]*cell{}
	for i := range e.cells {
		c := &e.cells[i]
		s := shape{c.scheduler.Name, c.nodes, c.workersPerNode, c.threads}
		if members[s] == nil {
			order = append(order, s)
		}
		members[s] = append(members[s], c)
	}
	draw := rand.New(rand.NewPCG(uint64(e.Seed), uint64(number)))
	blocks := make([]Block, 0, len(order))
	for _, s := range order {
		blocks = append(blocks, buildBlock(e, members[s], number, draw))
	}
	draw.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	return blocks
}

// buildBlock makes one repetition of cells that share a deployment.
func buildBlock(e *Experiment, cells []*cell, repetition int, draw *rand.Rand) Block {
	first := cells[0]
	b := Block{Scheduler: first.scheduler, Nodes: first.nodes, WorkersPerNode: first.workersPerNode,
		Threads: first.threads, WorkerMemoryB: e.WorkerMemoryB, Worker: e.Worker, Repetition: repetition, Warmups: buildWarmups(e, cells)}
	for _, c := range cells {
		b.Trials = append(b.Trials, c.trial(e, repetition))
	}
	draw.Shuffle(len(b.Trials), func(i, j int) { b.Trials[i], b.Trials[j] = b.Trials[j], b.Trials[i] })
	return b
}

// buildWarmups makes the warm-ups of each workload of a block: imports and
// connections are what has to be warm, so a small trial under any policy will
// do.
func buildWarmups(e *Experiment, cells []*cell) []record.Trial {
	var out []record.Trial
	warm := map[string]bool{}
	for _, c := range cells {
		if warm[c.entry.Name] {
			continue
		}
		warm[c.entry.Name] = true
		small := *c
		small.policy = cells[0].policy
		if c.entry.Warmup != nil {
			small.params = c.entry.Warmup(maps.Clone(c.params))
		}
		t := small.trial(e, 0)
		t.Warmup = true
		out = append(out, slices.Repeat([]record.Trial{t}, e.Warmup)...)
	}
	return out
}

// Trials counts the measured trials of the plan.
func (p *Plan) Trials() int {
	n := 0
	for _, b := range p.Blocks {
		n += len(b.Trials)
	}
	return n
}

// Nodes is the largest number of nodes that a block of the plan needs: what a
// run reserves.
func (p *Plan) Nodes() int {
	n := 0
	for _, b := range p.Blocks {
		n = max(n, b.Nodes)
	}
	return n
}

// Planned lists the trials as a run's manifest does: warm-ups included and in
// the order of execution. Blocks count from 0; orders count the measured
// trials from 1 and are 0 for warm-ups.
func (p *Plan) Planned() []record.Planned {
	var out []record.Planned
	order := 0
	for i, b := range p.Blocks {
		for _, t := range b.Warmups {
			out = append(out, record.Planned{Trial: t, Block: i})
		}
		for _, t := range b.Trials {
			order++
			out = append(out, record.Planned{Trial: t, Block: i, Order: order})
		}
	}
	return out
}
