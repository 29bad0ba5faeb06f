package runners

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/esched/esched/runners/record"
)

func planLines(p *Plan) string {
	var b strings.Builder
	for _, t := range p.Planned() {
		fmt.Fprintf(&b, "%2d %2d %s %s\n", t.Block, t.Order, t.ID, t.Trial)
	}
	return b.String()
}

// TestPlanGolden fixes order and identities: a run that another version of
// esched began can be resumed.
func TestPlanGolden(t *testing.T) {
	t.Parallel()
	golden(t, "plan.golden", planLines(BuildPlan(mustLoad(t, small))))
}

func TestPlanOrderFollowsSeed(t *testing.T) {
	t.Parallel()
	e := mustLoad(t, small)
	first := planLines(BuildPlan(e))
	if again := planLines(BuildPlan(mustLoad(t, small))); again != first {
		t.Errorf("same file, other plan:\n%s\n%s", first, again)
	}
	other := planLines(BuildPlan(mustLoad(t, strings.Replace(small, "seed = 7", "seed = 8", 1))))
	if other == first {
		t.Error("another seed gives the same order")
	}
	more := BuildPlan(mustLoad(t, strings.Replace(small, "repetitions = 2", "repetitions = 3", 1)))
	if have := planLines(more); !strings.HasPrefix(have, first) {
		t.Errorf("a further repetition changes the earlier ones:\n%s\n%s", first, have)
	}
}

// TestPlanProperties holds for any grid: every cell once in each repetition,
// repetitions one after the other, identities unique and right, blocks of one
// shape.
func TestPlanProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := func(what string, low, high int) []int {
			return rapid.SliceOfNDistinct(rapid.IntRange(low, high), 1, 4, rapid.ID[int]).Draw(t, what)
		}
		join := func(v []int) string { return strings.Join(strings.Fields(fmt.Sprint(v)), ", ") }
		nodes, workers, sizes := list("nodes", 1, 64), list("workers", 1, 100), list("sizes", 100, 100_000)
		repetitions, warmup := rapid.IntRange(1, 4).Draw(t, "repetitions"), rapid.IntRange(0, 2).Draw(t, "warmup")
		text := fmt.Sprintf(`name = "p"
seed = %d
repetitions = %d
warmup = %d
schedulers = ["sidekick", "dask"]
policies = ["random", "least-cpu-load"]
nodes = %s
workers_per_node = %s
[[workload]]
name = "montecarlo"
simulations = %s
chunk = 100
[[workload]]
name = "synthetic"
[[trial]]
workload = "synthetic"
scheduler = "dask"
nodes = %d
workers_per_node = %d
`, rapid.Int64Range(0, maxSeed).Draw(t, "seed"), repetitions, warmup, join(nodes), join(workers), join(sizes), nodes[0], workers[0])
		e, err := Load("p.toml", []byte(text), testCatalog())
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		p := BuildPlan(e)
		shapes := len(nodes) * len(workers) * 2
		if have, want := p.Trials(), len(nodes)*len(workers)*(len(sizes)+1)*3*repetitions; have != want {
			t.Fatalf("trials: have %d, want %d (the explicit one is in the grid)", have, want)
		}
		if have, want := len(p.Blocks), shapes*repetitions; have != want {
			t.Fatalf("blocks: have %d, want %d", have, want)
		}
		checkPlan(t, p, shapes, warmup)
	})
}

