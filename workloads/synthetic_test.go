package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
)

// drawn returns the graph of parameters, defaults filled in.
func drawn(t *testing.T, name string, params map[string]any, seed int64) *Graph {
	t.Helper()
	w, _ := ByName(name)
	g, err := w.Graph(complete(w, params), seed)
	if err != nil {
		t.Fatalf("%v: %v", params, err)
	}
	if err := g.check(); err != nil {
		t.Fatalf("%v: %v", params, err)
	}
	return g
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shape         string
		tasks, width  int64
		edges, levels int
	}{
		{chains, 12, 3, 9, 4},
		{chains, 12, 12, 0, 1}, // a bag of tasks
		{chains, 11, 3, 8, 4},
		{forkJoin, 9, 3, 12, 5},
		{forkJoin, 8, 3, 10, 5}, // the last stage is narrower
		{forkJoin, 6, 3, 7, 4},  // the last stage has no part
		{forkJoin, 1, 3, 0, 1},
		{reduce, 15, 0, 14, 4},
		{reduce, 16, 0, 15, 5},
		{stencil, 12, 3, 3 * 7, 4},
		{stencil, 11, 3, 3*7 - 2, 4},
		{allToAll, 12, 3, 27, 4},
		{allToAll, 13, 3, 30, 5},
	} {
		params := map[string]any{"shape": test.shape, "tasks": test.tasks}
		if test.width > 0 {
			params["width"] = test.width
		}
		params["task_s"] = 1.0
		f := drawn(t, "synthetic", params, 1).Facts()
		if f.Tasks != int(test.tasks) || f.Edges != test.edges || f.Path != time.Duration(test.levels)*time.Second {
			t.Errorf("%v: have %d tasks, %d edges, path of %v; want %d edges, %d levels", params, f.Tasks, f.Edges, f.Path, test.edges, test.levels)
		}
		if want := time.Duration(test.tasks) * time.Second; f.Work != want {
			t.Errorf("%v: have %v of work, want %v", params, f.Work, want)
		}
	}
}

// TestFifteen holds that the 15 workloads do the same work, and of how many
// tasks they are.
func TestFifteen(t *testing.T) {
	t.Parallel()
	for grain, tasks := range map[string]int{coarse: 40, fine: 2000, mixed: 1020} {
		for _, shape := range []string{forkJoin, reduce, stencil, allToAll, layered} {
			for _, times := range distributions() {
				params := map[string]any{"shape": shape, "grain": grain, "task_times": times, "output_sizes": times}
				g := drawn(t, "synthetic", params, 7)
				f := g.Facts()
				// Each time is rounded to a microsecond.
				if f.Tasks != tasks || (f.Work-10*time.Second).Abs() > time.Duration(tasks)*time.Microsecond {
					t.Errorf("%v: have %d tasks, %v; want %d, 10s", params, f.Tasks, f.Work, tasks)
				}
				if f.Path <= 0 || f.Path > f.Work {
					t.Errorf("%v: path of %v in work of %v", params, f.Path, f.Work)
				}
			}
		}
	}
}

// TestGraphIsFixed holds the graphs of a seed against those that earlier
// versions drew: published results must stay reproducible.
func TestGraphIsFixed(t *testing.T) {
	t.Parallel()
	for shape, want := range map[string]string{
		layered: "0c80d948ab06", forkJoin: "baa403d0276f",
	} {
		params := map[string]any{"shape": shape, "grain": mixed, "work_s": 1.0, "task_times": lognormal, "output_sizes": pareto}
		b, err := json.Marshal(drawn(t, "synthetic", params, 42))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if have := hex.EncodeToString(sum[:6]); have != want {
			t.Errorf("%s: have %s, want %s", shape, have, want)
		}
		again, _ := json.Marshal(drawn(t, "synthetic", params, 42))
		other, _ := json.Marshal(drawn(t, "synthetic", params, 43))
		if string(again) != string(b) || string(other) == string(b) {
			t.Errorf("%s: equal seeds give %v, other seeds %v", shape, string(again) == string(b), string(other) != string(b))
		}
	}
}

func TestDistributions(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for _, test := range []struct {
		name             string
		spread           float64 // standard deviation; 0: heavy tail
		smallest, larger float64 // than any value
	}{
		{constant, 0, 0.999, 1.001},
		{uniform, 1 / math.Sqrt(3), 0, 2.1},
		{exponential, 1, 0, 40},
		{lognormal, 1, 0, 100},
		{pareto, 0, 0.3, 400},
	} {
		s := newSource(1, streamTimes)
		sum, squares, low, high := 0.0, 0.0, math.Inf(1), 0.0
		for range n {
			x := s.draw(test.name)
			sum, squares, low, high = sum+x, squares+x*x, min(low, x), max(high, x)
		}
		mean := sum / n
		spread := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean-1) > 0.05 || low < test.smallest || high > test.larger || test.spread > 0 && math.Abs(spread-test.spread) > 0.05 {
			t.Errorf("%s: mean %.3f, spread %.3f, from %.3g to %.3g", test.name, mean, spread, low, high)
		}
	}
}

