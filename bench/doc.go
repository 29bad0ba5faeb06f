// Command bench writes the figures of benchmark runs as Markdown tables: for
// each run directory it is given, ratios of makespans with their intervals, and
// what the decisions cost; with the word quick, how long people wait for the
// start of a run, a report, a plan; with the word cluster, what a run on a
// cluster makes of its claim. bench/run.sh makes the runs and calls it.
//
// It decides nothing: ratios and intervals are those of package report, the
// rest are medians.
package main
