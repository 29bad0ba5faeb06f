// Package record is the schema of a run directory: the manifest (run.json),
// one [Record] a trial (trials.jsonl), the [Event]s of the run
// (events.jsonl), and the [Store] that appends and reads them.
//
// It is a leaf: it imports nothing of esched but internal/hint, and it is all that package
// report and the dashboard know about a run. JSON lines are the store because
// home directories on clusters are network file systems, where databases
// lock badly. A line once written is never rewritten; a torn last line is
// dropped on reading.
//
// Durations are seconds in fields that end in _s and microseconds in fields
// that end in _us or named so; sizes are bytes.
package record
