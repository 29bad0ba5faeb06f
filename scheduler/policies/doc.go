// Package policies holds the built-in policies: the six of the lab report
// with its formulas, round-robin, and earliest-start.
//
// A policy is registered by an entry in [All]; there is no other magic. The
// formulas of the report are those its prototype computed; where the prototype
// used a figure that does not measure what its name says (the difference of
// two clocks as latency), the entry's documentation says so and the formula
// stays.
package policies
