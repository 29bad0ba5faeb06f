package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// comparer collects what the two runs have of each cell.
type comparer struct {
	sides [2]*record.Run
	cells map[CellName]*[2]arm
	names []CellName // in the order of the tables
	// colors are the places of the series, baselines first.
	colors map[string]int
}

// arm is a cell on one side.
type arm struct {
	there bool // it has a record or is planned
	n     int  // ok trials
	bad   []record.Status
	times map[string]float64 // by repetition
	// What the trials of the arm were executed with.
	digests map[string]bool
	trial   record.Trial
}

// nameOf names the cell of a trial. Settings, environment and the text of a
// program are left out: a name that means something else in the other run is
// what people compare.
func nameOf(t record.Trial, variant string) CellName {
	return CellName{Condition: conditionOf(t), Series: t.Series(), Scheduler: t.Scheduler, Policy: t.Policy, Variant: variant, Worker: t.Worker}
}

func variantOf(t record.Trial) string {
	words := []string{"environment " + cmp.Or(t.Environment, "unknown")}
	if s := settings(t); s != "" {
		words = append(words, s)
	}
	if t.Program != "" {
		words = append(words, "program "+t.Program[:min(12, len(t.Program))])
	}
	return strings.Join(words, ", ")
}

// ambiguous finds the names that one of the runs uses for several things.
func (x *comparer) ambiguous() map[CellName]bool {
	found := make(map[CellName]bool)
	for _, run := range x.sides {
		seen := make(map[CellName]string)
		for _, t := range trialsOf(run) {
			name, variant := nameOf(t, ""), variantOf(t)
			if v, ok := seen[name]; ok && v != variant {
				found[name] = true
			}
			seen[name] = variant
		}
	}
	return found
}

// trialsOf are the measured trials of a run, planned or recorded.
func trialsOf(run *record.Run) []record.Trial {
	var all []record.Trial
	for _, p := range run.Manifest.Plan {
		if !p.Warmup {
			all = append(all, p.Trial)
		}
	}
	for _, rec := range run.Records {
		if !rec.Warmup {
			all = append(all, rec.Trial)
		}
	}
	return all
}

// collect sorts the trials of both runs into cells.
func (x *comparer) collect() {
	x.cells = make(map[CellName]*[2]arm)
	ambiguous := x.ambiguous()
	name := func(t record.Trial) CellName {
		if n := nameOf(t, ""); !ambiguous[n] {
			return n
		}
		return nameOf(t, variantOf(t))
	}
	kinds := make(map[string]string) // series -> kind
	for i, run := range x.sides {
		at := func(t record.Trial) *arm {
			n := name(t)
			if x.cells[n] == nil {
				x.cells[n] = new([2]arm)
			}
			a := &x.cells[n][i]
			a.there, a.trial = true, t
			kinds[t.Series()] = t.Kind
			return a
		}
		for _, t := range trialsOf(run) {
			at(t)
		}
		for j := range run.Records {
			if rec := &run.Records[j]; !rec.Warmup {
				at(rec.Trial).add(rec)
			}
		}
	}
	x.order(kinds)
}

func (a *arm) add(rec *record.Record) {
	if rec.Status != record.StatusOK {
		a.bad = append(a.bad, rec.Status)
		return
	}
	a.n++
	if rec.MakespanS > 0 {
		if a.times == nil {
			a.times = make(map[string]float64)
		}
		a.times[fmt.Sprintf("%06d", rec.Repetition)] = rec.MakespanS
	}
	if rec.ResultDigest != "" {
		if a.digests == nil {
			a.digests = make(map[string]bool)
		}
		a.digests[rec.ResultDigest] = true
	}
}

// order sorts cells by condition and series, baselines first as in a report.
func (x *comparer) order(kinds map[string]string) {
	series := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(boolRank(kinds[a] != "dask"), boolRank(kinds[b] != "dask")),
			cmp.Compare(boolRank(a != "dask"), boolRank(b != "dask")), cmp.Compare(a, b))
	})
	x.colors = make(map[string]int)
	for i, s := range series {
		x.colors[s] = i
	}
	x.names = slices.SortedFunc(maps.Keys(x.cells), func(a, b CellName) int {
		return cmp.Or(compareConditions(a.Condition, b.Condition), cmp.Compare(x.colors[a.Series], x.colors[b.Series]),
			cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Variant, b.Variant))
	})
}

