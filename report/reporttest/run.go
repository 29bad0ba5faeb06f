package reporttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/esched/esched/runners/record"
)

// Shape says what run to invent. Zero fields get the values of a small
// complete experiment.
type Shape struct {
	Seed        uint64
	Workload    string
	Sizes       []int
	Workers     []int
	Policies    []string
	Baselines   []string // names of schedulers of kind "dask"
	Repetitions int
	// FailEvery makes every n-th trial a failed one; 0 for none.
	FailEvery int
	// Noise is the standard deviation of the logarithm of times.
	Noise float64
}

func (s *Shape) fill() {
	if s.Workload == "" {
		s.Workload = "montecarlo"
	}
	if s.Sizes == nil {
		s.Sizes = []int{500, 1000, 2000}
	}
	if s.Workers == nil {
		s.Workers = []int{1, 2, 4}
	}
	if s.Policies == nil {
		s.Policies = []string{"random", "least-cpu-load", "least-memory", "composite", "earliest-start"}
	}
	if s.Baselines == nil {
		s.Baselines = []string{"dask"}
	}
	if s.Repetitions == 0 {
		s.Repetitions = 3
	}
	if s.Noise == 0 {
		s.Noise = 0.03
	}
}

var start = time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)

// Run invents a run. The same shape gives the same run.
func Run(s Shape) *record.Run {
	s.fill()
	random := rand.New(rand.NewPCG(s.Seed, 1))
	run := &record.Run{Dir: "runs/invented", Manifest: manifest(s)}
	order, block := 0, 0
	for rep := 1; rep <= s.Repetitions; rep++ {
		for _, workers := range s.Workers {
			for _, arm := range arms(s) {
				block++
				warm := invent(s, random, arm, s.Sizes[0], workers, 0)
				warm.Warmup, warm.Block = true, block
				run.Records = append(run.Records, warm)
				for _, size := range s.Sizes {
					order++
					rec := invent(s, random, arm, size, workers, rep)
					rec.Order, rec.Block = order, block
					rec.Started = start.Add(time.Duration(order) * 7 * time.Second)
					if s.FailEvery > 0 && order%s.FailEvery == 0 {
						fail(&rec, order)
					}
					run.Records = append(run.Records, rec)
					run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{Trial: rec.Trial, Block: block, Order: order})
				}
			}
		}
	}
	return run
}

func fail(rec *record.Record, order int) {
	rec.Status, rec.Error = record.StatusFailed, "worker node001/w2 lost: exit status 137 (killed)"
	if order%2 == 0 {
		rec.Status, rec.Error = record.StatusTimeout, "no result after 2m0s; 1,312 of 2,671 tasks done"
	}
	rec.MakespanS, rec.DecisionUS, rec.DecisionHist, rec.PerWorker, rec.ResultDigest, rec.Result = 0, nil, nil, nil, "", ""
	rec.Attempts = []record.Attempt{{Status: record.StatusFailed, Error: "scheduler: connection refused", Started: rec.Started, RunS: 3.25}}
}

type arm struct {
	scheduler, kind, policy string
	pace                    float64
}

func arms(s Shape) []arm {
	var all []arm
	for i, b := range s.Baselines {
		all = append(all, arm{b, "dask", "", 1 + 0.04*float64(i)})
	}
	for i, p := range s.Policies {
		all = append(all, arm{"sidekick", "sidekick", p, 0.97 - 0.07*float64(i)})
	}
	return all
}

func invent(s Shape, random *rand.Rand, a arm, size, workers, rep int) record.Record {
	t := record.Trial{
		Workload: s.Workload, Size: grouped(size) + " chunks", Params: map[string]any{"chunks": size, "simulations": 200000},
		Scheduler: a.scheduler, Kind: a.kind, Policy: a.policy, Nodes: 1, Workers: workers, Threads: 1, Environment: "default", Repetition: rep,
	}
	if a.scheduler == "dask-no-steal" {
		t.Settings = map[string]any{"distributed.scheduler.work-stealing": false}
	}
	t.ID = t.Identity()
	makespan := a.pace * (0.4 + float64(size)/430*math.Pow(float64(workers), -0.85)) * math.Exp(s.Noise*random.NormFloat64())
	rec := record.Record{
		Schema: record.Schema, Trial: t, Status: record.StatusOK, MakespanS: makespan, SubmitS: 0.05 * makespan, Tasks: size + size/3,
		BytesMoved: int64(size) * 2100, ResultDigest: fmt.Sprintf("digest-%d", size), Result: "pi = 3.1416", Hosts: []string{"node001"},
		QueueS: 0.01, DeployS: 2.1, WarmupS: 1.2, RunS: makespan + 0.8, Started: start,
	}
	for w := range workers {
		share := 0.9 / a.pace * (1 - 0.05*random.Float64())
		rec.PerWorker = append(rec.PerWorker, record.WorkerShare{Worker: fmt.Sprintf("w%d", w+1), Host: "node001", Tasks: rec.Tasks / workers, BusyS: makespan * min(share, 0.995)})
	}
	if a.kind != "dask" {
		decide(&rec, random)
	}
	return rec
}

func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return grouped(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// decide invents a distribution of latencies around 20 µs.
func decide(rec *record.Record, random *rand.Rand) {
	rec.Decisions = rec.Tasks
	rec.DecisionSources = map[string]int{"hint": rec.Tasks / 2, "next": rec.Tasks / 4, "ask": rec.Tasks - rec.Tasks/2 - rec.Tasks/4}
	rec.SchedulerCPUS, rec.ServiceCPUS = 0.6*rec.MakespanS, 0.02*rec.MakespanS
	left := rec.Tasks
	center := 18 + 6*random.Float64()
	for le := 1.0; le < 1e5 && left > 0; le *= 1.5 {
		n := min(left, int(float64(rec.Tasks)*0.45*math.Exp(-math.Pow(math.Log(le/center), 2))))
		left -= n
		rec.DecisionHist = append(rec.DecisionHist, record.HistBucket{LeUS: le, Count: n})
	}
	rec.DecisionHist[len(rec.DecisionHist)-1].Count += left
	rec.DecisionUS = &record.Quantiles{P50: center, P95: 3 * center, P99: 6 * center, Max: 40 * center}
	rec.HitUS = &record.Quantiles{P50: 0.8, P95: 2, P99: 3, Max: 50}
	rec.AskUS = &record.Quantiles{P50: 120, P95: 200, P99: 300, Max: 40 * center}
}

func manifest(s Shape) record.Manifest {
	return record.Manifest{
		Schema: record.Schema, ID: "2026-01-15T10-00-00-invented", Name: "invented-" + s.Workload, Command: []string{"esched", "run", "experiments.toml"},
		Esched: "0.0.0-test", Experiment: "[experiment]\nname = \"invented\"\n", ExperimentPath: "experiments.toml", ExperimentSHA256: "0000",
		Seed: int64(s.Seed), Cluster: "local", ClusterKind: "local", Sessions: 1, Started: start, Ended: start.Add(17 * time.Minute),
		Environments: map[string]record.Environment{"default": {Name: "default", Python: "3.11.9", Lock: "sha256:00", Packages: map[string]string{"dask": "2026.7.1", "distributed": "2026.7.1", "numpy": "2.3.1"}}},
		Hosts:        []record.Host{{Name: "node001", CPU: "Invented CPU 2.8 GHz", Cores: 24, MemoryB: 128 << 30, Kernel: "6.1.0", OS: "Linux", Governor: "performance"}},
		Notes:        []string{"work stealing off for the sidekick"},
	}
}
