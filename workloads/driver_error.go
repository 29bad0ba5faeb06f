package workloads

import (
	"errors"
	"fmt"
)

// ErrBroken is wrapped by errors after which a driver is of no further use:
// kill its process and start another.
var ErrBroken = errors.New("driver broken")

// FailedError tells that a trial raised an exception. The driver is sound.
type FailedError struct {
	Reason    string // the exception in one line
	Traceback string // or the end of what a program of a user printed
	// Late tells that a program ran longer than it may; what it has submitted may
	// still run.
	Late bool
}

func (e *FailedError) Error() string { return e.Reason }

// DiedError tells that the driver process ended. It wraps ErrBroken.
type DiedError struct {
	Exit error  // how it ended, nil for exit status 0
	Log  string // the end of its log
}

func (e *DiedError) Error() string {
	how := "exit status 0"
	if e.Exit != nil {
		how = e.Exit.Error()
	}
	if e.Log == "" {
		return "driver died: " + how
	}
	return fmt.Sprintf("driver died: %s; its log ends with: %s", how, e.Log)
}

func (e *DiedError) Unwrap() []error { return []error{ErrBroken, e.Exit} }

// GarbageError tells that the driver wrote a line that is no response. It
// wraps ErrBroken.
type GarbageError struct {
	Line string // its beginning
	Err  error
}

func (e *GarbageError) Error() string {
	return fmt.Sprintf("driver's response %q: %v", e.Line, e.Err)
}

func (e *GarbageError) Unwrap() []error { return []error{ErrBroken, e.Err} }

// TimeoutError tells that the driver did not answer before the context ended.
// It wraps ErrBroken and the context's cause.
type TimeoutError struct {
	Waiting string // for what
	Cause   error
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("no answer to %s: %v", e.Waiting, e.Cause) }

func (e *TimeoutError) Unwrap() []error { return []error{ErrBroken, e.Cause} }
