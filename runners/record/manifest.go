package record

import "time"

// Manifest is run.json: what a run was asked to do and where it did it. It is
// written before anything is reserved and replaced atomically when the run
// learns more (hosts) or ends.
type Manifest struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"`   // name of the run directory
	Name   string `json:"name"` // name of the experiment
	// Command is the command line that made the run, Esched the version of the
	// binary.
	Command []string `json:"command"`
	Esched  string   `json:"esched"`
	// Experiment is the text of the experiment file, ExperimentPath where it
	// was, ExperimentSHA256 its hash, and Git the state of the repository
	// around it ("" outside of one): "<commit>" or "<commit>-dirty".
	Experiment       string `json:"experiment"`
	ExperimentPath   string `json:"experiment_path"`
	ExperimentSHA256 string `json:"experiment_sha256"`
	Git              string `json:"git,omitempty"`
	// Seed shuffled the plan and seeds the policies.
	Seed int64 `json:"seed"`
	// Cluster is the name of the cluster profile, ClusterKind its kind.
	Cluster     string `json:"cluster"`
	ClusterKind string `json:"cluster_kind"`
	// Plan lists the trials, warm-ups included, in the order of execution.
	Plan []Planned `json:"plan"`
	// Trace is how many tasks of each trial of the first repetition have their
	// times kept.
	Trace int `json:"trace,omitempty"`
	// Stopping is how the repetitions were ended; nil when their number was
	// fixed.
	Stopping *Stopping `json:"stopping,omitempty"`
	// Environments describes the Python environments used, by name.
	Environments map[string]Environment `json:"environments,omitempty"`
	// Hosts describes the machines, scheduler's first.
	Hosts []Host `json:"hosts,omitempty"`
	// Notes are facts the methods section must tell ("work stealing off").
	Notes   []string  `json:"notes,omitempty"`
	Started time.Time `json:"started"`
	// Ended is zero while the run goes on (or if it was killed). Sessions
	// counts how often the run was started: 1, and one more for each --resume.
	Ended    time.Time `json:"ended,omitzero"`
	Sessions int       `json:"sessions"`
	ExitCode int       `json:"exit_code"`
}

// Planned is a trial with its place in the plan.
type Planned struct {
	Trial
	Block int `json:"block"`
	Order int `json:"order"`
}

// Environment describes a Python environment.
type Environment struct {
	Name     string            `json:"name"`
	Python   string            `json:"python"`         // version, "3.11.7"
	Path     string            `json:"path"`           // its directory
	Lock     string            `json:"lock,omitempty"` // hash of the lock file; "" for a user's own
	Packages map[string]string `json:"packages"`       // name -> version
}

// Host describes a machine of a run.
type Host struct {
	Name     string `json:"name"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	MemoryB  int64  `json:"memory_bytes"`
	Kernel   string `json:"kernel"`
	OS       string `json:"os"`
	Governor string `json:"governor,omitempty"`
	// Address is where the experiment's processes listen on it, Interface the
	// network interface with that address, when one was chosen.
	Address   string `json:"address,omitempty"`
	Interface string `json:"interface,omitempty"`
	// ClockAheadS is how far its clock was ahead of that of the machine esched
	// ran on when it was contacted, give or take ClockErrorS; both 0 when that
	// was not measured.
	ClockAheadS float64 `json:"clock_ahead_s,omitempty"`
	ClockErrorS float64 `json:"clock_error_s,omitempty"`
}