func checkPlan(t *rapid.T, p *Plan, shapes, warmup int) {
	seen := map[string]bool{}
	for i, b := range p.Blocks {
		if want := i/shapes + 1; b.Repetition != want {
			t.Fatalf("block %d has repetition %d, want %d", i, b.Repetition, want)
		}
		if len(b.Warmups) != warmup*2 {
			t.Fatalf("block %d has %d warm-ups, want %d of each workload", i, len(b.Warmups), warmup)
		}
		for _, tr := range slices.Concat(b.Warmups, b.Trials) {
			if tr.ID != tr.Identity() || tr.Warmup == (tr.Repetition > 0) {
				t.Fatalf("trial %v has a wrong identity or repetition", tr)
			}
			if tr.Scheduler != b.Scheduler.Name || tr.Nodes != b.Nodes || tr.Workers != b.Nodes*b.WorkersPerNode || tr.Threads != b.Threads {
				t.Fatalf("trial %v does not fit block %+v", tr, b)
			}
			if !tr.Warmup && seen[tr.ID] {
				t.Fatalf("trial %v is planned twice", tr)
			}
			seen[tr.ID] = true
		}
	}
}

// TestWorkerMemory writes equal limits in different ways, which are the same
// trials, and others than those with Dask's limit or a share of the node.
func TestWorkerMemory(t *testing.T) {
	t.Parallel()
	seen := map[string]int64{}
	for _, c := range []struct {
		line string
		want int64
	}{
		{"", 0},
		{`worker_memory = "2 GB"`, 2e9},
		{`worker_memory = "2000MB"`, 2e9},
		{`worker_memory = 2_000_000_000`, 2e9},
		{`worker_memory = "auto"`, record.MemoryAuto},
	} {
		b := BuildPlan(mustLoad(t, c.line+"\n"+small)).Blocks[0]
		if b.WorkerMemoryB != c.want || b.Trials[0].WorkerMemoryB != c.want {
			t.Errorf("%s: want %d, have %d in the block, %d in its trials", c.line, c.want, b.WorkerMemoryB, b.Trials[0].WorkerMemoryB)
		}
		for _, id := range []string{b.Trials[0].ID, b.Warmups[0].ID} {
			if limit, ok := seen[id]; ok && limit != c.want {
				t.Errorf("%s: the trial is that of the limit %d", c.line, limit)
			}
			seen[id] = c.want
		}
	}
}

func TestExplicitTrials(t *testing.T) {
	t.Parallel()
	trial := "[[trial]]\nworkload = \"montecarlo\"\nscheduler = \"dask\"\nworkers_per_node = %d\nsimulations = 1000\nchunk = 100\n"
	plain := BuildPlan(mustLoad(t, small)).Trials()
	for _, c := range []struct {
		name string
		text string
		want int
	}{
		{"in the grid", small + fmt.Sprintf(trial, 2), plain},
		{"beside the grid", small + fmt.Sprintf(trial, 3), plain + 2},
		{"the same twice", small + fmt.Sprintf(trial, 3) + fmt.Sprintf(trial, 3), plain + 2},
		{"excluded from the grid", small + fmt.Sprintf(trial, 2) + "[[exclude]]\nscheduler = \"dask\"\n", 16 + 2},
	} {
		if have := BuildPlan(mustLoad(t, c.text)).Trials(); have != c.want {
			t.Errorf("%s: have %d trials, want %d", c.name, have, c.want)
		}
	}
}

