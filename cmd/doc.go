// Package cmd is the command line of esched: one file per command, each with
// a constructor, an options struct and a run function.
//
// A [Process] is everything a command may know of the process it runs in:
// arguments, streams, environment, directory, clock, files, signals. It is
// made in the files named env*, the only ones that touch the process itself, so a
// test runs any command in memory and in parallel. [Main] executes a command
// line, prints an error once (with its "Try:" line) and returns the exit code.
//
// A run takes orders (stop, cancel, extend) from a file in its directory, also
// one in the background, and whoever watches reads the events there. There is
// no socket: the directory is what all head nodes of a cluster share, so a run
// can be watched from any of them, nothing listens, and the file's mode says who
// may order.
//
// The package decides nothing about experiments: it puts the other packages
// together (catalog.go, site.go) and shows what they return.
package cmd
