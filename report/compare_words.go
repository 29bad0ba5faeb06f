package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/esched/esched/report/stats"
)

// chance is the level at which a corrected P counts as a finding.
const chance = 1 - stats.Confidence

// words names a cell: "montecarlo 2,000 chunks with 4 workers, sidekick/random".
func (n CellName) words() string {
	text := n.what()
	if n.Nodes > 1 {
		text += fmt.Sprintf(" on %d nodes", n.Nodes)
	}
	text += ", " + n.Series
	if n.Variant != "" {
		text += " (" + n.Variant + ")"
	}
	return text
}

func ratioWords(r stats.Ratio) string {
	return number(FormatRatio, r.Value) + interval(r.Interval, FormatRatio)
}

// verdicts counts what the intervals of the cells say.
func (c *Comparison) verdicts() (faster, slower, undecided, unknown int) {
	for _, cell := range c.Cells {
		switch {
		case cell.Ratio.Interval == nil:
			unknown++
		case cell.Ratio.Verdict == stats.Faster:
			faster++
		case cell.Ratio.Verdict == stats.Slower:
			slower++
		default:
			undecided++
		}
	}
	return faster, slower, undecided, unknown
}

func (c *Comparison) headline() string {
	faster, slower, undecided, unknown := c.verdicts()
	switch n := len(c.Cells); {
	case n == 0:
		return "A and B have no cell in common that both have a time of."
	case n == 1:
		cell := c.Cells[0]
		text := fmt.Sprintf("On %s, B took %s times as long as A", cell.words(), ratioWords(cell.Ratio))
		if unknown == 1 {
			return text + fmt.Sprintf(" (%s: not enough for an interval).", plural(cell.Ratio.N, "repetition"))
		}
		if undecided == 1 {
			return text + ": undecided."
		}
		return text + "."
	case unknown == n:
		return fmt.Sprintf("In none of %d cells there are enough repetitions to say whether B differs from A.", n)
	}
	text := fmt.Sprintf("Of %s, B is faster than A in %d, slower in %d, and not distinguishable in %d", plural(len(c.Cells), "cell"), faster, slower, undecided)
	if unknown > 0 {
		text += fmt.Sprintf("; %d have too few repetitions", unknown)
	}
	return text + "."
}

func (c *Comparison) facts() []string {
	var facts []string
	if len(c.Cells) > 1 {
		by := func(x, y ComparedCell) int { return cmp.Compare(x.Ratio.Value, y.Ratio.Value) }
		lo, hi := slices.MinFunc(c.Cells, by), slices.MaxFunc(c.Cells, by)
		show := func(x ComparedCell) string {
			return fmt.Sprintf("%s (%s: %s s after %s s)", ratioWords(x.Ratio), x.words(), number(FormatSeconds, x.B.GeoMean), number(FormatSeconds, x.A.GeoMean))
		}
		facts = append(facts, fmt.Sprintf("B over A runs from %s to %s.", show(lo), show(hi)))
	}
	if len(c.Cells) == 1 {
		x := c.Cells[0]
		facts = append(facts, fmt.Sprintf("B took %s s after %s s of A, a difference of %s s%s.", number(FormatSeconds, x.B.GeoMean), number(FormatSeconds, x.A.GeoMean),
			number(FormatSeconds, x.Difference.Value), interval(x.Difference.Interval, FormatSeconds)))
	}
	tests, found := 0, 0
	for _, cell := range c.Cells {
		if cell.HolmP != nil {
			tests++
			if *cell.HolmP < chance {
				found++
			}
		}
	}
	if tests > 0 {
		facts = append(facts, fmt.Sprintf("By ranks, corrected for %s, %d of the differences are beyond chance at the level of %.2g.", plural(tests, "comparison"), found, chance))
	}
	if text := c.thresholdFact(); text != "" {
		facts = append(facts, text)
	}
	return append(facts, c.Pairing)
}

// percent shows a share as somebody would write it: "5 %".
func percent(share float64) string { return fmt.Sprintf("%.6g %%", 100*share) }

// thresholdFact says what the threshold found.
func (c *Comparison) thresholdFact() string {
	t := c.Threshold
	if t == nil {
		return ""
	}
	text := fmt.Sprintf("B is slower than A by more than %s in %d of %s", percent(t.Limit), len(t.Beyond), plural(t.Judged, "cell"))
	if len(t.Beyond) > 0 {
		text += ": " + strings.Join(t.Beyond, "; ")
	}
	if t.Unjudged > 0 {
		text += fmt.Sprintf(" (%d could not be judged)", t.Unjudged)
	}
	return text + "."
}

// careful tells what weakens the comparison, the gravest first.
func (x *comparer) careful(c *Comparison) []string {
	all := []string{}
	add := func(text string) {
		if text != "" {
			all = append(all, text)
		}
	}
	if x.sides[0].Manifest.ID != "" && x.sides[0].Manifest.ID == x.sides[1].Manifest.ID {
		add("A and B are the same run.")
	}
	for i, run := range x.sides {
		for _, w := range run.Warnings {
			add(fmt.Sprintf("%s, %s: %s.", sideName(i), cmp.Or(run.Manifest.ID, run.Dir, "run"), w))
		}
	}
	add(listed("A and B computed different results, so their times must not be compared, in ", c.Cells, func(cell ComparedCell) (string, bool) { return cell.words(), cell.ResultsDiffer }))
	add(listed("Not compared: ", c.Uncompared, func(u UncomparedCell) (string, bool) { return u.words() + ": " + u.Why, true }))
	for i, s := range []Side{c.A, c.B} {
		missing := s.Planned - s.OK - s.Failed
		switch {
		case s.Failed > 0 && missing > 0:
			add(fmt.Sprintf("%s: %s without a result and %d planned but not recorded; they count in no number.", sideName(i), plural(s.Failed, "trial"), missing))
		case s.Failed > 0:
			add(fmt.Sprintf("%s: %s without a result; they count in no number.", sideName(i), plural(s.Failed, "trial")))
		case missing > 0:
			add(fmt.Sprintf("%s: %s of %d planned not recorded.", sideName(i), plural(missing, "trial"), s.Planned))
		}
	}
	add(c.fewRepetitions())
	add(c.blindTests())
	add(c.byChance())
	if n := len(c.Differences); n > 0 {
		var words []string
		for _, d := range c.Differences {
			words = append(words, d.What)
		}
		add(fmt.Sprintf("A and B differ also in: %s.", enumeration(words)))
	}
	return all
}