// pairing decides whether repetition 3 of B may be compared with repetition 3
// of A. It may when both did the same things in the same order with the same
// random numbers; otherwise the pairs have nothing in common.
func (x *comparer) pairing() (paired bool, why string) {
	a, b := x.sides[0].Manifest, x.sides[1].Manifest
	switch {
	case a.Schema == 0 || b.Schema == 0:
		return false, "Repetitions are not paired: the manifest of a run is missing, so its seed and plan are not known."
	case a.Seed != b.Seed:
		return false, fmt.Sprintf("Repetitions are not paired: the seeds differ (%d and %d), and with them the order of the trials and the random choices.", a.Seed, b.Seed)
	}
	most := min(repetitions(a.Plan), repetitions(b.Plan))
	if most == 0 {
		return false, "Repetitions are not paired: no plan is recorded."
	}
	if !slices.Equal(sequence(a.Plan, most), sequence(b.Plan, most)) {
		return false, "Repetitions are not paired: the seeds agree, but the plans do not have the same trials in the same order."
	}
	return true, fmt.Sprintf("Repetitions are paired: both runs have seed %d and the same trials in the same order.", a.Seed)
}

func repetitions(plan []record.Planned) int {
	most := 0
	for _, p := range plan {
		if !p.Warmup {
			most = max(most, p.Repetition)
		}
	}
	return most
}

// step is a place in a plan.
type step struct {
	cell       CellName
	repetition int
}

// sequence is the order of the measured trials of the first repetitions: a
// plan with more of them leaves these as they are.
func sequence(plan []record.Planned, most int) []step {
	ordered := slices.Clone(plan)
	slices.SortStableFunc(ordered, func(x, y record.Planned) int { return cmp.Compare(x.Order, y.Order) })
	var all []step
	for _, p := range ordered {
		if !p.Warmup && p.Repetition <= most {
			all = append(all, step{nameOf(p.Trial, ""), p.Repetition})
		}
	}
	return all
}

// compare compares the cells that both runs have times of.
func (x *comparer) compare(paired bool) (cells []ComparedCell, not []UncomparedCell) {
	cells, not = []ComparedCell{}, []UncomparedCell{}
	for _, name := range x.names {
		a, b := &x.cells[name][0], &x.cells[name][1]
		if why := uncomparable(a, b); why != "" {
			not = append(not, UncomparedCell{name, why})
			continue
		}
		cells = append(cells, x.compareCell(name, a, b, paired))
	}
	return cells, not
}

func uncomparable(a, b *arm) string {
	switch {
	case !b.there:
		return "only in A"
	case !a.there:
		return "only in B"
	case len(a.times) == 0 && len(b.times) == 0:
		return "no result in A" + a.losses() + " nor in B" + b.losses()
	case len(a.times) == 0:
		return "no result in A" + a.losses()
	case len(b.times) == 0:
		return "no result in B" + b.losses()
	}
	return ""
}

// losses tells what became of the trials of an arm: " (2 failed, 1 timeout)".
func (a *arm) losses() string {
	n := make(map[record.Status]int)
	for _, s := range a.bad {
		n[s]++
	}
	var words []string
	for _, s := range slices.Sorted(maps.Keys(n)) {
		words = append(words, fmt.Sprintf("%d %s", n[s], s))
	}
	if len(words) == 0 {
		return " (not recorded)"
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// compareCell compares B with A in one cell; both have positive times.
func (x *comparer) compareCell(name CellName, a, b *arm, paired bool) ComparedCell {
	before, after := a.times, b.times
	if !paired { // names of blocks that no two share
		before, after = prefixed("a", before), prefixed("b", after)
	}
	c := ComparedCell{CellName: name, color: x.colors[name.Series]}
	c.Ratio = *stats.CompareTimes(after, before, stats.Seed)
	c.Difference = *stats.CompareMeans(after, before, stats.Seed)
	if c.Ratio.Paired {
		before, after = common(before, after), common(after, before)
	}
	c.Test = stats.TestTimes(after, before)
	va, vb := inOrder(before), inOrder(after)
	c.A, c.B = timesOf(va), timesOf(vb)
	c.A12, c.CliffDelta = stats.A12(vb, va), stats.CliffsDelta(vb, va)
	c.Effect = stats.MagnitudeOf(c.A12)
	c.ResultsDiffer = len(a.digests) > 0 && len(b.digests) > 0 && !maps.Equal(a.digests, b.digests)
	return c
}

func prefixed(prefix string, m map[string]float64) map[string]float64 {
	p := make(map[string]float64, len(m))
	for k, v := range m {
		p[prefix+k] = v
	}
	return p
}

// common are the values of m whose keys are also in other.
func common(m, other map[string]float64) map[string]float64 {
	c := make(map[string]float64)
	for k, v := range m {
		if _, ok := other[k]; ok {
			c[k] = v
		}
	}
	return c
}

func inOrder(m map[string]float64) []float64 {
	x := make([]float64, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		x = append(x, m[k])
	}
	return x
}

func timesOf(x []float64) Times {
	return Times{N: len(x), GeoMean: stats.GeoMean(x), Mean: stats.Mean(x), Interval: stats.GeoMeanInterval(x, stats.Seed)}
}
