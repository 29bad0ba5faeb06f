package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/esched/esched/report/charts"
)

// maxScalings bounds the pairs of figures over workers that a workload has,
// fewScalings from fullTable trials on, whose table leaves less room in a page
// that is to be sent around.
const (
	maxScalings = 6
	fewScalings = 2
	fullTable   = 5000
)

// scalingFigures shows makespan and speedup over workers, a pair of figures for
// each size and set of parameters of a workload that ran on several numbers of
// them, large sizes first.
func (b *builder) scalingFigures(workload string) []*charts.Figure {
	groups := b.scalingGroups(workload)
	most := maxScalings
	if len(b.records) >= fullTable {
		most = fewScalings
	}
	shown := groups[:min(len(groups), most)]
	var all []*charts.Figure
	for i, g := range shown {
		words := []string{workload}
		if i > 0 {
			words = append(words, strconv.Itoa(i+1))
		}
		times, gains := b.scalingPair(g, programLabel(g[0], groups))
		times.ID, gains.ID = slug(append([]string{"workers"}, words...)...), slug(append([]string{"speedup"}, words...)...)
		if left := len(groups) - len(shown); left > 0 && i == 0 {
			times.Aid += fmt.Sprintf(" Of %d sizes and sets of parameters the %d largest have such figures; the others are in the table of speedups.", len(groups), len(shown))
		}
		all = append(all, times, gains)
	}
	return all
}

