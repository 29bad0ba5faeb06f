package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// noisy is the coefficient of variation of the repetitions of a cell from
// which on the report says that the cell is noisy.
const noisy = 0.10

// goodRepetitions is the number of repetitions below which intervals are wide
// enough to hide what a reader looks for.
const goodRepetitions = 6

// warn returns what weakens the results, the gravest first.
func (b *builder) warn() []string {
	var all []string
	add := func(text string) {
		if text != "" {
			all = append(all, text)
		}
	}
	for _, run := range b.runs {
		for _, w := range run.Warnings {
			add(fmt.Sprintf("%s: %s.", cmp.Or(run.Manifest.ID, run.Dir, "run"), w))
		}
	}
	all = append(all, b.wrongResults()...)
	add(b.failedTrials())
	add(b.missingTrials())
	if len(b.records) > 0 && b.mainBaseline() < 0 {
		add("There is no baseline: no trial ran under unmodified Dask, so nothing here tells what external scheduling costs.")
	}
	add(b.fewRepetitions())
	all = append(all, b.stoppedEarly()...)
	add(b.noisyCells())
	add(b.fallbackShare())
	add(b.disturbedTrials())
	add(b.tracedTrials())
	add(b.unknownChains())
	add(b.bestOfMany())
	add(b.machines())
	return append(all, b.careful...)
}

// wrongResults finds conditions under which schedulers computed different
// results.
func (b *builder) wrongResults() []string {
	var all []string
	for i, condition := range b.conditions {
		digests := make(map[string][]string)
		for _, c := range b.cells {
			if c.condition != i {
				continue
			}
			for _, rec := range c.records {
				if d := rec.ResultDigest; d != "" && !slices.Contains(digests[d], c.Series) {
					digests[d] = append(digests[d], c.Series)
				}
			}
		}
		if len(digests) > 1 {
			all = append(all, fmt.Sprintf("%s: the results of its trials are not all the same (%d different ones); times of different results must not be compared.", condition.what(), len(digests)))
		}
	}
	return all
}

// disturbedTrials tells of right results on deployments that lost a process.
func (b *builder) disturbedTrials() string {
	n, example := 0, ""
	for _, rec := range b.records {
		if rec.Disturbed != "" {
			n++
			example = cmp.Or(example, rec.Disturbed)
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Disturbed: %s ended with the right result although the deployment lost a process meanwhile (%s); the times are counted.",
		plural(n, "trial"), example)
}

func (b *builder) failedTrials() string {
	var words []string
	sum := 0
	n := b.failures()
	for _, s := range []record.Status{record.StatusFailed, record.StatusTimeout, record.StatusSkipped} {
		if n[s] > 0 {
			sum += n[s]
			words = append(words, fmt.Sprintf("%d %s", n[s], map[record.Status]string{
				record.StatusFailed: "failed", record.StatusTimeout: "ran out of time", record.StatusSkipped: "skipped",
			}[s]))
		}
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s have no result (%s); they are the first ones in the table of trials and count in no number.",
		sum, plural(len(b.records), "trial"), strings.Join(words, ", "))
}

func (b *builder) missingTrials() string {
	if missing := b.planned - len(b.records); missing > 0 {
		return fmt.Sprintf("%s of %d planned were not recorded: the run has not ended, was interrupted, or lost them.", plural(missing, "trial"), b.planned)
	}
	return ""
}

func (b *builder) fewRepetitions() string {
	least := math.MaxInt
	few, measured := 0, 0
	for _, c := range b.cells {
		if c.N == 0 {
			continue
		}
		least = min(least, c.N)
		measured++
		if c.N < stats.MinSample {
			few++
		}
	}
	switch {
	case least < stats.MinSample:
		return fmt.Sprintf("Not enough repetitions in %d of %s (%d at the least): an interval needs %d.", few, plural(measured, "cell"), least, stats.MinSample)
	case least < goodRepetitions:
		return fmt.Sprintf("Few repetitions: some cells have only %d, so their intervals are wide (%s); small differences stay undecided.", least, plural(least-1, "degree")+" of freedom")
	}
	return ""
}

func (b *builder) noisyCells() string {
	n, measured := 0, 0
	var worst *Cell
	highest := 0.0
	for _, c := range b.cells {
		if len(c.makespans) < 2 {
			continue
		}
		measured++
		cv := stats.StdDev(c.times()) / *c.Mean
		if cv > noisy {
			n++
		}
		if cv > highest {
			worst, highest = c, cv
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Noisy: in %d of %s the repetitions vary by more than %.0f %% (standard deviation over mean); most in %s on %s with %s %%.",
		n, plural(measured, "cell"), 100*noisy, worst.Series, worst.what(), number(FormatPercent, highest))
}

func (b *builder) fallbackShare() string {
	decisions, fallbacks := 0, 0
	for _, c := range b.cells {
		decisions += c.Decisions
		fallbacks += c.Fallbacks
	}
	if fallbacks == 0 {
		return ""
	}
	return fmt.Sprintf("Fallbacks: Dask itself placed %s of %s tasks (%s %%) because esched did not answer; the results are partly Dask's.",
		count(fallbacks), count(decisions+fallbacks), number(FormatPercent, float64(fallbacks)/float64(decisions+fallbacks)))
}

// bestOfMany warns of the winner's curse when the winner is not clear.
func (b *builder) bestOfMany() string {
	main := b.mainCondition()
	if main < 0 {
		return ""
	}
	r := b.externalRatios(main)
	if len(r) < 2 || r[0].Interval == nil || r[1].Interval == nil || r[0].Interval.Hi < r[1].Interval.Lo {
		return ""
	}
	return fmt.Sprintf("The best policy was chosen after measuring: its interval overlaps that of %s, so its lead may be chance.", r[1].Series)
}

// machines warns when the machines were not all the same or could change their
// speed.
func (b *builder) machines() string {
	kinds := make(map[string]bool)
	governors := make(map[string]bool)
	for _, run := range b.runs {
		for _, h := range run.Manifest.Hosts {
			kinds[fmt.Sprintf("%s, %d cores", h.CPU, h.Cores)] = true
			if h.Governor != "" && h.Governor != "performance" {
				governors[h.Governor] = true
			}
		}
	}
	switch {
	case len(kinds) > 1:
		return fmt.Sprintf("The hosts are of %d different kinds; see how it was measured.", len(kinds))
	case len(governors) > 0:
		return "The processors were free to change their frequency (governor not \"performance\")."
	}
	return ""
}
