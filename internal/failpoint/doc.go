// Package failpoint ends esched at a chosen place, as a power failure would, so
// that tests can look at what is left.
//
// A [Point] is a place that the program reaches, such as the moment between an
// entry in the ledger and the question to the queue. [Points] knows which of
// them is armed; the program tells it where it is. Nothing is armed unless the
// environment variable [Variable] names a point, which only tests do.
//
// The package does not end anything itself: who arms a point says how.
package failpoint
