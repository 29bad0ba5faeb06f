package cmd

import (
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/runners/record"
)

// madeRun writes a run of two trials, one ok and one failed.
func madeRun(t *testing.T, s *shell, ended bool) *record.Store {
	t.Helper()
	a := record.Trial{Workload: "montecarlo", Size: "10 chunks", Scheduler: "dask", Kind: "dask", Nodes: 1, Workers: 2, Threads: 1, Repetition: 1}
	a.ID = a.Identity()
	b := a
	b.Repetition = 2
	b.ID = b.Identity()
	m := record.Manifest{ID: "one", Name: "one", Started: time.Now(), Plan: []record.Planned{{Trial: a, Order: 1}, {Trial: b, Order: 2}}}
	if ended {
		m.Ended = time.Now()
	}
	store, err := record.Create(s.p.path("runs/one"), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	for _, r := range []record.Record{
		{Trial: a, Status: record.StatusOK, Order: 1, MakespanS: 1.5, Started: time.Now()},
		{Trial: b, Status: record.StatusFailed, Order: 2, Error: "ValueError: no", Started: time.Now()},
	} {
		if err := store.AppendRecord(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.AppendEvent(record.Event{Time: time.Now(), Kind: record.EventWarning, Message: "odd"}); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("status").wants(t, 2, nil, []string{"no run in runs", "Try: "})
	s.esched("status", "nowhere").wants(t, 2, nil, []string{"nowhere", "Try: "})
	store := madeRun(t, s, false)
	s.esched("status").wants(t, 0, []string{"runs/one: going on, 2 of 2 trials recorded, 1 ok", "failed", "ValueError: no", "last: "}, nil)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s.esched("status", "runs/one").wants(t, 0, []string{"stopped", "complete it with: esched run --resume runs/one"}, nil)
	var f runFacts
	s.esched("status", "--json").into(t, &f)
	if f.Planned != 2 || f.Trials[record.StatusOK] != 1 || len(f.Failures) != 1 || f.Last == nil || f.Error != "" || f.Log != "" {
		t.Errorf("have %+v", f)
	}
	s.write("runs/one/"+record.ManifestFile, `{"schema": 1, "na`)
	r := s.esched("status")
	r.wants(t, 0, []string{"warning: run.json is damaged"}, nil)
	if strings.Contains(r.stdout, "0001-") {
		t.Errorf("a time that nobody knows:\n%s", r.stdout)
	}
}
