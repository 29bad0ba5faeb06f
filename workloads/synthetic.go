package workloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

// The grains: how the work is cut into tasks.
const (
	coarse = "coarse"
	fine   = "fine"
	mixed  = "mixed"
)

// Mean task times of grains, in seconds. What Dask does for a task takes it
// about a millisecond: 1/250 of a coarse task, and a fifth of a fine one.
const (
	coarseSeconds = 0.25
	fineSeconds   = 0.005
	usualWork     = 10.0
	usualTask     = 0.01
)

// The modes: what tasks do with their time.
const (
	modeCompute = "compute"
	modeSleep   = "sleep"
)

func modeParam() Param {
	return Param{Name: "mode", Type: String, Choices: []string{modeCompute, modeSleep}, Default: modeCompute,
		Doc: "whether tasks use the CPU for their time or sleep, which studies latency without needing cores"}
}

func synthetic() Workload {
	return Workload{
		Name:    "synthetic",
		Doc:     "graphs of a shape and a grain whose tasks take a given time and return bytes of a given size",
		About:   syntheticAbout,
		Instant: true,
		Params:  syntheticParams(),
		Sizes: []NamedSize{
			{coarse, "40 tasks; the workers are the limit", map[string]any{"shape": layered, "grain": coarse}},
			{fine, "2,000 tasks; the scheduler is", map[string]any{"shape": layered, "grain": fine}},
			{mixed, "20 long tasks among 1,000 short ones", map[string]any{"shape": layered, "grain": mixed}},
			{"cluster", "51,000 tasks, for some 64 workers", map[string]any{"shape": layered, "grain": mixed, "work_s": 500.0, "width": int64(1000)}},
		},
		Result: "a digest of which results each task read, through the whole graph, which is known",
		References: []string{
			"Towards Emergent Scheduling: 15 synthetic workloads of coarse, fine and mixed granularity",
			"Slaughter et al., Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime Performance, SC 2020 (dependence patterns)",
			"Tobita and Kasahara, A standard task graph set for fair evaluation of multiprocessor scheduling algorithms, Journal of Scheduling 5, 2002 (random layers)",
		},
		Size:         labelSynthetic,
		Check:        func(params map[string]any) error { _, err := readRecipe(params); return err },
		Warmup:       warmSynthetic,
		RoughSeconds: roughSynthetic,
		Graph: func(params map[string]any, seed int64) (*Graph, error) {
			r, err := readRecipe(params)
			if err != nil {
				return nil, err
			}
			return r.graph(seed), nil
		},
	}
}

func syntheticParams() []Param {
	return []Param{
		{Name: "shape", Type: String, Choices: shapes(), Required: true, Doc: "how tasks need one another"},
		{Name: "grain", Type: String, Choices: []string{coarse, fine, mixed},
			Doc: "tasks of 0.25 s on average, of 0.005 s, or as much work in the ones as in the others; instead of tasks and task_s"},
		{Name: "work_s", Type: Float, Min: 0.001, Max: 1e7, Doc: "seconds of all tasks together; default with a grain: 10"},
		{Name: "tasks", Type: Int, Min: 1, Max: maxNodes, Doc: "number of tasks; required without a grain"},
		{Name: "task_s", Type: Float, Max: 3600, Doc: "mean seconds of a task, or let work_s say it; default 0.01"},
		{Name: "task_times", Type: String, Choices: distributions(), Default: constant, Doc: "distribution of the tasks' times around their mean"},
		{Name: "output_bytes", Type: Int, Max: 1e9, Default: int64(1000), Doc: "mean bytes that a task returns to those that need it, at least 16"},
		{Name: "output_sizes", Type: String, Choices: distributions(), Default: constant, Doc: "their distribution"},
		{Name: "width", Type: Int, Min: 1, Max: maxNodes, Doc: "tasks side by side, not for trees; default: about twice as many as levels, at most 64 (all-to-all 24)"},
		{Name: "degree", Type: Int, Min: 1, Max: 64, Default: int64(2), Doc: "inputs of a tree's task, mean inputs of a layered graph's"},
		modeParam(),
	}
}