func TestPlanJSON(t *testing.T) {
	t.Parallel()
	p := BuildPlan(mustLoad(t, small))
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Plan
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Trials(), p.Trials()) || back.Blocks[0].Trials[0].Identity() != p.Blocks[0].Trials[0].ID {
		t.Error("a plan read back from JSON is another one")
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	e := mustLoad(t, small)
	p := BuildPlan(e)
	est := EstimatePlan(p, e, TimeModel{})
	// 24 trials and 8 warm-ups of 3 s, 8 deployments.
	if have, want := est.Duration, (24*3+8*3+8*guessedDeployS)*time.Second; have != want {
		t.Errorf("duration without records: have %v, want %v", have, want)
	}
	if !est.Fits || est.Trials != 24 || est.Warmups != 8 || est.Deployments != 8 || est.Measured != 0 || est.NodeSeconds != est.Duration.Seconds() {
		t.Errorf("estimate: have %+v", est)
	}

	far := *e
	far.Cluster.Kind = "static"
	if have, want := EstimatePlan(p, &far, TimeModel{}).DeployTime, 8*guessedRemoteS*time.Second; have != want {
		t.Errorf("deployments on other machines: have %v, want %v", have, want)
	}

	var records []record.Record
	for _, b := range p.Blocks {
		for _, tr := range b.Trials {
			records = append(records, record.Record{Trial: tr, Status: record.StatusOK, RunS: 100, DeployS: 4, WarmupS: 1})
			bad := records[len(records)-1]
			bad.Status, bad.RunS = record.StatusTimeout, 9999
			records = append(records, bad)
		}
	}
	est = EstimatePlan(p, e, LearnTimes(records))
	if have, want := est.Duration, (24*100+8*1+8*4)*time.Second; have != want {
		t.Errorf("duration by records: have %v, want %v", have, want)
	}
	want := "40m40s = 40m0s for 24 trials (by earlier runs) + 32s for 8 deployments + 8s for 8 warm-ups\n" +
		"1 node(s) x 40m40s = 2440 node-seconds\ntakes 3 claims of 15m0s (20s of each are kept for its end)"
	if have := est.Arithmetic(); have != want {
		t.Errorf("arithmetic: have\n%s\nwant\n%s", have, want)
	}
	b, err := json.Marshal(est)
	if err != nil || !strings.Contains(string(b), `"duration_s":2440,"nodes":1,"node_seconds":2440,"claim_s":900,"fits":false`) {
		t.Errorf("JSON: have %s (%v)", b, err)
	}
}

func TestEstimateOfAbsurdGuesses(t *testing.T) {
	t.Parallel()
	cat := testCatalog()
	for _, guess := range []float64{1e300, -5, zero() / zero()} {
		cat.Workloads[0].Seconds = func(map[string]any, int) float64 { return guess }
		e, err := Load("x.toml", []byte(small), cat)
		if err != nil {
			t.Fatal(err)
		}
		if est := EstimatePlan(BuildPlan(e), e, TimeModel{}); est.Duration < 0 || est.Duration > longestEstimate {
			t.Errorf("guess %v: duration %v", guess, est.Duration)
		}
	}
}

func zero() float64 { return 0 }

// tenThousand has 10,000 trials.
var tenThousand = strings.NewReplacer("repetitions = 2", "repetitions = 10", "[1, 2]", "["+numbers(1, 10)+"]",
	"[1000, 2000]", "["+numbers(1000, 33)+"]").Replace(small) + "[[workload]]\nname = \"synthetic\"\n"

func BenchmarkPlan10000(b *testing.B) {
	for b.Loop() {
		if have := BuildPlan(mustLoad(b, tenThousand)).Trials(); have < 10_000 {
			b.Fatalf("trials: have %d, want at least 10,000", have)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(small)
	f.Add(tenThousand)
	for _, m := range mistakes {
		f.Add(strings.Replace(small, m.old, m.new, 1))
	}
	f.Add("a.'b'.\"c\\u00e9\" = '''x''''\n[[a.d]]\nx=[[1,2],{y=[\n#c\n]}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		scanPositions(text)
		e, err := Load("f.toml", []byte(text), testCatalog())
		if err != nil {
			if e != nil || err.Error() == "" {
				t.Fatalf("error %v beside an experiment", err)
			}
			return
		}
		if e.Repetitions*len(e.cells) > 2000 {
			return
		}
		first := BuildPlan(e)
		again, err := Load("f.toml", []byte(text), testCatalog())
		if err != nil {
			t.Fatalf("refused the second time: %v", err)
		}
		if !reflect.DeepEqual(first, BuildPlan(again)) {
			t.Fatal("the same file gives another plan")
		}
		if first.Trials() == 0 {
			t.Fatal("accepted without trials")
		}
		EstimatePlan(first, e, TimeModel{}).Arithmetic()
	})
}
