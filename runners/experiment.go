package runners

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/esched/esched/internal/hint"
)

// Experiment is what one experiment file declares, checked and complete:
// defaults are filled in and every name in it exists. Only [Load] makes one;
// it is read-only afterwards.
type Experiment struct {
	// Path is where the file was, Source its text.
	Path   string
	Source []byte

	Name string
	// Repetitions is their number, with a precision the least one.
	Repetitions int
	// Stop ends the repetitions when it has a precision.
	Stop Stop
	// Seed orders the plan and seeds the policies.
	Seed int64
	// ClaimTime is for how long nodes are reserved, PollInterval the time
	// between questions to the queue, Timeout the limit of one attempt of a
	// trial.
	ClaimTime    time.Duration
	PollInterval time.Duration
	Timeout      time.Duration
	// Retries is how many further attempts a failed trial gets, Warmup how many
	// warm-up trials each workload gets at the start of a block.
	Retries int
	Warmup  int

	Cluster Cluster
	// Clusters are all clusters of the file and the built-in "local", by name;
	// a command line may choose another one than Cluster.
	Clusters    map[string]Cluster
	Environment string
	// Data is the directory with the data sets, "" for the usual one.
	Data string
	// Schedulers are those the grid runs; each is "dask", "sidekick" or one that
	// the file describes.
	Schedulers     []SchedulerSpec
	Policies       []string
	Nodes          []int
	WorkersPerNode []int
	Threads        int
	// WorkerMemoryB limits the memory of each worker, as in [record.Trial].
	WorkerMemoryB int64
	// Worker is the kind of the workers: empty for Dask's own, or
	// [record.WorkerInstant].
	Worker    string
	Workloads []Workload
	// Programs are the user's own workloads, by name.
	Programs map[string]Program

	excludes []exclusion
	extra    []cell // of [[trial]] tables
	cells    []cell // what remains to run, each once
}

// Cluster is where an experiment runs: a kind of queue with its options.
type Cluster struct {
	Name    string         `json:"name"`
	Kind    string         `json:"kind"`
	Options map[string]any `json:"options,omitempty"`

	// File is the experiment file that describes it: paths in Options are
	// relative to that file's directory.
	File string `json:"-"`

	maxNodes int // 0: no limit known
}

// OnCluster returns the experiment with another of its clusters chosen.
func (e *Experiment) OnCluster(name string) (*Experiment, error) {
	c, ok := e.Clusters[name]
	if !ok {
		err := fmt.Errorf("unknown cluster %q in %s", name, e.Path)
		return nil, hint.WithExit(hint.With(err, chooseOne(name, slices.Sorted(maps.Keys(e.Clusters)))), hint.ExitUsage)
	}
	for _, cell := range e.cells {
		if c.maxNodes > 0 && cell.nodes > c.maxNodes {
			err := fmt.Errorf("cluster %q (kind %s) has at most %d nodes, the experiment asks for %d", name, c.Kind, c.maxNodes, cell.nodes)
			return nil, hint.WithExit(hint.With(err, "choose another cluster, or fewer nodes in "+e.Path), hint.ExitUsage)
		}
	}
	other := *e
	other.Cluster = c
	return &other, nil
}

// Workload is one [[workload]] table: a program and the grid of its
// parameters.
type Workload struct {
	Name string
	// Grid holds the values of each parameter; every parameter of the workload
	// that has a value is in it.
	Grid map[string][]any

	entry WorkloadEntry
	path  string // of its table in the file
}

// exclusion is one [[exclude]] table.
type exclusion struct {
	conditions []condition
	path       string
}