func sideName(i int) string { return [...]string{"A", "B"}[i] }

// mostNamed is the number of things a sentence names; the rest is counted.
const mostNamed = 4

// listed makes a sentence that names the first of the things that count.
func listed[T any](lead string, things []T, words func(T) (string, bool)) string {
	var named []string
	for _, t := range things {
		if w, ok := words(t); ok {
			named = append(named, w)
		}
	}
	if len(named) == 0 {
		return ""
	}
	return lead + enumeration(named) + "."
}

func enumeration(words []string) string {
	if len(words) > mostNamed+1 {
		return strings.Join(words[:mostNamed], "; ") + fmt.Sprintf("; and %d more", len(words)-mostNamed)
	}
	return strings.Join(words, "; ")
}

func (c *Comparison) fewRepetitions() string {
	without, least := 0, math.MaxInt
	for _, cell := range c.Cells {
		least = min(least, cell.Ratio.N)
		if cell.Ratio.Interval == nil {
			without++
		}
	}
	switch {
	case without > 0:
		return fmt.Sprintf("Not enough repetitions in %d of %s (%d at the least): an interval needs %d in A and in B.", without, plural(len(c.Cells), "cell"), least, stats.MinSample)
	case least < goodRepetitions:
		return fmt.Sprintf("Few repetitions: some cells have only %d, so their intervals are wide; small differences stay undecided.", least)
	}
	return ""
}

// blindTests tells of tests that find nothing whatever the times are.
func (c *Comparison) blindTests() string {
	tests, blind, lowest := 0, 0, 1.0
	for _, cell := range c.Cells {
		if cell.Test == nil {
			continue
		}
		tests++
		lowest = min(lowest, cell.Test.Least)
		if cell.Test.Least > chance {
			blind++
		}
	}
	const look = "Look at the intervals."
	switch {
	case tests == 0:
		return ""
	case lowest*float64(tests) > chance: // what Holm makes of the smallest one
		return fmt.Sprintf("The rank tests cannot find anything, whatever the times are: the smallest p that so few repetitions can have is %s, and it is corrected for %s. %s",
			number(FormatRatio, lowest), plural(tests, "cell"), look)
	case blind > 0:
		return fmt.Sprintf("The rank tests of %s cannot find anything, whatever the times are: they have too few repetitions. %s", plural(blind, "cell"), look)
	}
	return ""
}

// byChance warns of findings among many intervals.
func (c *Comparison) byChance() string {
	faster, slower, undecided, _ := c.verdicts()
	expected := chance * float64(faster+slower+undecided)
	if faster+slower == 0 || expected < 0.5 {
		return ""
	}
	return fmt.Sprintf("Of %d intervals, about %.0f would leave 1 out by chance if B were like A everywhere.", faster+slower+undecided, max(1, expected))
}

// methods are the paragraphs on how it was compared.
func (x *comparer) methods(c *Comparison) []string {
	var all []string
	for i, run := range x.sides {
		if run.Manifest.Schema == 0 {
			all = append(all, fmt.Sprintf("%s: the manifest is missing, so versions, hosts and seed are not known.", sideName(i)))
			continue
		}
		all = append(all, sideName(i)+": "+(&builder{}).runMethods(run))
	}
	text := c.Pairing + " B over A is the quotient of the geometric means of their makespans"
	if c.Paired {
		text += "; pairs that only one of the runs has are left out, and where fewer than " + fmt.Sprint(stats.MinSample) + " pairs remain, A and B are compared as independent samples"
	}
	text += fmt.Sprintf(". Its %.0f %% interval is made on logarithms: Student's t of the pairs, the bootstrap from %d pairs on, Welch's t without pairs. ", 100*stats.Confidence, stats.BootstrapSample)
	text += "The difference in seconds is that of the arithmetic means, with the interval of the same kind but not on logarithms. Intervals are not corrected for the number of cells. "
	text += "The rank test is Wilcoxon's signed rank test of pairs or the Mann-Whitney test; its p is corrected for the number of cells after Holm. " +
		"A12 is the probability that a trial of B takes longer than one of A (Vargha and Delaney, 2000). No outlier was removed, and trials without a result count in no number."
	if c.Threshold != nil {
		text += fmt.Sprintf(" A cell is beyond the threshold when its whole interval of B over A is above %.6g.", 1+c.Threshold.Limit)
	}
	return append(all, text)
}

// mark is what stands in the last column of a cell's row.
func (cell ComparedCell) mark() string {
	var words []string
	if cell.Beyond {
		words = append(words, "beyond the threshold")
	}
	if cell.ResultsDiffer {
		words = append(words, "results differ")
	}
	return strings.Join(words, ", ")
}
