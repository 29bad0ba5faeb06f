// Package term answers what kind of terminal a command talks to: whether a
// stream is one, how large it is, and whether the reader of it wants colour
// and understands Unicode.
//
// Everything about the environment is a pure function of a [Lookup], so that
// only package cmd reads the process's own. It draws nothing and asks the
// terminal nothing: a query costs a round trip, and its answer would arrive
// between the keys that the user presses.
package term
