package report

import (
	"fmt"
	"math"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/runners/record"
)

// program is what was computed, whoever scheduled it and on however many
// workers.
type program struct{ workload, size, params string }

func (c Condition) program() program { return program{c.Workload, c.Size, c.Params} }

// limit is what no schedule of a program can be faster than.
type limit struct {
	// work is the time of all tasks, summed over threads: what the workload
	// itself says, else the least that was measured, since tasks that share a
	// core with others take longer than they need. 0 when it is not known.
	work float64
	// path is the longest chain of tasks that need one another: by the workload
	// itself, else the shortest of traced trials. 0 when it is not known.
	path float64
	// idle tells that tasks do not keep cores busy, so that only threads bound
	// them.
	idle bool
}

// findLimits makes the limits of all programs.
func (b *builder) findLimits() {
	trials := make(map[program][]*trialOf)
	for _, c := range b.cells {
		for _, rec := range c.records {
			p := c.program()
			trials[p] = append(trials[p], &trialOf{rec, c})
		}
	}
	b.limits = make(map[program]limit)
	for p, all := range trials {
		if l := b.limitOf(all); l.work > 0 {
			b.limits[p] = l
		}
	}
}

// trialOf is a trial with a result, and its cell.
type trialOf struct {
	*record.Record
	cell *Cell
}

// limitOf is the limit of a program by its trials; none when tasks were busy
// for longer than all threads had: those that wait for other tasks leave their
// threads to them, and what they took is no work.
func (b *builder) limitOf(all []*trialOf) limit {
	var l limit
	nominal := false
	best := math.Inf(1) // the least makespan
	for _, t := range all {
		if t.NominalWorkS > 0 {
			nominal = true
			l = limit{t.NominalWorkS, t.NominalPathS, t.Idle}
			break
		}
		best = min(best, t.MakespanS)
		busy := 0.0
		for _, w := range t.PerWorker {
			busy += w.BusyS
		}
		if busy > t.MakespanS*t.cell.slots() {
			return limit{}
		}
		if t.Disturbed != "" { // lost workers take along what they did
			continue
		}
		if busy > 0 && (l.work == 0 || busy < l.work) {
			l.work = busy
		}
		if s := b.chains[t.Record]; s > 0 && (l.path == 0 || s < l.path) {
			l.path = s
		}
	}
	if !nominal && l.path > best { // the traced trials were held up
		l.path = 0
	}
	for _, t := range all {
		// What did more in a second than its cores can do was not computing.
		l.idle = l.idle || t.MakespanS > 0 && l.work > t.MakespanS*b.atOnce(t)
	}
	return l
}

// slots is the number of threads that execute tasks.
func (c Condition) slots() float64 { return float64(max(c.Workers, 1) * max(c.Threads, 1)) }

// atOnce is how many tasks can compute at the same time in a trial: as many as
// its workers have threads, at most as its hosts have cores where that is
// known.
func (b *builder) atOnce(t *trialOf) float64 {
	cores := 0
	seen := make(map[string]bool)
	for _, name := range t.Hosts {
		if seen[name] {
			continue
		}
		seen[name] = true
		n := b.cores[hostOf{b.runOf[t.Record], name}]
		if n == 0 {
			return t.cell.slots()
		}
		cores += n
	}
	if cores == 0 {
		return t.cell.slots()
	}
	return min(t.cell.slots(), float64(cores))
}

// hostOf is a host of a run.
type hostOf struct {
	run  int
	name string
}

// countCores notes the cores of all hosts.
func (b *builder) countCores() {
	b.cores = make(map[hostOf]int)
	for i, run := range b.runs {
		for _, h := range run.Manifest.Hosts {
			b.cores[hostOf{i, h.Name}] = h.Cores
		}
	}
}

// bound is what the makespans of a cell cannot be below, in seconds.
type bound struct {
	limit
	atOnce float64 // tasks
	share  float64 // work / atOnce
}

func (b bound) least() float64 { return max(b.share, b.path) }

// boundOf returns the bound of a cell; ok tells that there is one.
func (b *builder) boundOf(c *Cell) (found bound, ok bool) {
	found.limit, ok = b.limits[c.program()]
	if !ok || len(c.records) == 0 {
		return found, false
	}
	for _, rec := range c.records {
		n := c.slots()
		if !found.idle {
			n = b.atOnce(&trialOf{rec, c})
		}
		found.atOnce = max(found.atOnce, n)
	}
	found.share = found.work / found.atOnce
	return found, true
}

