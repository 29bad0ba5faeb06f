// Package report turns the records of runs into something a person can read,
// print and bring to a meeting.
//
// The nouns: a condition is what was executed and on how many workers (a
// workload, its size, nodes, workers); a series is who decided ("dask",
// "sidekick/random"); a cell is one series under one condition, with its
// repetitions; a baseline is a series of kind "dask"; a ratio compares a cell
// with a baseline's cell of the same condition.
//
// [Build] makes a [Report], which holds every number and every sentence; the
// writers (HTML, JSON, CSV, Markdown) only set them in type, so that all show
// the same. A figure that breaks the rules of charts.Figure.Lawful is left out,
// and the report says so. It reads nothing from disk (timelines, the times of
// the tasks of single trials, come through [Options]), knows no other package
// of esched than runners/record, and judges no result beyond what an interval
// says.
package report
