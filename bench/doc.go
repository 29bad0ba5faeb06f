// Command bench writes the figures of benchmark runs as Markdown tables: for
// each run directory it is given, ratios of makespans with their intervals, and
// what the decisions cost. bench/run.sh makes the runs and calls it.
//
// It measures nothing and decides nothing: ratios and intervals are those of
// package report, the rest are medians over the records of a run.
package main
