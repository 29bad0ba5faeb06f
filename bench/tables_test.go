package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// invented is a run of one workload, on which the times of the arms are 4, 5, 2
// and 3 s, somewhat longer in each repetition.
func invented() *record.Run {
	run := &record.Run{Manifest: record.Manifest{
		Name: "invented", Esched: "devel (0123456789ab)", Git: "0123456789ab", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Environments: map[string]record.Environment{"default": {Packages: map[string]string{"dask": "2026.7.1"}}},
		Hosts: []record.Host{{Name: "here", CPU: "Some CPU", Cores: 2}},
	}}
	for repetition := 1; repetition <= 5; repetition++ {
		for name, seconds := range map[string]float64{"dask": 4, "dask-tuned": 5, "sidekick-stock": 3, "sidekick": 2} {
			t := record.Trial{Workload: "merge", Size: "10 tasks", Scheduler: name, Kind: "dask", Nodes: 1, Workers: 4, Repetition: repetition}
			r := record.Record{Status: record.StatusOK, MakespanS: seconds * (1 + 0.01*float64(repetition)), SchedulerCPUS: 2}
			if strings.HasPrefix(name, "sidekick") {
				t.Kind, t.Policy = "sidekick", "earliest-start"
				r.Decisions, r.DecisionSources, r.ServiceCPUS = 200, map[string]int{"next": 195, "ask": 5}, 0.1
				r.HitUS, r.AskUS = &record.Quantiles{P50: 0.8, P99: 12.34}, &record.Quantiles{P50: 151.2}
			}
			if name == "sidekick-stock" && repetition == 1 {
				r.Fallbacks = 1
			}
			t.ID = t.Identity()
			r.Trial = t
			run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{Trial: t})
			run.Records = append(run.Records, r)
		}
	}
	failed := slices.IndexFunc(run.Records, func(r record.Record) bool { return r.Scheduler == "dask" })
	run.Records[failed].Status = record.StatusFailed
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
		"Made by esched devel (0123456789ab) on 2026-01-02. Some CPU, 2 cores; repetitions: 5; 19 of 20 trials ok",
		"| workload | size | workers | dask (s) | sidekick-stock / dask | sidekick / dask | sidekick-stock / dask-tuned | sidekick / dask-tuned | dask-tuned / dask |",
		"| 0.75 (0.75–0.75) | 0.50 (0.50–0.50) | 0.60 (0.60–0.60) | 0.40 (0.40–0.40) | 1.25 (1.25–1.25) |",
		"| workload | size | scheduler | look-ahead p50 (µs) | p99 (µs) | asked p50 (µs) | asked (%) | placements by esched (%) | fallbacks | esched's CPU / scheduler's (%) |",
		"| merge | 10 tasks | sidekick | 0.800 | 12.3 | 151 | 2.50 | 100 | 0 | 5.00 |",
		"| merge | 10 tasks | sidekick-stock | 0.800 | 12.3 | 151 | 2.50 | 99.90 | 1 | 5.00 |",
	} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
}

