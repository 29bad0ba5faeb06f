package runners

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// cell is a point of the grid: what repetitions of a trial share.
type cell struct {
	entry          WorkloadEntry
	params         map[string]any
	scheduler      SchedulerSpec
	policy         string
	nodes          int
	workersPerNode int
	threads        int
	path           string // of the table it comes from
}

// trial is the measured execution of the cell in a repetition.
func (c *cell) trial(e *Experiment, repetition int) record.Trial {
	size := c.entry.size(c.params)
	if e.Worker != "" { // people must never take one for the other
		size += ", " + e.Worker + " workers"
	}
	t := record.Trial{
		Workload: c.entry.Name, Size: size, Params: c.params,
		Scheduler: c.scheduler.Name, Kind: c.scheduler.Kind, Policy: c.policy, Settings: c.scheduler.settings(),
		Nodes: c.nodes, Workers: c.nodes * c.workersPerNode, Threads: c.threads, WorkerMemoryB: e.WorkerMemoryB, Worker: e.Worker,
		Environment: e.Environment, Program: c.entry.Program, Repetition: repetition,
	}
	if c.entry.Text != nil {
		t.Program = c.entry.Text(c.params)
	}
	t.ID = t.Identity()
	return t
}

func (w WorkloadEntry) size(params map[string]any) string {
	if w.Size != nil {
		return w.Size(params)
	}
	return record.Trial{Params: params}.ParamString()
}

// settings merges what is set for a scheduler: Dask's values and the options
// of its kind.
func (s SchedulerSpec) settings() map[string]any {
	if len(s.Dask)+len(s.Options) == 0 {
		return nil
	}
	out := maps.Clone(s.Dask)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, s.Options)
	return out
}

// points returns all combinations of a workload's parameters, the last
// parameter of the catalog varying fastest.
func (w Workload) points() []map[string]any {
	points := []map[string]any{{}}
	for _, p := range w.entry.Params {
		values := w.Grid[p.Name]
		if len(values) == 0 {
			continue
		}
		var next []map[string]any
		for _, point := range points {
			for _, v := range values {
				m := maps.Clone(point)
				m[p.Name] = v
				next = append(next, m)
			}
		}
		points = next
	}
	return points
}

// policiesOf returns what a scheduler is combined with: the policies of the
// experiment, or none.
func (e *Experiment) policiesOf(s SchedulerSpec, decides func(kind string) bool) []string {
	if decides(s.Kind) {
		return e.Policies
	}
	return []string{""}
}

// size counts the cells of the grid without making them.
func (e *Experiment) size(decides func(kind string) bool) float64 {
	points := 0.0
	for _, w := range e.Workloads {
		n := 1.0
		for _, values := range w.Grid {
			n *= float64(len(values))
		}
		points += n
	}
	series := 0.0
	for _, s := range e.Schedulers {
		series += float64(len(e.policiesOf(s, decides)))
	}
	return points * series * float64(len(e.Nodes)*len(e.WorkersPerNode))
}

// grid returns the cells of the grid, nothing left out.
func (e *Experiment) grid(decides func(kind string) bool) []cell {
	var cells []cell
	points := make([][]map[string]any, len(e.Workloads))
	for i, w := range e.Workloads {
		points[i] = w.points()
	}
	for _, s := range e.Schedulers {
		for _, nodes := range e.Nodes {
			for _, workers := range e.WorkersPerNode {
				for i, w := range e.Workloads {
					for _, params := range points[i] {
						for _, policy := range e.policiesOf(s, decides) {
							cells = append(cells, cell{entry: w.entry, params: params, scheduler: s, policy: policy,
								nodes: nodes, workersPerNode: workers, threads: e.Threads, path: w.path})
						}
					}
				}
			}
		}
	}
	return cells
}

