// Package scheduler is C1, the decision core: which task runs next, and on
// which worker.
//
// A [State] mirrors the cluster and its task graphs. It changes only through
// [Event]s, which every driver (package sidekick today) speaks. A [Policy] is
// a pure function of the state that chooses a worker for a task. The [Core]
// joins the two: it applies events and reacts with [Instruction]s, some of
// them before anybody asked (look-ahead), some of them late on purpose (a
// root task waits in the core's queue until a worker has room).
//
// The package uses no clock, no I/O and no global random source, and it
// imports nothing of esched: the same events with the same seed give the same
// instructions, byte for byte. It is not safe for concurrent use; a driver
// owns its core.
//
// DESIGN.md beside this file explains the mechanisms and their measurements.
package scheduler
