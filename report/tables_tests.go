package report

import (
	"slices"

	"github.com/esched/esched/report/stats"
)

// spreadTable shows how repetitions scatter, outliers included.
func (b *builder) spreadTable() Table {
	t := Table{ID: TableSpread, Title: "Scatter of the repetitions", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"n", "n", FormatCount},
		Column{"median_s", "Median (s)", FormatSeconds}, Column{"median_lo_s", "95 % from (s)", FormatSeconds}, Column{"median_hi_s", "to (s)", FormatSeconds},
		Column{"mean_s", "Mean (s)", FormatSeconds}, Column{"mean_lo_s", "95 % from (s)", FormatSeconds}, Column{"mean_hi_s", "to (s)", FormatSeconds},
		Column{"variation", "Std. dev. over mean (%)", FormatPercent}, Column{"outliers", "Outliers", FormatCount}, paramsColumn(),
	), Note: "Intervals of medians are by order statistics, those of means by Student's t or the bootstrap. Outliers lie beyond Tukey's inner fences on logarithms; they are shown and count in every number. A mean has no interval where Student's t would reach below zero, which no time can: there the values are too skewed or too few for it, and the interval of the geometric mean holds."}
	for _, c := range b.cells {
		x := c.times()
		if len(x) == 0 {
			continue
		}
		mlo, mhi, _ := ends(stats.MedianInterval(x))
		alo, ahi, _ := ends(meanInterval(x))
		var variation, outliers any
		if len(x) > 1 && *c.Mean > 0 {
			variation = stats.StdDev(x) / *c.Mean
		}
		if f := stats.OutlierFences(x); f != nil {
			n := 0
			for _, v := range x {
				if v < f.Lo || v > f.Hi {
					n++
				}
			}
			outliers = n
		}
		t.add(append(c.Condition.values(), c.Series, c.N, c.Median, mlo, mhi, c.Mean, alo, ahi, variation, outliers, c.Params)...)
	}
	return t
}

// meanInterval is the interval of a mean of times, or nil when it says nothing
// of times.
func meanInterval(x []float64) *stats.Interval {
	iv := stats.MeanInterval(x, stats.Seed)
	if iv != nil && iv.Lo < 0 {
		return nil
	}
	return iv
}

// testTable tests every comparison with the main baseline by ranks, corrected
// for their number.
func (b *builder) testTable() Table {
	t := Table{ID: TableTests, Title: "Rank tests against the main baseline", Columns: append(conditionColumns(),
		Column{"series", "Series", FormatText}, Column{"baseline", "Baseline", FormatText}, Column{"test", "Test", FormatText}, Column{"n", "n", FormatCount},
		Column{"p", "p", FormatRatio}, Column{"p_holm", "p (Holm)", FormatRatio}, Column{"least_p", "Least possible p", FormatRatio},
		Column{"a12", "A12", FormatRatio}, Column{"magnitude", "Effect", FormatText}, paramsColumn(),
	), Note: "p is two-sided, and corrected by Holm for the number of rows. A least possible p above 0.05 means: too few repetitions for this test to find anything. A12 is the probability that a trial of the series takes longer than one of the baseline; 0.5 is no difference."}
	var p []float64
	for _, r := range b.ratios {
		if r.baseline != b.mainBaseline() {
			continue
		}
		x, y := b.cell(r.condition, r.series), b.cell(r.condition, r.baseline)
		test := stats.TestTimes(x.makespans, y.makespans)
		if test == nil {
			continue
		}
		p = append(p, test.P)
		a := stats.A12(x.times(), y.times())
		t.add(append(r.Condition.values(), r.Series, r.Baseline, string(test.Name), test.N, test.P, nil, test.Least, a, string(stats.MagnitudeOf(a)), r.Params)...)
	}
	at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == "p_holm" })
	for i, v := range stats.Holm(p) {
		t.Rows[i][at] = v
	}
	return t
}
