package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// builder collects what Build finds.
type builder struct {
	runs       []*record.Run
	records    []*record.Record // measured, all states, by run and order
	warmups    []*record.Record
	runOf      map[*record.Record]int
	conditions []Condition
	series     []Series
	seriesOf   map[string]int // identity of a series -> index
	cells      []*Cell
	ratios     []Ratio
	careful    []string
	// planned counts the measured trials that were planned, where that is known.
	planned int
	options Options
	// shown limits the series of a figure; nil for all.
	shown func(series int) bool
	// timelines are those that were read, by condition and series.
	timelines map[[2]int]*traced
	// chains are the longest chains of traced trials, in seconds.
	chains map[*record.Record]float64
	cores  map[hostOf]int
	limits map[program]limit
}

// Options say how a report is made. The zero value is the usual report,
// without what timelines tell.
type Options struct {
	// Timeline reads the times of a trial's tasks: (*record.Run).Timeline. It is
	// called for a few trials. nil leaves out what they tell.
	Timeline func(run *record.Run, rec *record.Record) (*record.Timeline, error)
	// Chain reads only a traced trial's longest chain of tasks, in seconds:
	// (*record.Run).LongestChain. It is called for every traced trial. nil leaves
	// it to the few timelines.
	Chain  func(run *record.Run, rec *record.Record) (float64, error)
	Layout Layout
}

// Layout is the order of a report.
type Layout string

// The layouts. LayoutPaper follows section 5 of the lab report on an external
// scheduler for Dask, figure by figure.
const (
	LayoutUsual Layout = ""
	LayoutPaper Layout = "paper"
)

// Build makes the report of one or several runs. Runs of the same experiment
// add repetitions to the same cells. A damaged or empty run is reported as
// such; an error means that there is nothing at all to report on.
func Build(runs []*record.Run) (*Report, error) { return BuildWith(runs, Options{}) }

// BuildWith is Build with options.
func BuildWith(runs []*record.Run, o Options) (*Report, error) {
	if len(runs) == 0 {
		return nil, errors.New("report: no runs given")
	}
	b := &builder{runs: runs, options: o, runOf: make(map[*record.Record]int), seriesOf: make(map[string]int)}
	b.collect()
	b.nameSeries()
	b.fillCells()
	b.compare()
	b.readTimelines()
	b.readChains()
	b.countCores()
	b.findLimits()

	r := &Report{Schema: Schema, Series: b.series, Ratios: b.ratios}
	for _, c := range b.cells {
		r.Cells = append(r.Cells, *c)
	}
	b.describe(r)
	r.Headline = b.headline()
	r.Facts = b.facts()
	r.Figures = b.lawful(b.figures())
	r.Careful = b.warn()
	b.tables(r)
	b.methods(r)
	return r, nil
}

// describe fills in title, names and date.
func (b *builder) describe(r *Report) {
	var names []string
	for _, run := range b.runs {
		m := run.Manifest
		r.Runs = append(r.Runs, cmp.Or(m.ID, run.Dir, "unnamed run"))
		if name := cmp.Or(m.Name, m.ID, run.Dir); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		for _, t := range []time.Time{m.Started, m.Ended} {
			if t.After(r.Date) {
				r.Date = t
			}
		}
		if m.Experiment != "" {
			r.experiments = append(r.experiments, experiment{r.Runs[len(r.Runs)-1], m.ExperimentPath, m.ExperimentSHA256, m.Experiment})
		}
	}
	r.Title = cmp.Or(strings.Join(names, " + "), "esched run")
}

// collect sorts the records of all runs into measured ones and warm-ups.
func (b *builder) collect() {
	for i, run := range b.runs {
		for _, p := range run.Manifest.Plan {
			if !p.Warmup {
				b.planned++
			}
		}
		for j := range run.Records {
			rec := &run.Records[j]
			b.runOf[rec] = i
			if rec.Warmup {
				b.warmups = append(b.warmups, rec)
			} else {
				b.records = append(b.records, rec)
			}
		}
	}
}

// identity of a series: its name is shown alone unless one name was used for
// different things.
func identity(t record.Trial) string {
	return t.Series() + "\x00" + t.Kind + "\x00" + settings(t) + "\x00" + t.Environment
}