func TestRecipes(t *testing.T) {
	t.Parallel()
	w, _ := ByName("synthetic")
	for _, test := range []struct {
		params map[string]any
		size   string
		wrong  string
	}{
		{map[string]any{"grain": coarse}, "coarse stencil, 40 tasks", ""},
		{map[string]any{"grain": fine, "work_s": json.Number("1")}, "fine stencil, 200 tasks", ""},
		{map[string]any{"tasks": json.Number("1000"), "task_s": 0.0}, "stencil, 1,000 tasks", ""},
		{map[string]any{"tasks": int64(1), "work_s": int64(3)}, "stencil, 1 task", ""},
		{map[string]any{}, "", "number of tasks is missing"},
		{map[string]any{"grain": coarse, "tasks": int64(3)}, "", "grain says how many"},
		{map[string]any{"grain": coarse, "task_s": 0.1}, "", "grain says how many"},
		{map[string]any{"tasks": int64(3), "task_s": 0.1, "work_s": 1.0}, "", "both say"},
		{map[string]any{"grain": fine, "work_s": 2000.0}, "", "400,000 tasks, more than 200,000"},
		{map[string]any{"shape": allToAll, "tasks": int64(100_000), "width": int64(100)}, "", "inputs, more than"},
		{map[string]any{"tasks": "many"}, "", "not a whole number"},
		{map[string]any{"tasks": int64(3), "task_s": "long"}, "", "not a number"},
	} {
		params := map[string]any{"shape": stencil}
		maps.Copy(params, test.params)
		params = complete(w, params)
		err := w.Check(params)
		if test.wrong == "" {
			if err != nil || w.Size(params) != test.size {
				t.Errorf("%v: have %q, %v; want %q", test.params, w.Size(params), err, test.size)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%v: have %v, want %q", test.params, err, test.wrong)
		} else if hint.Of(err) == "" && !strings.Contains(test.wrong, "number") {
			t.Errorf("%v: %v has no hint", test.params, err)
		}
		if w.Size(params) != "?" || w.RoughSeconds(params, 1) != 0 {
			t.Errorf("%v: have a size %q, %v s", test.params, w.Size(params), w.RoughSeconds(params, 1))
		}
	}
}

func TestGraphVerify(t *testing.T) {
	t.Parallel()
	g := drawn(t, "synthetic", map[string]any{"shape": stencil, "tasks": int64(9), "width": int64(3), "output_bytes": int64(100)}, 1)
	digest, results := g.expected()
	if results != 3 {
		t.Fatalf("have %d results", results)
	}
	if err := g.Verify(digest, "3 results of 9 tasks"); err != nil {
		t.Error(err)
	}
	if g.Verify(digest, "4 results of 9 tasks") == nil || g.Verify(strings.Repeat("0", 64), "3 results of 9 tasks") == nil {
		t.Error("a wrong result was accepted")
	}
	// Whatever differs between graphs and can be seen in results is seen.
	for what, change := range map[string]func(*Graph){
		"input":  func(g *Graph) { g.Nodes[8].Inputs = []int{4} },
		"length": func(g *Graph) { g.Nodes[0].Bytes++ },
		"order":  func(g *Graph) { g.Nodes[8].Inputs = []int{5, 4} },
	} {
		other := drawn(t, "synthetic", map[string]any{"shape": stencil, "tasks": int64(9), "width": int64(3), "output_bytes": int64(100)}, 1)
		change(other)
		if other.Verify(digest, "3 results of 9 tasks") == nil {
			t.Errorf("another %s was accepted", what)
		}
	}
}

// testSynthetic executes each shape, and holds the measurement against what
// the graph says of itself.
func testSynthetic(t *testing.T, d *Driver) {
	w, _ := ByName("synthetic")
	for i, shape := range shapes() {
		r := Request{Kind: "dask", Workload: "synthetic", Seed: 5}
		if i%2 == 1 {
			r.Kind, r.Policy = "sidekick", "random"
		}
		r.Params = complete(w, map[string]any{"shape": shape, "tasks": int64(33), "work_s": 0.1, "task_times": exponential, "output_sizes": uniform, "output_bytes": int64(5000)})
		if shape == chains {
			r.Params["mode"] = modeSleep
		}
		runGraph(t, d, r, w)
	}
}

// runGraph executes the graph of a request and checks what comes of it.
func runGraph(t *testing.T, d *Driver, r Request, w Workload) {
	t.Helper()
	var err error
	if r.Graph, err = w.Graph(r.Params, r.Seed); err != nil {
		t.Fatal(err)
	}
	have, err := d.Trial(t.Context(), r)
	if err != nil {
		t.Errorf("%s %v: %v", w.Name, r.Params, err)
		return
	}
	if err := r.Graph.Verify(have.Digest, have.Result); err != nil {
		t.Errorf("%s %v: %v", w.Name, r.Params, err)
	}
	busy := 0.0
	for _, share := range have.PerWorker {
		busy += share.BusyS
	}
	// Nothing is faster than its bounds, and time is taken, not pretended.
	f := r.Graph.Facts()
	if have.Tasks != f.Tasks || have.MakespanS < f.Path.Seconds() || busy < 0.99*f.Work.Seconds() {
		t.Errorf("%s %v: %d tasks in %g s, busy for %g s; want %d tasks, path of %v, work of %v",
			w.Name, r.Params, have.Tasks, have.MakespanS, busy, f.Tasks, f.Path, f.Work)
	}
}