// warmSynthetic asks for few, short tasks of the same shape.
func warmSynthetic(params map[string]any) map[string]any {
	small := maps.Clone(params)
	for _, name := range []string{"grain", "work_s", "width"} {
		delete(small, name)
	}
	small["tasks"], small["task_s"] = int64(64), 0.001
	if n, err := whole(params, "output_bytes"); err != nil || n > 1000 {
		small["output_bytes"] = int64(1000)
	}
	return small
}

func roughSynthetic(params map[string]any, workers int) float64 {
	r, err := readRecipe(params)
	if err != nil {
		return 0
	}
	lanes := min(max(workers, 1), r.tasks())
	if r.shape != reduce {
		lanes = min(lanes, r.width)
	}
	return r.work/float64(lanes) + float64(r.tasks())*secondsPerTask
}

const syntheticAbout = `Shapes: chains (independent ones, side by side), fork-join (a task, many that
need it, one that needs those, and so on), tree (a reduction), stencil (a row
of cells, each of which needs its neighbours of the step before), all-to-all
(each task needs all of the level before), layered (random: each task needs
one of the layer before, and others of the last three layers). A single level
of chains is a bag of tasks: width = tasks.

Five shapes without the chains in three grains make 15 workloads, which do the
same work, cut differently:
  shape = ["fork-join", "tree", "stencil", "all-to-all", "layered"]
  grain = ["coarse", "fine", "mixed"]
The study that compared 15 workloads of these grains does not tell their
graphs.

Times: exponential and lognormal ones spread as far around their mean as it is
large, uniform ones lie between 0 and twice the mean; pareto ones have a heavy
tail (shape 1.5, the largest at most 1,000 times the smallest). They are
scaled to their mean exactly, so that the work is the same under each seed and
distribution. A task counts its CPU time by the clock of its thread: the work
is the same on slow, fast and busy machines. Computing releases Python's lock.

The last tasks, which no other one needs, return 16 bytes each. Equal
parameters and seeds give equal graphs, under all versions of Python and Dask.
Each record has the total work and the longest chain; the report compares
makespans with what follows from them.`

// recipe is what the parameters of a synthetic graph mean.
type recipe struct {
	shape, grain  string
	long, short   int     // numbers of tasks; short is 0 without a mix
	work          float64 // seconds
	times, sizes  string
	bytes         float64
	width, degree int
	sleep         bool
}

func (r recipe) tasks() int { return r.long + r.short }

// readRecipe checks parameters and fills in what they leave open.
func readRecipe(params map[string]any) (recipe, error) {
	r := recipe{
		shape: text(params, "shape"), grain: text(params, "grain"),
		times: text(params, "task_times"), sizes: text(params, "output_sizes"), sleep: text(params, "mode") == modeSleep,
	}
	for _, read := range []func(map[string]any) error{r.readWork, r.readForm} {
		if err := read(params); err != nil {
			return recipe{}, err
		}
	}
	return r, nil
}

// readWork reads how much there is to do, in how many tasks.
func (r *recipe) readWork(params map[string]any) error {
	_, counted := params["tasks"]
	seconds, timed, err := number(params, "task_s", usualTask)
	if err != nil {
		return err
	}
	work, total, err := number(params, "work_s", usualWork)
	switch {
	case err != nil:
		return err
	case r.grain != "" && (counted || timed):
		return hint.With(errors.New("grain says how many tasks there are, and tasks or task_s says it, too"), "remove grain, or give work_s instead of tasks and task_s")
	case r.grain == "" && !counted:
		return hint.With(errors.New("the number of tasks is missing"), `add a line: tasks = 1_000, or: grain = "fine"`)
	case total && timed:
		return hint.With(errors.New("work_s and task_s both say how long tasks take"), "remove one of the two")
	}
	r.work = work
	tasks := 0.0
	switch r.grain {
	case coarse:
		tasks = work / coarseSeconds
	case fine:
		tasks = work / fineSeconds
	case mixed:
		tasks = work / 2 / coarseSeconds
		r.short = max(1, int(math.Round(work/2/fineSeconds)))
	default:
		n, err := whole(params, "tasks")
		if err != nil {
			return err
		}
		tasks = float64(n)
		if !total {
			r.work = tasks * seconds
		}
	}
	r.long = max(1, int(math.Round(tasks)))
	if r.tasks() > maxNodes {
		err := fmt.Errorf("%s tasks, more than %s", grouped(int64(r.tasks())), grouped(maxNodes))
		return hint.With(err, "lower work_s to at most "+strconv.FormatFloat(math.Floor(work*maxNodes/float64(r.tasks())), 'f', -1, 64))
	}
	return nil
}