func settings(t record.Trial) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(t.Settings)) {
		words = append(words, fmt.Sprintf("%s=%v", k, t.Settings[k]))
	}
	switch n := t.WorkerMemoryB; {
	case n > 0:
		words = append(words, "worker memory "+memory(n))
	case n < 0:
		words = append(words, "worker memory as Dask chooses")
	}
	return strings.Join(words, " ")
}

// nameSeries lists the series, baselines first, each group in the order of the
// plan (or of appearance, without one).
func (b *builder) nameSeries() {
	rank := make(map[string]int)
	see := func(t record.Trial) {
		id := identity(t)
		if _, ok := rank[id]; ok || t.Warmup {
			return
		}
		rank[id] = len(rank)
		b.series = append(b.series, Series{
			Name: t.Series(), Kind: t.Kind, Policy: t.Policy, Baseline: t.Kind == "dask",
			Environment: t.Environment, Settings: settings(t),
		})
		b.seriesOf[id] = len(b.series) - 1
	}
	// A plan is shuffled; the experiment file is not. Trials are looked at in
	// the order of names so that colours do not depend on the shuffle.
	var all []record.Trial
	for _, run := range b.runs {
		for _, p := range run.Manifest.Plan {
			all = append(all, p.Trial)
		}
	}
	for _, rec := range b.records {
		all = append(all, rec.Trial)
	}
	slices.SortStableFunc(all, func(x, y record.Trial) int {
		return cmp.Or(
			cmp.Compare(boolRank(x.Kind != "dask"), boolRank(y.Kind != "dask")),
			cmp.Compare(boolRank(x.Scheduler != "dask"), boolRank(y.Scheduler != "dask")),
			cmp.Compare(x.Scheduler, y.Scheduler), cmp.Compare(x.Policy, y.Policy))
	})
	for _, t := range all {
		see(t)
	}
	b.tellNamesakesApart()
}

func boolRank(v bool) int {
	if v {
		return 1
	}
	return 0
}

// tellNamesakesApart numbers series that share a name but not their settings.
func (b *builder) tellNamesakesApart() {
	total := make(map[string]int)
	for _, s := range b.series {
		total[s.Name]++
	}
	seen := make(map[string]int)
	for i := range b.series {
		s := &b.series[i]
		if name := s.Name; total[name] > 1 {
			seen[name]++
			s.Name = fmt.Sprintf("%s #%d", name, seen[name])
			b.careful = append(b.careful, fmt.Sprintf("The name %s was used with different settings; %s is environment %s, settings %s.",
				name, s.Name, cmp.Or(s.Environment, "unknown"), cmp.Or(s.Settings, "default")))
		}
	}
}

// fillCells sorts the measured records into cells.
func (b *builder) fillCells() {
	conditions := make(map[Condition]bool)
	for _, rec := range b.records {
		conditions[conditionOf(rec.Trial)] = true
	}
	b.conditions = slices.SortedFunc(maps.Keys(conditions), compareConditions)
	index := make(map[Condition]int)
	for i, c := range b.conditions {
		index[c] = i
	}
	cells := make(map[[2]int]*Cell)
	for _, rec := range b.records {
		c, s := index[conditionOf(rec.Trial)], b.seriesOf[identity(rec.Trial)]
		cell := cells[[2]int{c, s}]
		if cell == nil {
			cell = &Cell{Condition: b.conditions[c], Series: b.series[s].Name, condition: c, series: s, makespans: make(map[string]float64)}
			cells[[2]int{c, s}] = cell
			b.cells = append(b.cells, cell)
		}
		if rec.Status != record.StatusOK {
			cell.Failed++
			continue
		}
		cell.N++
		cell.records = append(cell.records, rec)
		cell.Decisions += rec.Decisions
		cell.Fallbacks += rec.Fallbacks
		if rec.MakespanS > 0 {
			cell.makespans[fmt.Sprintf("%d/%06d", b.runOf[rec], rec.Repetition)] = rec.MakespanS
		}
	}
	slices.SortFunc(b.cells, func(x, y *Cell) int {
		return cmp.Or(cmp.Compare(x.condition, y.condition), cmp.Compare(x.series, y.series))
	})
	for _, cell := range b.cells {
		cell.summarise()
	}
}

func conditionOf(t record.Trial) Condition {
	return Condition{t.Workload, t.Size, t.ParamString(), t.Nodes, t.Workers, t.Threads}
}

// times returns the makespans in the order of repetitions.
func (c *Cell) times() []float64 {
	var x []float64
	for _, k := range slices.Sorted(maps.Keys(c.makespans)) {
		x = append(x, c.makespans[k])
	}
	return x
}

