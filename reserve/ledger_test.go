package reserve_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "ledger")
	l := reserve.OpenLedger(dir)
	entries := func(want ...reserve.Entry) {
		t.Helper()
		have, err := reserve.OpenLedger(dir).Entries()
		if err != nil || len(have) != len(want) || len(want) > 0 && !reflect.DeepEqual(have, want) {
			t.Errorf("want %v, have %v, %v", want, have, err)
		}
	}
	entries()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	younger := reserve.Entry{Kind: "slurm", ID: "a/../b", Run: "/run/1", Made: at.Add(time.Second)}
	older := reserve.Entry{Kind: "slurm", ID: "7", Run: "/run/2", Made: at, Cluster: "das6"}
	for _, e := range []reserve.Entry{younger, older, older} {
		if err := l.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	entries(older, younger)
	renamed, err := l.Rename(older, "8")
	if err != nil || renamed.ID != "8" {
		t.Errorf("rename: %+v, %v", renamed, err)
	}
	entries(renamed, younger)
	for range 2 {
		if err := l.Remove(younger.Kind, younger.ID); err != nil {
			t.Error(err)
		}
	}
	entries(renamed)
	if err := l.Add(reserve.Entry{Kind: "slurm"}); err == nil {
		t.Error("entry without an id: want an error")
	}
}

func TestCorruptLedgerIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{
		{"torn", `{"kind":"slurm","id":"7`}, {"empty", ""}, {"strange", `{"kind":"slurm"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "slurm-7.json"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := reserve.OpenLedger(dir).Entries(); err == nil || hint.Of(err) == "" {
				t.Errorf("want an error with a hint, have %v", err)
			}
		})
	}
}