// checkGrid expands the experiment and reports combinations that make no
// sense. The cells that remain are what the plan is made of.
func (l *loader) checkGrid(e *Experiment) {
	decides := func(kind string) bool { k, _ := l.cat.kind(kind); return k.Policies }
	all := e.size(decides) + float64(len(e.extra))
	total := all * float64(max(e.Repetitions, e.Stop.Most))
	if total > maxTrials || math.IsNaN(total) {
		l.mistakeInFile("shorten a list, or use fewer repetitions", "%.0f trials are more than the largest allowed, %d", total, maxTrials)
		return
	}
	l.checkNodes(e)
	l.checkPoints(e)
	if len(l.mistakes) > 0 {
		return
	}
	cells := l.applyExcludes(e, e.grid(decides))
	seen := map[string]cell{}
	var kept []cell
	for _, c := range cells {
		t := c.trial(e, 0)
		first, twice := seen[t.ID]
		if !twice {
			seen[t.ID] = c
			kept = append(kept, c)
			continue
		}
		l.wrongKey(c.path, "remove the values that occur in both tables", "[[workload]] %s: %s is also in the table at line %d",
			t.Workload, t.ParamString(), l.line(l.places[first.path].key))
		return
	}
	for _, c := range e.extra { // one that is in the grid adds nothing
		id := c.trial(e, 0).ID
		if _, twice := seen[id]; !twice {
			seen[id] = c
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 && len(l.mistakes) == 0 {
		l.wrongKey(e.excludes[0].path, "remove one of the [[exclude]] tables, or add a condition to it", "nothing is left to run: the [[exclude]] tables leave out all %d cells of the grid", int(all))
	}
	e.cells = kept
}

func (l *loader) line(at span) int {
	line, _ := slices.BinarySearch(l.starts, at.from+1)
	return line
}

// checkNodes holds numbers of nodes against what the cluster's kind allows.
func (l *loader) checkNodes(e *Experiment) {
	most := e.Cluster.maxNodes
	if most == 0 {
		return
	}
	for _, n := range e.Nodes {
		if n > most {
			l.wrongValue(child("", "nodes"), fmt.Sprintf("use up to %d, or choose another cluster", most),
				"nodes: cluster %q (kind %s) has at most %d, not %d", e.Cluster.Name, e.Cluster.Kind, most, n)
		}
	}
	for _, c := range e.extra {
		if c.nodes > most {
			l.wrongValue(child(c.path, "nodes"), fmt.Sprintf("use up to %d, or choose another cluster", most),
				"[[trial]]: cluster %q (kind %s) has at most %d nodes, not %d", e.Cluster.Name, e.Cluster.Kind, most, c.nodes)
		}
	}
}

// checkPoints asks the workloads about each combination of parameters, and
// tells the first that they refuse of each table.
func (l *loader) checkPoints(e *Experiment) {
	check := func(entry WorkloadEntry, params map[string]any, path, table string) bool {
		if e.Worker == record.WorkerInstant && !entry.Instant {
			l.wrongKey(path, "use one of: "+strings.Join(l.instantNames(), ", ")+`; or remove worker = "`+e.Worker+`"`,
				"%s %s: its result means nothing on %s workers, which execute nothing", table, entry.Name, e.Worker)
			return false
		}
		if entry.Check == nil {
			return true
		}
		err := entry.Check(maps.Clone(params))
		if err != nil {
			l.wrongKey(path, cmp.Or(hint.Of(err), "change one of the values"), "%s %s: %v (%s)", table, entry.Name, err, record.Trial{Params: params}.ParamString())
		}
		return err == nil
	}
	for _, w := range e.Workloads {
		for _, params := range w.points() {
			if !check(w.entry, params, w.path, "[[workload]]") {
				break
			}
		}
	}
	for _, c := range e.extra {
		check(c.entry, c.params, c.path, "[[trial]]")
	}
}

// instantNames are the workloads that instant workers can be given.
func (l *loader) instantNames() []string {
	var names []string
	for _, w := range l.cat.Workloads {
		if w.Instant {
			names = append(names, w.Name)
		}
	}
	return names
}

// applyExcludes leaves out what [[exclude]] tables match, and reports tables
// that match nothing.
func (l *loader) applyExcludes(e *Experiment, cells []cell) []cell {
	if len(e.excludes) == 0 {
		return cells
	}
	matched := make([]bool, len(e.excludes))
	trials := make([]record.Trial, len(cells))
	var kept []cell
	for i := range cells {
		trials[i] = cells[i].trial(e, 0)
		out := false
		for j, x := range e.excludes {
			if allHold(x.conditions, &trials[i]) {
				matched[j], out = true, true
			}
		}
		if !out {
			kept = append(kept, cells[i])
		}
	}
	for j, x := range e.excludes {
		if !matched[j] {
			reason, try := whyNothing(x, trials)
			l.wrongKey(x.path, try, "[[exclude]] %d matches no trial%s", j+1, reason)
		}
	}
	return kept
}

// whyNothing names a condition that holds for no trial by itself.
func whyNothing(x exclusion, trials []record.Trial) (reason, try string) {
	for _, c := range x.conditions {
		var names []string
		held := false
		for i := range trials {
			held = held || c.holds(&trials[i])
			if v := coordinate(&trials[i], c.key); v != nil && !slices.Contains(names, fmt.Sprint(v)) {
				names = append(names, fmt.Sprint(v))
			}
		}
		if held {
			continue
		}
		var values []string
		for _, v := range c.values {
			values = append(values, quoteText(v))
		}
		return fmt.Sprintf(": no trial has %s = %s", c.key, strings.Join(values, " or ")), chooseOne(fmt.Sprint(c.values[0]), names)
	}
	return ": its conditions never hold together", "remove the table, or one of its lines"
}
