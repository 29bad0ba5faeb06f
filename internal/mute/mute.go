// Package mute keeps Bubble Tea from questioning the terminal when a program
// starts.
//
// Bubble Tea asks for the background colour while packages are initialised, in
// every command that is linked with it. On a terminal that does not answer
// that costs five seconds, and on one that does the answer may arrive among the
// user's keys. The question is left out when the variable CI is set, so it is
// set for as long as that initialisation takes: this package imports nothing
// but package os, so it is initialised before Bubble Tea, which needs more; and
// whoever imports Bubble Tea is initialised after it, and calls [End].
//
// The package does nothing else, and nothing after the start.
package mute

import "os"

const variable = "CI"

// before is the variable's value, and had whether it was set, until begin.
var before, had = begin()

func begin() (string, bool) {
	value, set := os.LookupEnv(variable)
	if value == "" {
		_ = os.Setenv(variable, "1") // only a name with "=" or NUL is refused
	}
	return value, set
}

// End restores the environment. It is meant for the initialisation of a
// package that imports Bubble Tea; its result, always true, lets it stand in a
// declaration.
func End() bool {
	if had {
		return os.Setenv(variable, before) == nil
	}
	return os.Unsetenv(variable) == nil
}
