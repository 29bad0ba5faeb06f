// Package stats summarises repeated measurements: means, intervals of
// confidence, ratios of two arms, tests by ranks, and whether to go on
// measuring.
//
// The nouns: a sample is the values of one cell; an [Interval] covers a true
// value with a stated confidence; a [Ratio] compares two samples, paired by
// repetition where that is possible; a [Test] says whether chance explains
// their difference, an effect ([A12]) how often it shows; [Fences] mark
// outliers; a [Demand] is how many repetitions something needs, [Stopping] a
// rule that ends them.
//
// All are pure functions: the same samples and seeds give the same results.
//
// Run times are positive, skewed to the right, and differ by factors rather
// than by amounts, so intervals are made on logarithms and carried back. The
// centre that belongs to such an interval is the geometric mean, and the
// quotient of two geometric means is the geometric mean of the quotients: a
// ratio shown beside two times is the quotient of exactly these times.
//
// It does not draw, does not know trials, drops no value as an outlier, and
// does not test for normality: samples of 3 to 10 values cannot show whether
// they are normal.
package stats
