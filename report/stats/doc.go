// Package stats summarises repeated measurements: means, intervals of
// confidence, ratios of two arms.
//
// The nouns: a sample is the values of one cell; an [Interval] covers a true
// value with a stated confidence; a [Ratio] compares two samples, paired by
// repetition where that is possible.
//
// Run times are positive, skewed to the right, and differ by factors rather
// than by amounts, so intervals are made on logarithms and carried back. The
// centre that belongs to such an interval is the geometric mean, and the
// quotient of two geometric means is the geometric mean of the quotients: a
// ratio shown beside two times is the quotient of exactly these times.
//
// It does not draw, does not know trials, and does not test for normality:
// samples of 3 to 10 values cannot show whether they are normal.
package stats
