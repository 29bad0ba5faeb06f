package policies

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/scheduler"
)

// world is a core whose state the tests build by events.
type world struct {
	*scheduler.Core
	t *testing.T
}

func newWorld(t *testing.T, policy string) world {
	t.Helper()
	p, err := New(policy, 1)
	if err != nil {
		t.Fatal(err)
	}
	return world{scheduler.New(scheduler.Config{Policy: p}), t}
}

func (w world) apply(events ...scheduler.Event) {
	for _, e := range events {
		w.Apply(e)
	}
}

func worker(id scheduler.WorkerID, threads uint16, limit int64) scheduler.Event {
	return scheduler.Event{Kind: scheduler.WorkerAdded, Worker: id, Threads: threads, MemoryLimit: limit}
}

func metrics(id scheduler.WorkerID, used int64, delay float64) scheduler.Event {
	return scheduler.Event{Kind: scheduler.WorkerMetrics, Worker: id, Bytes: used, Delay: delay}
}

func added(id scheduler.TaskID, deps ...scheduler.TaskID) scheduler.Event {
	return scheduler.Event{Kind: scheduler.TaskAdded, Task: id, Prefix: 1, Deps: deps, Flags: scheduler.Constrained}
}

func placed(id scheduler.TaskID, w scheduler.WorkerID) scheduler.Event {
	return scheduler.Event{Kind: scheduler.TaskPlaced, Task: id, Worker: w}
}

func replica(id scheduler.TaskID, w scheduler.WorkerID, bytes int64) scheduler.Event {
	return scheduler.Event{Kind: scheduler.ReplicaAdded, Task: id, Worker: w, Bytes: bytes}
}

// report is the cluster by which the report's formulas are computed by hand:
//
//	worker  threads  tasks  cpu   memory used / limit  share  delay
//	1       2        1      0.5   300 / 1000           0.3    0.1
//	2       4        1      0.25  800 / 1000           0.8    0.0
//	3       1        0      0     500 / 1000           0.5    1.0
func report(w world) {
	w.apply(worker(1, 2, 1000), worker(2, 4, 1000), worker(3, 1, 1000),
		metrics(1, 300, 0.1), metrics(2, 800, 0), metrics(3, 500, 1),
		added(1), added(2), placed(1, 1), placed(2, 2), added(9))
}

// TestFormulas compares each score with one computed by hand.
func TestFormulas(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		policy string
		scores [3]float64
		want   scheduler.WorkerID
	}{
		{"least-memory-utilization", [3]float64{0.3, 0.8, 0.5}, 1},
		{"least-cpu-load", [3]float64{0.5, 0.25, 0}, 3},
		{"shortest-bandwidth-latency", [3]float64{0.1, 0, 1}, 2},
		// -((0.7)+(0.5))/2, -((0.2)+(0.75))/2, -((0.5)+(1))/2
		{"highest-resource-availability", [3]float64{-0.6, -0.475, -0.75}, 3},
		// -(0.28+0.2+0.2/1.1), -(0.08+0.3+0.2), -(0.2+0.4+0.1)
		{"composite-score", [3]float64{-0.6618181818181819, -0.58, -0.7}, 3},
	} {
		t.Run(x.policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, x.policy)
			report(w)
			p, err := New(x.policy, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range x.scores {
				have := p.(scheduler.Scorer).Score(w.State, w.State.Task(9), w.State.Workers[i])
				if math.Abs(have-want) > 1e-12 {
					t.Errorf("worker %d: want score %v, have %v", i+1, want, have)
				}
			}
			if have := w.Decide(9, nil); have.ID != x.want {
				t.Errorf("want worker %d, have %d", x.want, have.ID)
			}
		})
	}
}

// TestMemory corrects a heartbeat's figure by what was stored since.
func TestMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "least-memory-utilization")
	w.apply(worker(1, 1, 1000), worker(2, 1, 1000), metrics(1, 300, 0), metrics(2, 400, 0), added(1), added(9))
	w.apply(replica(1, 1, 200)) // 300 + 200 > 400
	if have := w.Decide(9, nil); have.ID != 2 {
		t.Errorf("want worker 2, have %d", have.ID)
	}
	w.apply(metrics(1, 350, 0)) // the worker counted the result itself
	if have := w.Decide(9, nil); have.ID != 1 {
		t.Errorf("want worker 1, have %d", have.ID)
	}
	w = newWorld(t, "least-memory-utilization")
	w.apply(worker(1, 1, 1000), worker(2, 1, 0), metrics(1, 1, 0), metrics(2, 1<<40, 0), added(9))
	if have := w.Decide(9, nil); have.ID != 2 {
		t.Errorf("a worker without a limit uses no share of it: have %d", have.ID)
	}
}

