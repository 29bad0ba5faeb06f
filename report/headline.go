package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// mainBaseline is the index of the series everything is compared with, or -1.
func (b *builder) mainBaseline() int {
	return slices.IndexFunc(b.series, func(s Series) bool { return s.Baseline })
}

// mainCondition is the condition that the headline is about: the one in which
// most series can be compared with the baseline, of these the one with the
// most tasks on the most workers. It is -1 without results.
func (b *builder) mainCondition() int {
	type candidate struct {
		condition, comparisons, series int
		tasks                          float64
	}
	found := make(map[int]*candidate)
	for _, c := range b.cells {
		if c.GeoMean == nil {
			continue
		}
		f := found[c.condition]
		if f == nil {
			f = &candidate{condition: c.condition}
			found[c.condition] = f
		}
		f.series++
		f.tasks = max(f.tasks, *c.Tasks)
	}
	for _, r := range b.ratios {
		if r.baseline == b.mainBaseline() {
			found[r.condition].comparisons++
		}
	}
	best := -1
	for i := range b.conditions {
		f := found[i]
		if f == nil {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(f.comparisons, found[best].comparisons), cmp.Compare(f.series, found[best].series),
			cmp.Compare(f.tasks, found[best].tasks), cmp.Compare(b.conditions[i].Workers, b.conditions[best].Workers)) > 0 {
			best = i
		}
	}
	return best
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// what names a condition: "montecarlo 2,000 chunks with 4 workers".
func (c Condition) what() string {
	return fmt.Sprintf("%s %s with %s", c.Workload, c.Size, plural(c.Workers, "worker"))
}

func interval(iv *stats.Interval, f Format) string {
	if iv == nil {
		return ""
	}
	return " [" + number(f, iv.Lo) + ", " + number(f, iv.Hi) + "]"
}

// externalRatios are the ratios of series that are no baselines to the main
// baseline under a condition, the lowest first.
func (b *builder) externalRatios(condition int) []Ratio {
	var found []Ratio
	for _, r := range b.ratios {
		if r.condition == condition && r.baseline == b.mainBaseline() && !b.series[r.series].Baseline {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(x, y Ratio) int { return cmp.Compare(x.Value, y.Value) })
	return found
}

func (b *builder) headline() string {
	main := b.mainCondition()
	switch {
	case len(b.records) == 0:
		return "No trial was recorded."
	case main < 0 && slices.ContainsFunc(b.records, func(r *record.Record) bool { return r.Status == record.StatusOK }):
		return "No trial that succeeded has a time."
	case main < 0:
		return fmt.Sprintf("None of the %s succeeded.", plural(len(b.records), "recorded trial"))
	}
	on := "On " + b.conditions[main].what()
	ratios := b.externalRatios(main)
	if len(ratios) == 0 {
		return on + ", " + b.fastest(main)
	}
	best := ratios[0]
	s := b.series[best.series]
	subject := s.Name
	scheduler, several := b.external(ratios)
	if s.Policy != "" && len(ratios) > 1 && !several {
		subject = "the " + scheduler
	}
	text := fmt.Sprintf("%s, %s took %s times the makespan of %s%s", on, subject, number(FormatRatio, best.Value), best.Baseline, interval(best.Interval, FormatRatio))
	if best.Interval == nil {
		text += fmt.Sprintf(" (%s: not enough for an interval)", plural(best.N, "repetition"))
	}
	switch {
	case subject != s.Name:
		text += fmt.Sprintf("; the best of its %d policies was %s", len(ratios), s.Policy)
	case several:
		text += fmt.Sprintf("; it was the best of %d kinds of external scheduling", len(ratios))
	}
	return text + "."
}

// external names the scheduler of the first ratio, and tells whether others
// have ones with further schedulers.
func (b *builder) external(ratios []Ratio) (scheduler string, several bool) {
	of := func(r Ratio) string { name, _, _ := strings.Cut(b.series[r.series].Name, "/"); return name }
	scheduler = of(ratios[0])
	return scheduler, slices.ContainsFunc(ratios, func(r Ratio) bool { return of(r) != scheduler })
}

// fastest says which series was fastest where nothing can be compared with a
// baseline.
func (b *builder) fastest(condition int) string {
	var best *Cell
	n := 0
	for _, c := range b.cells {
		if c.condition != condition || c.GeoMean == nil {
			continue
		}
		n++
		if best == nil || *c.GeoMean < *best.GeoMean {
			best = c
		}
	}
	time := number(FormatSeconds, *best.GeoMean) + " s" + interval(best.Interval, FormatSeconds)
	if n == 1 {
		return fmt.Sprintf("%s took %s.", best.Series, time)
	}
	return fmt.Sprintf("%s was the fastest of %d series with %s.", best.Series, n, time)
}

func (b *builder) facts() []string {
	var facts []string
	add := func(text string) {
		if text != "" {
			facts = append(facts, text)
		}
	}
	add(b.timesFact())
	add(b.comparisonsFact())
	add(b.baselinesFact())
	add(b.decisionsFact())
	add(b.scalingFact())
	return facts
}

// timesFact gives the absolute times behind the headline's ratio.
func (b *builder) timesFact() string {
	main := b.mainCondition()
	if main < 0 {
		return ""
	}
	ratios := b.externalRatios(main)
	if len(ratios) == 0 {
		return ""
	}
	show := func(series int) string {
		c := b.cell(main, series)
		return fmt.Sprintf("%s took %s s%s", c.Series, number(FormatSeconds, *c.GeoMean), interval(c.Interval, FormatSeconds))
	}
	text := fmt.Sprintf("There, %s and %s", show(b.mainBaseline()), show(ratios[0].series))
	if last := ratios[len(ratios)-1]; len(ratios) > 1 {
		slowest := "the slowest policy, " + b.series[last.series].Policy
		if _, several := b.external(ratios); several {
			slowest = "the slowest of them, " + last.Series
		}
		text += fmt.Sprintf("; %s, took %s times %s%s", slowest, number(FormatRatio, last.Value), last.Baseline, interval(last.Interval, FormatRatio))
	}
	return text + "."
}

func (b *builder) comparisonsFact() string {
	verdicts := make(map[stats.Verdict]int)
	var lo, hi *Ratio
	n, intervals := 0, 0
	for i := range b.ratios {
		r := &b.ratios[i]
		if r.baseline != b.mainBaseline() || b.series[r.series].Baseline {
			continue
		}
		n++
		if r.Interval != nil {
			intervals++
		}
		verdicts[r.Verdict]++
		if lo == nil || r.Value < lo.Value {
			lo = r
		}
		if hi == nil || r.Value > hi.Value {
			hi = r
		}
	}
	if n < 2 {
		return ""
	}
	if intervals == 0 {
		return fmt.Sprintf("%d ratios to %s run from %s (%s, %s) to %s (%s, %s); with so few repetitions none of them is certain.", n, lo.Baseline,
			number(FormatRatio, lo.Value), lo.Series, lo.what(), number(FormatRatio, hi.Value), hi.Series, hi.what())
	}
	return fmt.Sprintf("Of %d comparisons with %s, external scheduling was faster in %d, slower in %d, and not distinguishable in %d; ratios run from %s (%s, %s) to %s (%s, %s).",
		n, lo.Baseline, verdicts[stats.Faster], verdicts[stats.Slower], verdicts[stats.Undecided],
		number(FormatRatio, lo.Value), lo.Series, lo.what(), number(FormatRatio, hi.Value), hi.Series, hi.what())
}

// baselinesFact compares further baselines with the main one.
func (b *builder) baselinesFact() string {
	main := b.mainCondition()
	for _, r := range b.ratios {
		if r.condition == main && r.baseline == b.mainBaseline() && b.series[r.series].Baseline {
			return fmt.Sprintf("The other baseline, %s, took %s times %s%s there.", r.Series, number(FormatRatio, r.Value), r.Baseline, interval(r.Interval, FormatRatio))
		}
	}
	return ""
}

func (b *builder) decisionsFact() string {
	decisions, fallbacks := 0, 0
	var p50, p99 []float64
	for _, c := range b.cells {
		decisions += c.Decisions
		fallbacks += c.Fallbacks
		for _, rec := range c.records {
			if rec.DecisionUS != nil && rec.Decisions > 0 {
				p50, p99 = append(p50, rec.DecisionUS.P50), append(p99, rec.DecisionUS.P99)
			}
		}
	}
	if decisions+fallbacks == 0 {
		return ""
	}
	text := fmt.Sprintf("esched made %s", plural(decisions, "decision"))
	if len(p50) > 0 {
		text += fmt.Sprintf("; in the median trial half of them took at most %s µs and 99 %% at most %s µs",
			number(FormatMicros, stats.Median(p50)), number(FormatMicros, stats.Median(p99)))
	}
	if fallbacks == 0 {
		return text + "; Dask never had to decide in its place."
	}
	return text + fmt.Sprintf("; %s fell back to Dask.", plural(fallbacks, "further placement"))
}

// scalingFact tells the speedup from the smallest to the largest number of
// workers, with its base.
func (b *builder) scalingFact() string {
	var words []string
	lead := ""
	// The baseline and the best policy; the rest is in the figure.
	show := []int{b.mainBaseline()}
	if b.mainCondition() < 0 {
		return ""
	}
	if r := b.externalRatios(b.mainCondition()); len(r) > 0 {
		show = append(show, r[0].series)
	}
	for _, s := range b.scaling() {
		if !slices.Contains(show, s.index) && show[0] >= 0 {
			continue
		}
		if s.condition.Workload != b.conditions[b.mainCondition()].Workload || s.Size != b.conditions[b.mainCondition()].Size {
			continue
		}
		first, last := s.points[0], s.points[len(s.points)-1]
		lead = fmt.Sprintf("From %s to %d on %s %s", plural(first.workers, "worker"), last.workers, s.condition.Workload, s.Size)
		words = append(words, fmt.Sprintf("%s became %s times as fast (from %s s)", s.series.Name, number(FormatRatio, last.speedup), number(FormatSeconds, first.time)))
		if len(words) == 1 {
			words[0] += fmt.Sprintf(", ideal being %s", number(FormatRatio, float64(last.workers)/float64(first.workers)))
		}
		if len(words) == 3 {
			break
		}
	}
	if len(words) == 0 {
		return ""
	}
	return lead + ", " + strings.Join(words, "; ") + "."
}

// failures counts the measured trials that are not ok, by status.
func (b *builder) failures() map[record.Status]int {
	n := make(map[record.Status]int)
	for _, rec := range b.records {
		if rec.Status != record.StatusOK {
			n[rec.Status]++
		}
	}
	return n
}