// Catalog tells what exists beyond the experiment file: the names that it may
// use and what they accept. It is plain data, so that this package needs to
// import none of it. Functions must be pure and safe for concurrent use.
type Catalog struct {
	Workloads []WorkloadEntry
	// Policies are the built-in ones. CheckPolicy says what is wrong with any
	// other name (a policy of the user's own, in a file); nil allows none.
	Policies    []string
	CheckPolicy func(name string) error
	// Kinds are the kinds of schedulers; each is also a scheduler of that name.
	Kinds []KindEntry
	// Environments are the built-in ones. CheckEnvironment says what is wrong
	// with a name that holds a slash: the path of a user's own environment; nil
	// allows none.
	Environments     []string
	CheckEnvironment func(path string) error
	// Clusters are the kinds of clusters. Kind "local" must be there.
	Clusters []ClusterEntry
	// FindProgram finds a script or the files that a command names, relative to
	// the experiment file, and returns them with a digest; the error carries a
	// hint. nil allows no programs.
	FindProgram func(script string, command []string) (Program, error)
	// Cluster is the name of the cluster to use instead of the one that the file
	// chooses; "" leaves the choice to the file. One that the file does not
	// describe is for [Experiment.OnCluster] to refuse.
	Cluster string
}

// WorkloadEntry describes a workload. All functions but Size are optional.
// They receive parameters complete with defaults: int64, float64 or string by
// the parameter's type.
type WorkloadEntry struct {
	Name   string
	Params []Parameter
	// Instant tells that it can run on workers that execute nothing.
	Instant bool
	// Open tells that it takes parameters of any name, Program identifies its
	// text: both are for a user's own.
	Open    bool
	Program string
	// Check says what is wrong with a combination of parameters whose values
	// are each in bounds.
	Check func(params map[string]any) error
	// Size labels the parameters for people: "2,000 chunks".
	Size func(params map[string]any) string
	// Warmup returns the parameters of the small trial that warms a deployment
	// up for one with the given parameters; without it they are the same.
	Warmup func(params map[string]any) map[string]any
	// Seconds guesses the duration of a trial on so many workers.
	Seconds func(params map[string]any, workers int) float64
	// Text identifies what files that the parameters name say, as Program
	// identifies the text of a program.
	Text func(params map[string]any) string
}

// KindEntry describes a kind of scheduler.
type KindEntry struct {
	Name string
	// Policies tells whether schedulers of this kind decide by a policy.
	Policies bool
	Options  []Parameter
}

// ClusterEntry describes a kind of cluster.
type ClusterEntry struct {
	Name    string
	Options []Parameter
	// MaxNodes bounds the number of nodes when the kind has a limit; 0: none.
	MaxNodes int
	// Limit bounds the number of nodes that execute tasks by the options, 0: no
	// limit known; it is optional and goes before MaxNodes.
	Limit func(options map[string]any) int
	// Check says what is wrong with options whose values are each in bounds,
	// with a hint, and which option it is about. Optional.
	Check func(options map[string]any) (name string, err error)
}

// Type is the type of a parameter's value.
type Type string

// The types of parameters, named as messages name them.
const (
	Int    Type = "a whole number"
	Float  Type = "a number"
	String Type = "text"
	Bool   Type = "true or false"
	// Duration is written as durations of the file are.
	Duration Type = "a length of time"
	// Texts is one text or a list of different ones.
	Texts Type = "a list of texts"
)

// Parameter describes a parameter of a workload or an option of a kind. The
// value is an int64, float64, string, bool, time.Duration or []string by its
// type; parameters of workloads are of the first three types only.
type Parameter struct {
	Name string
	Type Type
	// Min and Max bound numbers, and lengths of time in seconds, both included;
	// with Max 0 there is no upper bound (and no parameter may be negative unless
	// Min is).
	Min, Max float64
	// Choices are the values that a text may have; nil: any. Check says what is
	// wrong with a text (each of several), with a hint; nil accepts all.
	Choices []string
	Check   func(text string) error
	// Default is used when the file gives no value; nil leaves the parameter
	// out. A Required one has no default.
	Default  any
	Required bool
}

func (c Catalog) workload(name string) (WorkloadEntry, bool) {
	for _, w := range c.Workloads {
		if w.Name == name {
			return w, true
		}
	}
	return WorkloadEntry{}, false
}

func (c Catalog) kind(name string) (KindEntry, bool) {
	for _, k := range c.Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return KindEntry{}, false
}

func (c Catalog) cluster(kind string) (ClusterEntry, bool) {
	for _, e := range c.Clusters {
		if e.Name == kind {
			return e, true
		}
	}
	return ClusterEntry{}, false
}
