// Package rules holds what the packages may know of one another, as tests:
// which imports which, and which of them are pure. It has no code of its own.
package rules
