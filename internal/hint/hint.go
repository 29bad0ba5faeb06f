// Package hint decorates errors with what the reader can do about them and
// with the exit code of the process.
//
// Any package may attach a hint; only package cmd reads them, prints the
// "Try:" line and exits. A hint is one imperative sentence without a final
// full stop: "choose one of: dask, sidekick".
package hint

import "errors"

// Exit codes of esched, the same for all commands. They are part of the
// command line's contract and are listed in every --help.
const (
	ExitOK          = 0   // everything asked for was done
	ExitError       = 1   // an error that no other code describes
	ExitUsage       = 2   // the command line or a configuration file is wrong; nothing was started
	ExitTrials      = 3   // the run finished, some trials failed
	ExitNoNodes     = 4   // no nodes were granted in time
	ExitThreshold   = 5   // a threshold given by the user was exceeded
	ExitInterrupted = 130 // interrupted; the run can be resumed
)

type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// With returns err with a hint attached, or nil when err is nil. The message
// of err is unchanged.
func With(err error, hint string) error {
	if err == nil {
		return nil
	}
	return hinted{err, hint}
}

// Of returns the outermost hint of err, or "".
func Of(err error) string {
	if h, ok := errors.AsType[hinted](err); ok {
		return h.hint
	}
	return ""
}

type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// WithExit returns err with an exit code attached, or nil when err is nil.
func WithExit(err error, code int) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

// Exit returns the outermost exit code of err: ExitOK for nil and ExitError
// for an error without a code.
func Exit(err error) int {
	if err == nil {
		return ExitOK
	}
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	return ExitError
}

// Usage returns err as a mistake of the user's, with what mends it, or nil when
// err is nil.
func Usage(err error, mend string) error { return WithExit(With(err, mend), ExitUsage) }
