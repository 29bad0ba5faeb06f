package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Trial says what one measured execution executes, not how it went. It is
// embedded in [Record] and listed in the plan of a [Manifest].
type Trial struct {
	// ID identifies what is measured: a hash of every other field but Warmup.
	// The same cell of the same experiment has the same ID in every run.
	ID string `json:"trial"`
	// Workload is the name of the program, Size its size as shown to people
	// ("2000 chunks"), Params its parameters in full.
	Workload string         `json:"workload"`
	Size     string         `json:"size"`
	Params   map[string]any `json:"params"`
	// Scheduler is the name of who decides, as in the experiment file; Kind is
	// what it is: "dask" (Dask's own scheduler, unmodified) or "sidekick".
	Scheduler string `json:"scheduler"`
	Kind      string `json:"kind"`
	// Policy is how it decides; empty for kind "dask".
	Policy string `json:"policy,omitempty"`
	// Settings are Dask configuration values and esched options set for this
	// scheduler, beyond the defaults.
	Settings map[string]any `json:"settings,omitempty"`
	// Nodes is the number of hosts, Workers the number of worker processes on
	// all of them together, Threads the number of threads of each worker.
	Nodes   int `json:"nodes"`
	Workers int `json:"workers"`
	Threads int `json:"threads"`
	// WorkerMemoryB is the limit of each worker's memory in bytes, at parts of
	// which Dask spills and pauses: 0 for an equal share of the node's memory,
	// MemoryAuto for what Dask itself chooses.
	WorkerMemoryB int64 `json:"worker_memory_bytes,omitempty"`
	// Worker is the kind of the workers: empty for Dask's own, WorkerInstant for
	// stand-ins that execute nothing.
	Worker string `json:"worker,omitempty"`
	// Environment names the Python environment.
	Environment string `json:"environment"`
	// Program identifies the text of a workload that is not esched's own, or that
	// of the files which its parameters name.
	Program string `json:"program,omitempty"`
	// Repetition counts from 1. Warm-up trials have repetition 0.
	Repetition int `json:"repetition"`
	// Warmup marks a trial whose times are not part of any result.
	Warmup bool `json:"warmup,omitempty"`
}

// MemoryAuto leaves the limit of workers' memory to Dask: the node's memory
// times the share of its cores for which a worker has threads.
const MemoryAuto = -1

// WorkerInstant is the kind of workers that report every task as finished as
// soon as they receive it: what remains is the cost of client and scheduler.
const WorkerInstant = "instant"

// Identity returns the ID of the trial: the first 12 hexadecimal digits of
// the SHA-256 of its canonical JSON (sorted keys) without ID and Warmup.
func (t Trial) Identity() string {
	t.ID, t.Warmup = "", false
	b, err := json.Marshal(t) // encoding/json sorts map keys
	if err != nil {
		panic(fmt.Sprintf("trial parameters are not JSON: %v", err)) // values come from TOML scalars
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:12]
}

// Cell identifies what repetitions of one another share: everything but the
// repetition.
func (t Trial) Cell() string {
	t.Repetition = 0
	return t.Identity()
}

// Series is the name under which results are shown: "dask",
// "sidekick/random".
func (t Trial) Series() string {
	if t.Policy == "" {
		return t.Scheduler
	}
	return t.Scheduler + "/" + t.Policy
}

// String describes the trial in one line, as plain output shows it.
func (t Trial) String() string {
	rep := fmt.Sprintf("rep%d", t.Repetition)
	if t.Warmup {
		rep = "warm-up"
	}
	return fmt.Sprintf("%s %s  %s  %dw  %s", t.Workload, t.Size, t.Series(), t.Workers, rep)
}

// ParamString renders the parameters as "chunk=100 simulations=200000", keys
// sorted.
func (t Trial) ParamString() string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(t.Params)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%v", k, t.Params[k])
	}
	return b.String()
}
