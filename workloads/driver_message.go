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
}

// InstantDigest is the digest of a trial on workers that execute nothing. The
// driver has checked that every result is theirs, 0; Verify does not apply.
const InstantDigest = "instant"

// Response is what a driver measured in a trial that went well. Fields mean
// what those of a record mean.
type Response struct {
	MakespanS  float64    `json:"makespan_s"`
	SubmitS    float64    `json:"submit_s"`
	Tasks      int        `json:"tasks"`
	BytesMoved int64      `json:"bytes_moved"`
	PerWorker  []Share    `json:"per_worker"`
	Digest     string     `json:"digest"`
	Result     string     `json:"result"`
	Sidekick   *Decisions `json:"sidekick"`
}

// Share is one worker's part of a trial.
type Share struct {
	Worker string  `json:"worker"`
	Host   string  `json:"host"`
	Tasks  int     `json:"tasks"`
	BusyS  float64 `json:"busy_s"`
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
	Hist  []Bucket   `json:"decision_hist"`
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