// readForm reads what the graph looks like.
func (r *recipe) readForm(params map[string]any) error {
	bytes, _, err := number(params, "output_bytes", 1000)
	if err != nil {
		return err
	}
	r.bytes = bytes
	degree, err := whole(params, "degree")
	if err != nil {
		return err
	}
	r.degree = int(degree)
	r.width = usualWidth(r.shape, r.tasks())
	if _, given := params["width"]; given {
		width, err := whole(params, "width")
		if err != nil {
			return err
		}
		r.width = min(int(width), r.tasks())
	}
	if n := edgesOf(r.shape, r.tasks(), r.width, r.degree); n > maxEdges {
		err := fmt.Errorf("%s tasks with about %s inputs, more than %s", grouped(int64(r.tasks())), grouped(int64(n)), grouped(maxEdges))
		return hint.With(err, "lower width, degree or the number of tasks")
	}
	return nil
}

// graph draws the graph of a seed.
func (r recipe) graph(seed int64) *Graph {
	g := &Graph{Nodes: outline(r.shape, r.tasks(), r.width, r.degree, newSource(seed, streamShape)), Sleep: r.sleep}
	seconds, sizes := r.draw(seed)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Time = wholeMicros(seconds[i])
		n.Bytes = int64(math.Round(sizes[i]))
		if r.grain != "" { // what Dask learns of one grain does not hold for another
			n.Name += "-" + r.grain
		}
	}
	return g
}

func wholeMicros(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

// draw returns the times and sizes of all tasks.
func (r recipe) draw(seed int64) (seconds, sizes []float64) {
	s := newSource(seed, streamTimes)
	long := r.work
	if r.short > 0 {
		long /= 2
	}
	for _, x := range s.sample(r.times, r.long) {
		seconds = append(seconds, x*long/float64(r.long))
	}
	for _, x := range s.sample(r.times, r.short) {
		seconds = append(seconds, x*long/float64(r.short))
	}
	if r.short > 0 {
		s.shuffle(seconds)
	}
	sizes = newSource(seed, streamSizes).sample(r.sizes, r.tasks())
	for i := range sizes {
		sizes[i] *= r.bytes
	}
	return seconds, sizes
}

func labelSynthetic(params map[string]any) string {
	r, err := readRecipe(params)
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(r.grain+" "+r.shape) + ", " + tasksOf(r.tasks())
}

func tasksOf(n int) string {
	if n == 1 {
		return "1 task"
	}
	return grouped(int64(n)) + " tasks"
}

// text returns a text parameter, "" when it is not given.
func text(params map[string]any, name string) string {
	s, _ := params[name].(string)
	return s
}

// number returns a parameter, which is a json.Number when it was read from a
// record, or another value when it is not given.
func number(params map[string]any, name string, otherwise float64) (value float64, given bool, err error) {
	switch v := params[name].(type) {
	case nil:
		return otherwise, false, nil
	case float64:
		return v, true, nil
	case int64:
		return float64(v), true, nil
	case json.Number:
		value, err = v.Float64()
		return value, true, err
	}
	return 0, false, fmt.Errorf("parameter %s: %v is not a number", name, params[name])
}
