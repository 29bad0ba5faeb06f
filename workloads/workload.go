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
// Choices lists the texts allowed.
type Param struct {
	Name     string
	Type     Type
	Min, Max float64
	Choices  []string
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
}

// All returns the workloads, sorted by name.
func All() []Workload { return []Workload{groupBy(), merge(), monteCarlo(), shuffle(), tree()} }

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
