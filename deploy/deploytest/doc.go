// Package deploytest is the conformance suite of deploy.Host implementations.
//
// [Main] lets a test binary act as its own guard, [Run] tests a Host. The suite
// starts real processes; it contains no stand-ins.
package deploytest