func (c *Cell) summarise() {
	x := c.times()
	if len(x) > 0 {
		c.GeoMean, c.Median, c.Mean = new(stats.GeoMean(x)), new(stats.Median(x)), new(stats.Mean(x))
		c.Min, c.Max = new(slices.Min(x)), new(slices.Max(x))
		c.Interval = stats.GeoMeanInterval(x, stats.Seed)
	}
	var tasks, moved, busy, had, worker, client float64
	for _, rec := range c.records {
		tasks += float64(rec.Tasks)
		moved += float64(rec.BytesMoved)
		client = max(client, float64(rec.DriverPeakBytes))
		for _, w := range rec.PerWorker {
			worker = max(worker, float64(w.PeakBytes))
		}
		if len(rec.PerWorker) > 0 {
			for _, w := range rec.PerWorker {
				busy += w.BusyS
			}
			had += rec.MakespanS * float64(max(c.Threads, 1)) * float64(max(c.Workers, len(rec.PerWorker)))
		}
	}
	if n := float64(c.N); n > 0 {
		c.Tasks, c.BytesMoved = new(tasks/n), new(moved/n)
	}
	if had > 0 {
		c.Utilization = new(busy / had)
	}
	if worker > 0 {
		c.WorkerPeak = new(worker)
	}
	if client > 0 {
		c.ClientPeak = new(client)
	}
}

// compareConditions orders conditions by workload, then sizes and numbers of
// workers from small to large. The order of the plan is a shuffle and tells
// nothing.
func compareConditions(x, y Condition) int {
	sx, _, _ := sizeNumber(x.Size)
	sy, _, _ := sizeNumber(y.Size)
	return cmp.Or(
		cmp.Compare(x.Workload, y.Workload), cmp.Compare(sx, sy), cmp.Compare(x.Size, y.Size),
		cmp.Compare(x.Params, y.Params), cmp.Compare(x.Nodes, y.Nodes), cmp.Compare(x.Workers, y.Workers), cmp.Compare(x.Threads, y.Threads))
}

// sizeNumber splits "2,000 chunks" into 2000 and "chunks".
func sizeNumber(size string) (n float64, unit string, ok bool) {
	word, unit, _ := strings.Cut(strings.TrimSpace(size), " ")
	n, err := strconv.ParseFloat(strings.NewReplacer(",", "", "_", "").Replace(word), 64)
	return n, strings.TrimSpace(unit), err == nil
}

// cell returns the cell of a series under a condition, or nil.
func (b *builder) cell(condition, series int) *Cell {
	i, ok := slices.BinarySearchFunc(b.cells, [2]int{condition, series}, func(c *Cell, want [2]int) int {
		return cmp.Or(cmp.Compare(c.condition, want[0]), cmp.Compare(c.series, want[1]))
	})
	if !ok {
		return nil
	}
	return b.cells[i]
}

// compare makes the ratio of every series to every baseline, the main baseline
// (the first) first. Further baselines are compared with the main one too.
func (b *builder) compare() {
	for base, baseline := range b.series {
		if !baseline.Baseline {
			continue
		}
		for _, c := range b.cells {
			other := b.cell(c.condition, base)
			if other == nil || c.series == base || b.series[c.series].Baseline && c.series < base {
				continue
			}
			r := stats.CompareTimes(c.makespans, other.makespans, stats.Seed)
			if r == nil {
				continue
			}
			ratio := Ratio{Condition: c.Condition, Series: c.Series, Baseline: baseline.Name, Ratio: *r, condition: c.condition, series: c.series, baseline: base}
			ratio.SeriesS, ratio.BaselineS = comparedTimes(c, other, r.Paired)
			b.ratios = append(b.ratios, ratio)
		}
	}
}

// comparedTimes returns the geometric means of the repetitions that the ratio
// is made of, so that it is their quotient.
func comparedTimes(x, y *Cell, paired bool) (float64, float64) {
	var a, b []float64
	for k, v := range x.makespans {
		if _, ok := y.makespans[k]; ok || !paired {
			a = append(a, v)
		}
	}
	for k, v := range y.makespans {
		if _, ok := x.makespans[k]; ok || !paired {
			b = append(b, v)
		}
	}
	slices.Sort(a) // maps have no order, sums do
	slices.Sort(b)
	return stats.GeoMean(a), stats.GeoMean(b)
}
