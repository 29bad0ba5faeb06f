package main

import (
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// invented is a run of one workload, on which the times of the arms are 4, 2
// and 3 s, somewhat longer in each repetition.
func invented() *record.Run {
	run := &record.Run{Manifest: record.Manifest{
		Name: "invented", Environments: map[string]record.Environment{"default": {Packages: map[string]string{"dask": "2026.7.1"}}},
		Hosts: []record.Host{{Name: "here", CPU: "Some CPU", Cores: 2}},
	}}
	for repetition := 1; repetition <= 5; repetition++ {
		for name, seconds := range map[string]float64{"dask": 4, "sidekick-stock": 3, "sidekick": 2} {
			t := record.Trial{Workload: "merge", Size: "10 tasks", Scheduler: name, Kind: "dask", Nodes: 1, Workers: 4, Repetition: repetition}
			r := record.Record{Status: record.StatusOK, MakespanS: seconds * (1 + 0.01*float64(repetition)), SchedulerCPUS: 2}
			if name != "dask" {
				t.Kind, t.Policy = "sidekick", "earliest-start"
				r.Decisions, r.DecisionSources, r.ServiceCPUS = 200, map[string]int{"next": 195, "ask": 5}, 0.1
				r.HitUS, r.AskUS = &record.Quantiles{P50: 0.8, P99: 12.34}, &record.Quantiles{P50: 151.2}
			}
			t.ID = t.Identity()
			r.Trial = t
			run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{Trial: t})
			run.Records = append(run.Records, r)
		}
	}
	run.Records[0].Status = record.StatusFailed
	return run
}

func TestTables(t *testing.T) {
	t.Parallel()
	run := invented()
	r, err := report.Build([]*record.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	have := tables(run, r)
	for _, want := range []string{
		"## invented, Dask 2026.7.1",
		"Some CPU, 2 cores; repetitions: 5; 14 of 15 trials ok",
		"| workload | size | workers | dask (s) | sidekick-stock / dask | sidekick / dask | sidekick / dask-tuned | dask-tuned / dask |",
		"| 0.75 (0.75–0.75) | 0.50 (0.50–0.50) | – | – |",
		"| merge | sidekick | 0.800 | 12.3 | 151 | 2.50 | 0 | 5.00 |",
	} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.01234: "0.0123", 9.5: "9.50", 12.34: "12.3", 151.2: "151", 12345: "12345"} {
		if have := digits(v); have != want {
			t.Errorf("%g: have %q, want %q", v, have, want)
		}
	}
}