// TestSeriesTable holds that several policies of a scheduler have a line each,
// with bound and memory.
func TestSeriesTable(t *testing.T) {
	t.Parallel()
	run := invented()
	for i := range run.Records {
		rec := &run.Records[i]
		rec.PerWorker = []record.WorkerShare{{Worker: "w0", BusyS: 2, PeakBytes: 100e6}, {Worker: "w1", BusyS: 2, PeakBytes: 250e6}}
		rec.DriverPeakBytes, rec.Tasks = 80e6, 11
		if rec.Scheduler == "sidekick-stock" {
			rec.Scheduler, rec.Policy = "sidekick", "random"
			rec.ID = rec.Identity()
			run.Manifest.Plan[i].Trial = rec.Trial
		}
	}
	r, err := report.Build([]*record.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	have := tables(run, r)
	for _, want := range []string{
		"| workload | size | workers | series | ok | time (s) | / dask | bound (s) | tasks | worker's peak (MB) | client's peak (MB) |",
		"| merge | 10 tasks | 4 | dask | 4 of 5 | 4.14 | – | 1.00 | 11 | 250 | 80.0 |",
		"| merge | 10 tasks | 4 | sidekick/random | 5 of 5 | 3.09 | 0.75 (0.75–0.75) | 1.00 | 11 | 250 | 80.0 |",
		"| merge | 10 tasks | 4 | sidekick/earliest-start | 5 of 5 | 2.06 | 0.50 (0.50–0.50) | 1.00 | 11 | 250 | 80.0 |",
	} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
}

// TestNoBoundOfWaitingTasks holds that tasks which were busy for longer than
// their threads had, since they waited for others, bound nothing.
func TestNoBoundOfWaitingTasks(t *testing.T) {
	t.Parallel()
	run := invented()
	for i := range run.Records {
		run.Records[i].PerWorker = []record.WorkerShare{{Worker: "w0", BusyS: 100}}
	}
	r, err := report.Build([]*record.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	if rows := r.Table(report.TableBounds).Rows; len(rows) > 0 {
		t.Errorf("have %v", rows)
	}
}

func TestPlacements(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		decisions, fallbacks int
		want                 string
	}{{0, 0, "–"}, {10, 0, "100"}, {0, 10, "0.00"}, {99_999, 1, "99.99"}, {1, 2, "33.33"}} {
		if have := placements(test.decisions, test.fallbacks); have != test.want {
			t.Errorf("%d by esched, %d by Dask: have %q, want %q", test.decisions, test.fallbacks, have, test.want)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 23, 0, 0, 0, time.FixedZone("", -2*3600))
	for _, test := range []struct {
		name string
		runs []record.Manifest
		want string
	}{
		{"built from a commit", []record.Manifest{{Esched: "v1 (abc)", Git: "abc", Started: at}}, "Made by esched v1 (abc) on 2026-01-03."},
		{"only the experiment has one", []record.Manifest{{Esched: "devel", Git: "abc-dirty", Started: at}}, "Made by esched devel, experiment of commit abc with changes on 2026-01-03."},
		{"nothing known", []record.Manifest{{Started: at}}, "Made by esched of unknown version on 2026-01-03."},
		{
			"several", []record.Manifest{{Esched: "v1", Started: at}, {Esched: "v1", Started: at}, {Esched: "v1", Started: at.AddDate(0, 0, 1)}},
			"Made by esched v1 on 2026-01-03. Made by esched v1 on 2026-01-04.",
		},
	} {
		if have := origin(test.runs...); have != test.want {
			t.Errorf("%s: want %q, have %q", test.name, test.want, have)
		}
	}
}

func TestFirstTrials(t *testing.T) {
	t.Parallel()
	enter := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return enter.Add(time.Duration(seconds) * time.Second) }
	trial := func(kind record.EventKind, seconds int, warmup bool) record.Event {
		return record.Event{Kind: kind, Time: at(seconds), Trial: &record.Trial{Warmup: warmup}}
	}
	node := func(seconds int, state string) record.Event {
		return record.Event{Kind: record.EventNode, Time: at(seconds), Node: "here", State: state}
	}
	events := []record.Event{
		{Kind: record.EventRunStarted, Time: enter}, node(1, "registered"), trial(record.EventTrialStarted, 2, true), node(3, "first-task"),
		trial(record.EventTrialEnded, 3, true), trial(record.EventTrialStarted, 4, false), node(5, "first-task"), trial(record.EventTrialStarted, 9, false),
	}
	have, err := firstTrials(events, enter)
	if err != nil || !slices.Equal(have, []float64{2, 3, 4}) {
		t.Errorf("have %v, %v, want 2, 3 and 4 s", have, err)
	}
	for want, events := range map[string][]record.Event{
		"no first trial":          events[:2],
		"no first task":           {events[2], events[5]},
		"no first measured trial": events[:5],
	} {
		if have, err := firstTrials(events, enter); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, have %v, %v", want, have, err)
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
