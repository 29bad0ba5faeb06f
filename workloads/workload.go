package workloads

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Type is the type of a parameter's values: int64, float64 or string.
type Type string

// The types of parameters.
const (
	Int    Type = "int"
	Float  Type = "float"
	String Type = "string"
)

// Param describes a parameter. Min and Max bound numbers, both included;
// Choices lists the texts allowed. File tells that the text names a file, which
// may be relative, for a workload to the experiment file, for a provider to the
// working directory; their functions, but Warmup, get its absolute path.
type Param struct {
	Name     string
	Type     Type
	Min, Max float64
	Choices  []string
	File     bool
	Default  any
	Required bool
	Doc      string
}

// Workload is a program with a size. Its functions take parameters that fit
// Params, with defaults filled in, may be called concurrently, and change
// nothing.
type Workload struct {
	Name   string
	Doc    string
	Params []Param
	// About tells more, in paragraphs separated by empty lines. Optional.
	About string
	// Sizes are named sets of values to start from, the smallest first.
	Sizes []NamedSize
	// Result says in one sentence what a trial returns and how it is checked;
	// References are where the program comes from.
	Result     string
	References []string
	// Data names the data set that trials read, "" for none: see [Provider].
	// DataOptions returns the options with which that provider makes what a trial
	// with these parameters reads; nil: its defaults.
	Data        string
	DataOptions func(params map[string]any) map[string]any
	// Instant tells that the graph can be given to workers that execute nothing,
	// because nothing on the way depends on a task's result.
	Instant bool
	// Size is the label shown to people: "2,000 chunks".
	Size func(params map[string]any) string
	// Check says what is wrong with a combination of parameters.
	Check func(params map[string]any) error
	// Warmup returns the parameters of a small trial of the same kind.
	Warmup func(params map[string]any) map[string]any
	// RoughSeconds guesses the makespan on so many single-threaded workers.
	RoughSeconds func(params map[string]any, workers int) float64
	// Verify says what is wrong with a result. That all schedulers gave the same
	// digest is for the caller to see.
	Verify func(params map[string]any, digest, result string) error
	// Graph builds the tasks that a trial executes, for [Request.Graph], instead
	// of the Python module; the graph verifies the result instead of Verify.
	Graph func(params map[string]any, seed int64) (*Graph, error)
	// Text identifies what a trial with these parameters reads from files that
	// they name: trials are the same only if it is. Optional.
	Text func(params map[string]any) string
}

// NamedSize is a workload's size under a name that people know: "small",
// "medium", "paper". Params holds the parameters that differ from defaults.
type NamedSize struct {
	Name   string
	Doc    string
	Params map[string]any
}

// All returns the workloads, sorted by name.
func All() []Workload {
	return []Workload{
		groupBy(),
		merge(),
		monteCarlo(),
		pipeline(),
		shuffle(),
		synthetic(),
		taxiSQL(),
		tree(),
		wfCommons(),
	}
}

// ByName returns a workload, or false when there is none of that name.
func ByName(name string) (Workload, bool) {
	all := All()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return all[i], true
}

// whole returns an integer parameter, which is a json.Number when it was read
// from a record.
func whole(params map[string]any, name string) (int64, error) {
	switch v := params[name].(type) {
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case json.Number:
		return v.Int64()
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
	}
	return 0, fmt.Errorf("parameter %s: %v is not a whole number", name, params[name])
}