// TestTies go to the lighter worker, then to the smaller ID.
func TestTies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "shortest-bandwidth-latency")
	w.apply(worker(3, 1, 0), worker(1, 1, 0), worker(2, 1, 0))
	for _, want := range []scheduler.WorkerID{1, 2, 3, 1} {
		id := scheduler.TaskID(10 + w.State.Tasks())
		w.apply(added(id))
		if have := w.Decide(id, nil); have.ID != want {
			t.Errorf("want worker %d, have %d", want, have.ID)
		}
	}
}

// TestRandom is uniform, and depends on the seed alone.
func TestRandom(t *testing.T) {
	t.Parallel()
	workers := make([]*scheduler.Worker, 8)
	for i := range workers {
		workers[i] = &scheduler.Worker{ID: scheduler.WorkerID(i + 1), Threads: 1}
	}
	draw := func(seed uint64, n int) []scheduler.WorkerID {
		p, err := New("random", seed)
		if err != nil {
			t.Fatal(err)
		}
		var ids []scheduler.WorkerID
		for range n {
			ids = append(ids, p.Place(nil, nil, workers).ID)
		}
		return ids
	}
	const n = 80_000
	ids := draw(42, n)
	counts := map[scheduler.WorkerID]int{}
	for _, id := range ids {
		counts[id]++
	}
	chi := 0.0
	for _, w := range workers {
		d := float64(counts[w.ID]) - n/8
		chi += d * d / (n / 8)
	}
	if chi > 24.3 { // 7 degrees of freedom, p = 0.001
		t.Errorf("counts %v are not uniform: chi-square %.1f", counts, chi)
	}
	if !slices.Equal(ids[:1000], draw(42, 1000)) {
		t.Error("the same seed gives other workers")
	}
	if slices.Equal(ids[:1000], draw(43, 1000)) {
		t.Error("another seed gives the same workers")
	}
}

// TestRoundRobin goes round in the order of the IDs, also when workers come,
// go, or may not be chosen.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	p, err := New("round-robin", 0)
	if err != nil {
		t.Fatal(err)
	}
	some := func(ids ...scheduler.WorkerID) []*scheduler.Worker {
		var list []*scheduler.Worker
		for _, id := range ids {
			list = append(list, &scheduler.Worker{ID: id, Threads: 1})
		}
		return list
	}
	for i, x := range []struct {
		candidates []scheduler.WorkerID
		want       scheduler.WorkerID
	}{
		{[]scheduler.WorkerID{1, 2, 5}, 1},
		{[]scheduler.WorkerID{1, 2, 5}, 2},
		{[]scheduler.WorkerID{1, 2, 5}, 5},
		{[]scheduler.WorkerID{1, 2, 5}, 1},
		{[]scheduler.WorkerID{1, 3, 5}, 3}, // 2 went, 3 came
		{[]scheduler.WorkerID{1}, 1},
		{[]scheduler.WorkerID{1, 2, 5}, 2},
	} {
		if have := p.Place(nil, nil, some(x.candidates...)); have.ID != x.want {
			t.Errorf("decision %d: want worker %d, have %d", i, x.want, have.ID)
		}
	}
}

// TestNames are found with hyphens and underscores, and are all documented.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, i := range All() {
		p, err := New(strings.ReplaceAll(i.Name, "-", "_"), 0)
		if err != nil {
			t.Errorf("%s: %v", i.Name, err)
			continue
		}
		if i.Doc == "" || i.Source == "" || !strings.HasSuffix(i.Doc, ".") && !strings.Contains(i.Doc, "(") {
			t.Errorf("%s is not documented: %+v", i.Name, i)
		}
		if _, scored := p.(scheduler.Scorer); scored != (i.Formula != "") {
			t.Errorf("%s: has a formula %q, scores: %v", i.Name, i.Formula, scored)
		}
	}
	if _, err := New("best", 0); err == nil || !strings.Contains(err.Error(), `"best"`) {
		t.Errorf("want an error that names the policy, have %v", err)
	}
	if names := Names(); len(names) != len(All()) || names[0] != "random" {
		t.Errorf("have names %v", names)
	}
}
