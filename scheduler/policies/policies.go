package policies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/esched/esched/scheduler"
)

// Info describes a built-in policy.
type Info struct {
	// Name is what experiment files and flags call it; New also takes
	// underscores for hyphens, as the prototype spelled them.
	Name string
	// Doc says in one sentence what it does.
	Doc string
	// Formula is what it minimises, or "" when it has none.
	Formula string
	// Source is where it comes from.
	Source string
	// Seeded policies depend on the seed.
	Seeded bool

	make func(seed uint64) scheduler.Policy
}

// All returns the built-in policies in the order in which they are shown.
func All() []Info {
	const report = "lab report, section 4"
	return []Info{
		{
			Name: "random", Doc: "Any worker, each with the same probability: the null baseline.",
			Source: report, Seeded: true,
			make: func(seed uint64) scheduler.Policy { return &random{rand.New(rand.NewPCG(seed, 0))} },
		},
		{
			Name: "least-memory-utilization", Doc: "The worker that uses the smallest share of its memory.",
			Formula: "memory_used / memory_limit", Source: report,
			make: scored(func(w *scheduler.Worker) float64 { return w.Memory() }),
		},
		{
			Name: "least-cpu-load", Doc: "The worker with the fewest tasks per thread.",
			Formula: "tasks_running / cpu_cores", Source: report,
			make: scored(func(w *scheduler.Worker) float64 { return w.Load() }),
		},
		{
			Name:    "shortest-bandwidth-latency",
			Doc:     "The worker whose heartbeat took least time to arrive (with unsynchronised clocks this is mostly their difference).",
			Formula: "time_delay", Source: report,
			make: scored(func(w *scheduler.Worker) float64 { return w.Delay }),
		},
		{
			Name: "highest-resource-availability", Doc: "The worker with most free CPU and memory.",
			Formula: "-((1 - memory) + (1 - cpu)) / 2", Source: report,
			make: scored(func(w *scheduler.Worker) float64 { return -((1 - w.Memory()) + (1 - w.Load())) / 2 }),
		},
		{
			Name: "composite-score", Doc: "A weighted sum of free memory, free CPU and closeness.",
			Formula: "-(0.4 (1 - memory) + 0.4 (1 - cpu) + 0.2 / (1 + time_delay))", Source: report,
			make: scored(composite),
		},
		{
			Name: "round-robin", Doc: "The workers in turn.", Source: "folklore",
			make: func(uint64) scheduler.Policy { return &roundRobin{} },
		},
		{
			Name:    "earliest-start",
			Doc:     "The worker on which the task can start first, counting queued work and input transfers; urgent paths first.",
			Formula: "queued work / threads + missing inputs (bytes / bandwidth + 3 ms each) + 100 ms where none of the inputs is",
			Source:  "list scheduling by b-level (Adam et al. 1974) with estimated start times, as ETF (Hwang et al. 1989)",
			make:    func(uint64) scheduler.Policy { return &earliestStart{} },
		},
	}
}

// Names returns the names of all built-in policies, in the order of All.
func Names() []string {
	var names []string
	for _, i := range All() {
		names = append(names, i.Name)
	}
	return names
}

// New makes a policy. The seed drives all its randomness.
func New(name string, seed uint64) (scheduler.Policy, error) {
	all := All()
	want := strings.ReplaceAll(name, "_", "-")
	at := slices.IndexFunc(all, func(i Info) bool { return i.Name == want })
	if at < 0 {
		return nil, fmt.Errorf("unknown policy %q", name)
	}
	return all[at].make(seed), nil
}

// random is uniform over the candidates.
type random struct{ rng *rand.Rand }

func (p *random) Place(_ *scheduler.State, _ *scheduler.Task, candidates []*scheduler.Worker) *scheduler.Worker {
	return candidates[p.rng.IntN(len(candidates))]
}

// formula is a policy that minimises a score of the worker alone.
type formula struct {
	score func(*scheduler.Worker) float64
}

func scored(score func(*scheduler.Worker) float64) func(uint64) scheduler.Policy {
	return func(uint64) scheduler.Policy { return formula{score} }
}

func (p formula) Place(_ *scheduler.State, _ *scheduler.Task, candidates []*scheduler.Worker) *scheduler.Worker {
	return scheduler.Best(candidates, p.score)
}

// Score implements [scheduler.Scorer].
func (p formula) Score(_ *scheduler.State, _ *scheduler.Task, w *scheduler.Worker) float64 {
	return p.score(w)
}

func composite(w *scheduler.Worker) float64 {
	return -(0.4*(1-w.Memory()) + 0.4*(1-w.Load()) + 0.2/(1+w.Delay))
}

// roundRobin takes the candidate after the last one it took, by ID.
type roundRobin struct{ last scheduler.WorkerID }

func (p *roundRobin) Place(_ *scheduler.State, _ *scheduler.Task, candidates []*scheduler.Worker) *scheduler.Worker {
	chosen := candidates[0]
	for _, w := range candidates {
		if w.ID > p.last {
			chosen = w
			break
		}
	}
	p.last = chosen.ID
	return chosen
}
