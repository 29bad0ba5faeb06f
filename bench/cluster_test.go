package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/runners/record"
)

// TestClusterTables reads a claim of 100 s with 40 s inside trials that count.
func TestClusterTables(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	write := func(calls string, events []record.Event, records ...record.Record) string {
		dir := filepath.Join(t.TempDir(), "run")
		store, err := record.Create(dir, record.Manifest{Started: at.Add(-20 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if err := store.AppendEvent(e); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range records {
			if err := store.AppendRecord(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if calls != "" {
			if err := os.WriteFile(filepath.Join(dir, squeueLog), []byte(calls), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	queue := func(seconds int, state string) record.Event {
		return record.Event{Time: at.Add(time.Duration(seconds) * time.Second), Kind: record.EventReservation, State: state}
	}
	node := func(seconds int, name, state string) record.Event {
		return record.Event{Time: at.Add(time.Duration(seconds) * time.Second), Kind: record.EventNode, Node: name, State: state}
	}
	trial := func(id string, seconds float64, status record.Status, warmup bool) record.Record {
		return record.Record{Trial: record.Trial{ID: id, Workload: "montecarlo", Scheduler: "dask", Nodes: 2, Repetition: 1, Warmup: warmup}, Status: status, RunS: seconds}
	}
	events := []record.Event{
		queue(0, "running"), node(0, "a", "granted"), node(0, "b", "granted"), node(1, "a", "ssh"), node(2, "b", "ssh"),
		{Time: at.Add(10 * time.Second), Kind: record.EventTrialStarted}, {Time: at.Add(12 * time.Second), Kind: record.EventTrialEnded},
		{Time: at.Add(13 * time.Second), Kind: record.EventTrialStarted}, node(3, "a/w0", "process"), node(4, "a", "process"), node(9, "b", "process"), node(12, "a", "first-task"), node(30, "a", "process"),
		queue(100, "released"),
	}
	good := write("1.5\n2.5\n3\n4\n", events, trial("w", 10, record.StatusOK, true), trial("x", 40, record.StatusOK, false), trial("y", 10, record.StatusFailed, false))
	if err := os.WriteFile(filepath.Join(good, memoryLog), []byte("1 1 1000\n2 2 195313\n3 1 90000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	have, err := clusterTables([]string{good})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Made by esched of unknown version on 2026-01-02.", "| 2 | Dask's | 100 | 10.0 | 12.0 | 100 | 40.0 | 20.0 | 4 | 2.0 | 1 of 2 |", "| 2 | 2.0 | - | - | 9.0 | - | - |"} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
	if err := os.WriteFile(filepath.Join(good, memoryLog), []byte("1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if have, err := clusterTables([]string{good}); err == nil {
		t.Errorf("bad log of memory: want an error, have\n%s", have)
	}
	for name, dir := range map[string]string{
		"no log":     write("", events),
		"bad log":    write("never\n", events),
		"no release": write("1\n", events[:3]),
		"no run":     t.TempDir(),
	} {
		if have, err := clusterTables([]string{dir}); err == nil {
			t.Errorf("%s: want an error, have\n%s", name, have)
		}
	}
}

// TestCluster runs a tiny plan on two nodes, the way "bench/run.sh cluster" does.
func TestCluster(t *testing.T) {
	slurmworld.Need(t)
	t.Setenv("NODES", "2")
	have := runScript(t, "cluster")
	for _, want := range []string{"## Clusters", "| 2 of 2 |", "| nodes | ssh |", "Simulated clock", "were inside trials"} {
		if !strings.Contains(have, want) {
			t.Errorf("want %q in\n%s", want, have)
		}
	}
	// The memory of workers is sampled, and may be missing in a run this short.
	_, ladder, _ := strings.Cut(have, "| nodes | ssh |")
	if strings.Contains(ladder, " - |") {
		t.Errorf("want a time for each rung, have\n%s", have)
	}
}
