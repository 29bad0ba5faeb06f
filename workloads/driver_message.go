package workloads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Request asks a driver for one trial.
type Request struct {
	Workload string         `json:"workload"`
	Params   map[string]any `json:"params"`
	// Seed is the workload's, PolicySeed the policy's.
	Seed       int64          `json:"seed"`
	Policy     string         `json:"policy,omitempty"`
	PolicySeed int64          `json:"policy_seed,omitempty"`
	Options    map[string]any `json:"options,omitempty"`
	// Kind is "dask" or "sidekick".
	Kind string `json:"kind"`
	// Instant tells that the workers execute nothing: see [InstantDigest].
	Instant bool `json:"instant,omitempty"`
	// Module is the Python module of a workload that is not one of esched's.
	Module string `json:"module,omitempty"`
	// Data is where the data set of the workload is: the parameter "data" of its
	// Python functions.
	Data string `json:"data,omitempty"`
	// Graph has the tasks of a workload that builds them here; nil for none.
	Graph *Graph `json:"graph,omitempty"`
	// Program is executed instead of a workload of esched's; nil for none.
	Program *Program `json:"program,omitempty"`
	// Trace asks for the times of at most so many tasks; 0 for none. It costs
	// Dask's scheduler some microseconds a task.
	Trace int `json:"trace,omitempty"`
	// Mark, when not 0, is noted in Dask's scheduler when the tasks of the trial
	// are about to come, by the operation esched_progress. Only a deployment's
	// scheduler has it.
	Mark int `json:"mark,omitempty"`
}

// InstantDigest is the digest of a trial on workers that execute nothing. The
// driver has checked that every result is theirs, 0; Verify does not apply.
const InstantDigest = "instant"

// Response is what a driver measured in a trial that went well. Fields mean
// what those of a record mean.
type Response struct {
	MakespanS  float64 `json:"makespan_s"`
	SubmitS    float64 `json:"submit_s"`
	Tasks      int     `json:"tasks"`
	BytesMoved int64   `json:"bytes_moved"`
	PerWorker  []Share `json:"per_worker"`
	// Worked names the instant workers that had tasks, of which PerWorker tells
	// nothing.
	Worked   []string   `json:"worked"`
	Digest   string     `json:"digest"`
	Result   string     `json:"result"`
	Sidekick *Decisions `json:"sidekick"`
	// DriverPeakBytes is the most memory that the driver had in the trial.
	DriverPeakBytes int64 `json:"driver_peak_bytes"`
	// Timeline is what Trace asked for: the compressed lines of a
	// record.Timeline.
	Timeline []byte `json:"timeline"`
}

// Share is one worker's part of a trial.
type Share struct {
	Worker string  `json:"worker"`
	Host   string  `json:"host"`
	Tasks  int     `json:"tasks"`
	BusyS  float64 `json:"busy_s"`
	// PeakBytes is the most memory that the worker had in the trial.
	PeakBytes int64 `json:"peak_bytes"`
	// LimitBytes is the limit of its memory; 0 for none.
	LimitBytes int64 `json:"limit_bytes"`
}

// Decisions is what the sidekick counted in a trial.
type Decisions struct {
	Decisions int            `json:"decisions"`
	Fallbacks int            `json:"fallbacks"`
	Sources   map[string]int `json:"sources"`
	// US are nearest-rank quantiles in microseconds, nil without decisions.
	US *Quantiles `json:"decision_us"`
	// AskUS are those of the blocking questions alone, HitUS those of the
	// decisions that needed none; nil without any.
	AskUS *Quantiles `json:"ask_us"`
	HitUS *Quantiles `json:"hit_us"`
	// AskS and HitS are the sums of the latencies of these, in seconds.
	AskS float64  `json:"ask_s"`
	HitS float64  `json:"hit_s"`
	Hist []Bucket `json:"decision_hist"`
}

// Quantiles of decision latencies, in microseconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Bucket counts latencies up to LeUS microseconds, above the bucket before.
type Bucket struct {
	LeUS  float64 `json:"le_us"`
	Count int     `json:"count"`
}

// Ready is the driver's first message.
type Ready struct {
	// Versions of packages, and of "python"; Workers registered by then.
	Versions map[string]string `json:"versions"`
	Workers  int               `json:"workers"`
}

// message is any line a driver writes.
type message struct {
	Ready     bool   `json:"ready"`
	ID        *int64 `json:"id"`
	Status    string `json:"status"`
	Error     string `json:"error"`
	Traceback string `json:"traceback"`
	Late      bool   `json:"late"`
}

// decodeMessage checks the envelope of a line. The line must be one object.
func decodeMessage(line []byte) (message, error) {
	var m message
	if trimmed := bytes.TrimSpace(line); len(trimmed) == 0 || trimmed[0] != '{' {
		return m, errors.New("not a JSON object")
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, err
	}
	if m.Ready {
		return m, nil
	}
	if m.ID == nil {
		return m, errors.New("without an id")
	}
	if m.Status != "ok" && m.Status != "failed" {
		return m, fmt.Errorf("status %q", m.Status)
	}
	return m, nil
}

// decodeResponse reads what was measured and refuses what cannot be.
func decodeResponse(line []byte) (Response, error) {
	var r Response
	if err := json.Unmarshal(line, &r); err != nil {
		return Response{}, err
	}
	switch {
	case r.MakespanS <= 0 || math.IsInf(r.MakespanS, 0):
		return Response{}, fmt.Errorf("makespan of %g s", r.MakespanS)
	case r.SubmitS < 0 || r.SubmitS > r.MakespanS:
		return Response{}, fmt.Errorf("submission of %g s in a makespan of %g s", r.SubmitS, r.MakespanS)
	case r.Tasks < 0:
		return Response{}, fmt.Errorf("%d tasks", r.Tasks)
	case r.Digest == "":
		return Response{}, errors.New("no digest")
	}
	return r, nil
}
