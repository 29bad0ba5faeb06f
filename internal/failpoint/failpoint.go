package failpoint

// Variable is the environment variable that names the point to arm.
const Variable = "ESCHED_FAILPOINT"

// Point names a place in the program.
type Point string

// Result is the moment when the driver has answered a trial and its record is
// not yet on disk.
const Result Point = "result"

// Visit is the moment when a checkup has made a directory on a node.
const Visit Point = "visit"

// Before is the moment before a program of the queue is started, such as
// "sbatch". What its start is noted in is on disk.
func Before(program string) Point { return Point("before " + program) }

// After is the moment after a program of the queue has ended, before anything
// is made of what it said.
func After(program string) Point { return Point("after " + program) }

// Told is the moment after an event of that kind and state ("" for a kind
// without states) is on disk.
func Told(kind, state string) Point {
	if state == "" {
		return Point(kind)
	}
	return Point(kind + " " + state)
}

// Points is told of every point that the program reaches. The nil Points has
// nothing armed.
type Points func(Point)

// Reach tells that the program is there. It does not return when the point is
// armed.
func (r Points) Reach(p Point) {
	if r != nil {
		r(p)
	}
}

// Armed returns Points that call crash at the point of that name, and none for
// "". crash must not return; it may be called from several goroutines at once.
func Armed(name string, crash func()) Points {
	if name == "" {
		return nil
	}
	return func(p Point) {
		if string(p) == name {
			crash()
		}
	}
}