// scalingGroups returns the series of each size and set of parameters, the
// last sizes first.
func (b *builder) scalingGroups(workload string) [][]scaled {
	type key struct {
		size, params string
		threads      int
	}
	index := make(map[key]int)
	var groups [][]scaled
	for _, s := range b.scaling() { // sizes ascend
		if s.Workload != workload || !b.shows(s.index) {
			continue
		}
		k := key{s.Size, s.Params, s.condition.Threads}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	slices.Reverse(groups)
	return groups
}

// programLabel names a workload and size, with what tells it from others of the
// same size.
func programLabel(s scaled, groups [][]scaled) string {
	label := s.Workload + " " + s.Size
	threads := false
	differs := make(map[string]bool)
	for _, g := range groups {
		if o := g[0]; o.Size == s.Size {
			threads = threads || o.condition.Threads != s.condition.Threads
			there := strings.Fields(o.Params)
			for _, word := range strings.Fields(s.Params) {
				if !slices.Contains(there, word) {
					differs[word] = true
				}
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(differs)) {
		label += ", " + word
	}
	if threads {
		label += ", " + plural(s.condition.Threads, "thread") + " each"
	}
	return label
}

// scalingPair draws the makespans and the speedups of series of one program.
func (b *builder) scalingPair(chosen []scaled, on string) (times, gains *charts.Figure) {
	counts := workerCounts(chosen)
	ticks := make([]float64, len(counts))
	for i, n := range counts {
		ticks[i] = float64(n)
	}
	x := charts.Axis{Name: "workers", Max: charts.NiceMax(ticks[len(ticks)-1]), Ticks: ticks}
	times = &charts.Figure{X: x, Y: charts.Axis{Name: "makespan (s)"}}
	gains = &charts.Figure{X: x, Y: charts.Axis{Name: "speedup (times)"}, Base: bases(chosen)}
	slowest, most, base := 0.0, 1.0, 0.0
	for _, s := range chosen {
		timeMark := charts.Mark{Series: s.series.Name, Color: s.index, Shape: charts.Line}
		gainMark := timeMark
		for _, p := range s.points {
			w := float64(p.workers)
			timeMark.Point = append(timeMark.Point, point(w, p.time, p.interval, fmt.Sprintf("%s, %s: %s s%s, n = %d", s.series.Name, plural(p.workers, "worker"), number(FormatSeconds, p.time), interval(p.interval, FormatSeconds), p.n)))
			gainMark.Point = append(gainMark.Point, point(w, p.speedup, p.gain, fmt.Sprintf("%s, %s: %s times%s, n = %d", s.series.Name, plural(p.workers, "worker"), number(FormatRatio, p.speedup), interval(p.gain, FormatRatio), p.n)))
			times.N += p.n
			gains.N += p.n
			slowest = max(slowest, p.time, hi(p.interval, 2*p.time))
			most = max(most, p.speedup, hi(p.gain, 2*p.speedup))
		}
		times.Marks, gains.Marks = append(times.Marks, timeMark), append(gains.Marks, gainMark)
		base = max(base, s.points[0].time)
	}
	idealTime, idealGain := idealLines(chosen[0], counts)
	times.Marks, gains.Marks = append(times.Marks, idealTime), append(gains.Marks, idealGain)
	most = max(most, idealGain.Point[len(idealGain.Point)-1].Y)
	scalingWords(chosen, on, times, gains)
	b.addBounds(chosen[0], counts, base, &most, times, gains)
	times.Y.Max = charts.NiceMax(slowest)
	gains.Y.Max = charts.NiceMax(most)
	return times, gains
}

// addBounds draws what no schedule can be better than. Speedups have no bound
// where it is so far above them that nothing else could be seen.
func (b *builder) addBounds(s scaled, counts []int, base float64, most *float64, times, gains *charts.Figure) {
	lines, gain := boundLines(b.boundsOver(s), counts, base)
	if len(lines) == 0 {
		return
	}
	times.Marks = append(times.Marks, lines...)
	times.Aid += " No schedule can be below the dotted bounds: the least work over threads or cores, and the longest chain of tasks, where it is known."
	highest := 0.0
	for _, p := range gain.Point {
		highest = max(highest, p.Y)
	}
	if highest > 2**most {
		gains.Aid += fmt.Sprintf(" The bound is above the axis, at up to %s times.", number(FormatRatio, highest))
		return
	}
	*most = max(*most, highest)
	gains.Marks = append(gains.Marks, gain)
	gains.Aid += " The dotted bound is the slowest base over the larger of the bounds before: no speedup can be above it."
}

// scalingWords says what a pair of figures shows.
func scalingWords(chosen []scaled, on string, times, gains *charts.Figure) {
	best := &chosen[0]
	for i, s := range chosen {
		if s.points[len(s.points)-1].speedup > best.points[len(best.points)-1].speedup {
			best = &chosen[i]
		}
	}
	counts := len(workerCounts(chosen))
	first, last := best.points[0], best.points[len(best.points)-1]
	ideal := float64(last.workers) / float64(first.workers)
	times.Title = fmt.Sprintf("From %s to %d, %s goes from %s s to %s s on %s", plural(first.workers, "worker"), last.workers, best.series.Name, number(FormatSeconds, first.time), number(FormatSeconds, last.time), on)
	times.Aid = fmt.Sprintf("Lower is faster. Bars are 95 %% intervals. The dashed line is ideal: the time of %s with %s, divided by the growth in workers.", chosen[0].series.Name, plural(chosen[0].points[0].workers, "worker"))
	gains.Title = fmt.Sprintf("%s gains most from more workers on %s: %s times with %d instead of %d (ideal %s)", best.series.Name, on, number(FormatRatio, last.speedup), last.workers, first.workers, number(FormatRatio, ideal))
	if len(chosen) == 1 {
		gains.Title = fmt.Sprintf("%s on %s becomes %s times as fast with %d instead of %d workers (ideal %s)", best.series.Name, on, number(FormatRatio, last.speedup), last.workers, first.workers, number(FormatRatio, ideal))
	}
	gains.Aid = "Each series is compared with itself on its fewest workers (its absolute times are in the figure before). The dashed line is ideal; bars are 95 % intervals."
	times.Alt = fmt.Sprintf("Makespan in seconds over %d numbers of workers for %d series, with an ideal line. %s.", counts, len(chosen), times.Title)
	gains.Alt = fmt.Sprintf("Speedup over %d numbers of workers for %d series, with an ideal line. %s.", counts, len(chosen), gains.Title)
}

// bases tells the absolute times that speedups start from.
func bases(all []scaled) string {
	var words []string
	for _, s := range all {
		words = append(words, fmt.Sprintf("%s %s s with %s", s.series.Name, number(FormatSeconds, s.points[0].time), plural(s.points[0].workers, "worker")))
	}
	return strings.Join(words, "; ")
}

// idealLines returns perfect scaling from a series' first point.
func idealLines(s scaled, counts []int) (times, gains charts.Mark) {
	times = charts.Mark{Series: "ideal", Color: charts.Ideal, Shape: charts.Dashed}
	gains = times
	base := s.points[0]
	lo, hi := float64(counts[0]), float64(counts[len(counts)-1])
	const steps = 24 // 1/w is a curve
	for i := range steps + 1 {
		w := lo + (hi-lo)*float64(i)/steps
		times.Point = append(times.Point, charts.Point{X: w, Y: base.time * float64(base.workers) / w})
	}
	for _, w := range []float64{lo, hi} {
		gains.Point = append(gains.Point, charts.Point{X: w, Y: w / lo})
	}
	return times, gains
}