// boundsOver returns the bounds of a scaled program by the number of workers,
// the lowest of each number.
func (b *builder) boundsOver(s scaled) map[int]bound {
	all := make(map[int]bound)
	for _, c := range b.cells {
		if c.program() != s.condition.program() || c.Threads != s.condition.Threads {
			continue
		}
		if o, ok := b.boundOf(c); ok && (all[c.Workers].atOnce == 0 || o.least() < all[c.Workers].least()) {
			all[c.Workers] = o
		}
	}
	return all
}

// boundLines are what no schedule can be faster than, over numbers of workers:
// in seconds, and as a speedup over the slowest base.
func boundLines(bounds map[int]bound, counts []int, base float64) (times []charts.Mark, gain charts.Mark) {
	work := charts.Mark{Series: "bound: work / threads or cores", Color: charts.Ideal, Shape: charts.Dotted}
	path := charts.Mark{Series: "bound: longest chain", Color: charts.Part(4), Shape: charts.Dotted}
	gain = charts.Mark{Series: "bound", Color: charts.Part(4), Shape: charts.Dotted}
	for _, n := range counts {
		o, ok := bounds[n]
		if !ok {
			continue
		}
		x := float64(n)
		work.Point = append(work.Point, charts.Point{X: x, Y: o.share})
		gain.Point = append(gain.Point, charts.Point{X: x, Y: base / o.least()})
		if o.path > 0 {
			path.Point = append(path.Point, charts.Point{X: x, Y: o.path})
		}
	}
	for _, m := range []charts.Mark{work, path} {
		if len(m.Point) > 1 {
			times = append(times, m)
		}
	}
	return times, gain
}

// boundTable compares times with what no schedule can be faster than.
func (b *builder) boundTable() Table {
	t := Table{ID: TableBounds, Title: "Makespans and their lower bounds", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"geomean_s", "Geom. mean (s)", FormatSeconds},
		Column{"work_s", "Least work (s)", FormatSeconds}, Column{"at_once", "Threads or cores", FormatCount}, Column{"work_bound_s", "Work over these (s)", FormatSeconds},
		Column{"path_s", "Longest chain (s)", FormatSeconds}, Column{"bound_s", "Bound (s)", FormatSeconds}, Column{"over_bound", "Over bound", FormatRatio}, paramsColumn(),
	), Note: "The bound is the larger of work over threads or cores, whichever are fewer, and the longest chain of dependent tasks; the last ratio is the makespan over it. How they are known is in the methods."}
	for _, c := range b.cells {
		o, ok := b.boundOf(c)
		if c.GeoMean == nil || !ok {
			continue
		}
		var path any
		if o.path > 0 {
			path = o.path
		}
		t.add(append(c.Condition.values(), c.Series, c.GeoMean, o.work, int(o.atOnce), o.share, path, o.least(), *c.GeoMean/o.least(), c.Params)...)
	}
	return t
}

// boundMethods tells what the bounds are made of; "" without any.
func (b *builder) boundMethods() string {
	if len(b.limits) == 0 {
		return ""
	}
	text := " Lower bounds of makespans are the work over the threads of all workers, or over the cores of their hosts where these are fewer, and the longest chain of tasks that need one another. " +
		"Work and chain are what the workload itself says; else the work is the least time that its tasks took in any trial of this workload, size and parameters, whichever the scheduler and the number of workers, since tasks that share a core take longer than they need, and the chain is the shortest that traced trials had. " +
		"Where tasks wait instead of computing, cores bound nothing; where they wait for other tasks, nothing does."
	if b.knownChains() == 0 {
		text += " No chain is known."
	}
	return text
}

// knownChains counts the programs whose longest chain is known.
func (b *builder) knownChains() int {
	n := 0
	for _, l := range b.limits {
		if l.path > 0 {
			n++
		}
	}
	return n
}

// unknownChains warns of bounds that are made of work alone beside others that
// are not.
func (b *builder) unknownChains() string {
	known := b.knownChains()
	if known == 0 || known == len(b.limits) {
		return ""
	}
	return fmt.Sprintf("Longest chains are known of %d of %d combinations of workload, size and parameters; the bounds of the others are made of work alone and may be far too low.", known, len(b.limits))
}
