package record

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	if p, err := ReadProgress(dir); p != nil || err != nil {
		t.Errorf("no run: have %v, %v", p, err)
	}
	s, err := Create(dir, Manifest{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 31, 10, 4, 12, 0, time.UTC)
	for done := range 3 {
		want := Progress{Time: at, Trial: "abc", Seconds: 1.5, Done: done, Submitted: 9, TasksPerS: 0.5, Workers: 2, Busy: 1, Threads: 4, Occupied: 1,
			Sidekick: &ProgressDecisions{Decisions: 5, PerS: 2, BlockedShare: 0.25}}
		if err := s.PutProgress(want); err != nil {
			t.Fatal(err)
		}
		if have, err := ReadProgress(dir); err != nil || !reflect.DeepEqual(have, &want) {
			t.Errorf("want %+v, have %+v, %v", want, have, err)
		}
	}
	if r, err := Read(dir); err != nil || len(r.Events)+len(r.Warnings) != 0 {
		t.Errorf("a progress is among the events: %+v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ProgressFile+"*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if err := s.PutProgress(Progress{}); err == nil {
		t.Error("a closed store takes a progress")
	}
	if err := os.WriteFile(filepath.Join(dir, ProgressFile), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadProgress(dir); p != nil || err == nil {
		t.Errorf("torn: have %v, %v", p, err)
	}
}
