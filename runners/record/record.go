package record

import "time"

// Schema is the version of the files in a run directory. A reader accepts
// files of its own or an older version.
const Schema = 1

// Status tells how a trial ended.
type Status string

// The states in which a trial can end. Only trials with StatusOK count in
// results; all are recorded and shown.
const (
	StatusOK      Status = "ok"
	StatusFailed  Status = "failed"
	StatusTimeout Status = "timeout"
	StatusSkipped Status = "skipped"
)

// Record is the result of one trial: one line of trials.jsonl. A trial that
// was retried has one record, with its attempts.
type Record struct {
	Schema int `json:"schema"`
	Trial
	Status Status `json:"status"`
	// Error says why a trial that is not ok is not.
	Error string `json:"error,omitempty"`
	// Disturbed says what the deployment lost while an ok trial ran. The result
	// is right; the makespan is not that of an undisturbed deployment.
	Disturbed string `json:"disturbed,omitempty"`
	// Attempts holds the failed attempts before the one this record tells of.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Block is the index of the block (one deployment) it ran in; Order is its
	// place in the order of execution, from 1.
	Block int `json:"block"`
	Order int `json:"order"`

	// MakespanS is the time from the client's submit call to the last result
	// at the client, by the client's monotonic clock. SubmitS is the part of
	// it until the submit call returned.
	MakespanS float64 `json:"makespan_s"`
	SubmitS   float64 `json:"submit_s"`
	// Tasks is the number of tasks that the workers executed.
	Tasks int `json:"tasks"`
	// Decisions counts the placements that esched decided, Fallbacks those that
	// Dask had to decide itself because esched did not answer. Both are 0 for
	// kind "dask". DecisionSources splits Decisions by the way the answer came:
	// "hint" (look-ahead, already there), "next" (reserved for a worker's free
	// slot), "ask" (blocking question).
	Decisions       int            `json:"decisions"`
	Fallbacks       int            `json:"fallbacks"`
	DecisionSources map[string]int `json:"decision_sources,omitempty"`
	// DecisionUS are quantiles of the time that a decision took as seen by
	// Dask's event loop, in microseconds; DecisionHist is the distribution.
	DecisionUS   *Quantiles   `json:"decision_us,omitempty"`
	DecisionHist []HistBucket `json:"decision_hist,omitempty"`
	// AskUS are quantiles of the blocking questions alone, HitUS those of the
	// decisions that were there without one.
	AskUS *Quantiles `json:"ask_us,omitempty"`
	HitUS *Quantiles `json:"hit_us,omitempty"`
	// AskS and HitS are the sums of the times of these two, in seconds: what
	// Dask's event loop spent on decisions. Both are 0 in older records.
	AskS float64 `json:"ask_s,omitempty"`
	HitS float64 `json:"hit_s,omitempty"`
	// NominalWorkS is the time that all tasks together take by the workload's own
	// account, NominalPathS that of the longest chain of tasks that need one
	// another; 0 when it does not know.
	NominalWorkS float64 `json:"nominal_work_s,omitempty"`
	NominalPathS float64 `json:"nominal_path_s,omitempty"`
	// Idle tells that the tasks of the nominal work sleep, so that no number of
	// cores bounds how many of them go on at once.
	Idle bool `json:"idle,omitempty"`
	// BytesMoved is the number of bytes that workers fetched from one another.
	BytesMoved int64 `json:"bytes_moved"`
	// PerWorker is sorted by worker name.
	PerWorker []WorkerShare `json:"per_worker,omitempty"`
	// SchedulerCPUS and ServiceCPUS are the CPU seconds (user and system) that
	// the Dask scheduler process and esched's decision process used during the
	// trial.
	SchedulerCPUS float64 `json:"scheduler_cpu_s,omitempty"`
	ServiceCPUS   float64 `json:"service_cpu_s,omitempty"`
	// DriverPeakBytes is the most memory that the driver, Dask's client, had
	// resident in the trial; 0 when unknown.
	DriverPeakBytes int64 `json:"driver_peak_bytes,omitempty"`

	// Timeline is the file with the times of its tasks, below the run
	// directory; "" when they were not traced. Tracing costs the scheduler time.
	Timeline string `json:"timeline,omitempty"`

	// ResultDigest is a hash of the workload's result, equal for all schedulers;
	// Result is what the workload wants to show ("pi = 3.1416").
	ResultDigest string `json:"result_digest,omitempty"`
	Result       string `json:"result,omitempty"`

	// Started is the wall-clock time at which the trial began.
	Started time.Time `json:"started"`
	// Hosts are the hosts of the deployment, scheduler first.
	Hosts []string `json:"hosts,omitempty"`
	// The clocks, kept apart: waiting for nodes, starting the deployment,
	// warm-up trials (the first three are those of the trial's block, whole),
	// and the trial itself with preparation and verification.
	QueueS  float64 `json:"queue_s"`
	DeployS float64 `json:"deploy_s"`
	WarmupS float64 `json:"warmup_s"`
	RunS    float64 `json:"run_s"`
}

// Attempt is a try of a trial that did not succeed and was followed by
// another.
type Attempt struct {
	Status  Status    `json:"status"`
	Error   string    `json:"error"`
	Started time.Time `json:"started"`
	RunS    float64   `json:"run_s"`
}

// Quantiles of a sample, in microseconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// HistBucket counts the values in (upper bound of the bucket before, LeUS].
type HistBucket struct {
	LeUS  float64 `json:"le_us"`
	Count int     `json:"count"`
}

// WorkerShare is one worker's part of a trial. BusyS is the time its threads
// executed tasks, summed over threads.
type WorkerShare struct {
	Worker string  `json:"worker"`
	Host   string  `json:"host,omitempty"`
	Tasks  int     `json:"tasks"`
	BusyS  float64 `json:"busy_s"`
	// PeakBytes is the most memory that its process had resident in the trial; 0
	// when unknown.
	PeakBytes int64 `json:"peak_bytes,omitempty"`
	// LimitBytes is the limit of its memory as the worker has it; 0 when there is
	// none or it is unknown.
	LimitBytes int64 `json:"limit_bytes,omitempty"`
}
