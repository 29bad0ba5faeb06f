// Package reporttest invents runs for tests of reports and of what shows them.
//
// The numbers come from a seeded random source and a made-up model of how
// schedulers behave. They are no measurements and must never be shown as such;
// only tests import this package.
package reporttest
