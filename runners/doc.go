// Package runners turns an experiment file into a plan and runs it.
//
// An [Experiment] is what one experiments.toml declares; [Load] reads it and
// reports every mistake with its line. A [Plan] is the experiment's trials in
// the order in which they will run, in blocks that share a deployment. A
// [Runner] takes each trial through its states, retries, records (package
// runners/record) and tells what happens as events.
//
// The package decides what runs when and writes down what came of it; it does
// not know queues (package reserve), processes (package deploy) or Dask's
// scheduling (package scheduler) beyond the interfaces that it asks for.
package runners
