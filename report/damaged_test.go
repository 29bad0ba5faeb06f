package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

// onDisk writes an invented run into a directory.
func onDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	run := reporttest.Trace(reporttest.Run(reporttest.Shape{Sizes: []int{500, 1000}, Workers: []int{2, 4}, Policies: []string{"random"}}))
	s, err := record.Create(dir, run.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range run.Records {
		if err := s.AppendRecord(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDamagedRuns reads damaged, partial and mixed run directories: the report
// says what is missing and shows the rest.
func TestDamagedRuns(t *testing.T) {
	t.Parallel()
	edit := func(name string, change func(b []byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(b), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
		trials int // of 24
	}{
		{"timelines gone", func(*testing.T, string) {}, "Times of tasks that cannot be read", 24},
		{"no manifest", remove(record.ManifestFile), "run.json is missing", 24},
		{"manifest cut off", edit(record.ManifestFile, func(b []byte) []byte { return b[:len(b)/2] }), "run.json is damaged", 24},
		{"manifest of a later version", edit(record.ManifestFile, func(b []byte) []byte { return bytes.Replace(b, []byte(`"schema": 1`), []byte(`"schema": 99`), 1) }), "schema 99", 24},
		{"no events", remove(record.EventsFile), "events.jsonl is missing", 24},
		{"last record torn", edit(record.TrialsFile, func(b []byte) []byte { return b[:len(b)-9] }), "is torn and was dropped", 23},
		{"a record damaged", edit(record.TrialsFile, func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[1] = []byte("\x00\x00garbage\n")
			return bytes.Join(lines, nil)
		}), "line 2 was left out", 23},
		{"a record of a later version", edit(record.TrialsFile, func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[1] = bytes.Replace(lines[1], []byte(`"schema":1`), []byte(`"schema":99`), 1)
			return bytes.Join(lines, nil)
		}), "schema 99", 23},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := onDisk(t)
			test.damage(t, dir)
			r := readAndBuild(t, dir)
			if careful := strings.Join(r.Careful, "\n"); !strings.Contains(careful, test.want) {
				t.Errorf("careful: have %q, want it to contain %q", careful, test.want)
			}
			if have := len(r.Table(report.TableTrials).Rows); have != test.trials {
				t.Errorf("have %d trials, want %d", have, test.trials)
			}
			for _, id := range []string{"makespan-montecarlo", "ratio-montecarlo", "workers-montecarlo"} {
				if !slices.ContainsFunc(r.Figures, func(f charts.Figure) bool { return f.ID == id }) {
					t.Errorf("no figure %s", id)
				}
			}
			compareForms(t, r)
		})
	}
	t.Run("a whole and a damaged one", func(t *testing.T) {
		t.Parallel()
		whole, damaged := onDisk(t), onDisk(t)
		remove(record.ManifestFile)(t, damaged)
		r := readAndBuild(t, whole, damaged)
		if have := len(r.Table(report.TableTrials).Rows); have != 48 {
			t.Errorf("have %d trials, want 48", have)
		}
		if careful := strings.Join(r.Careful, "\n"); !strings.Contains(careful, "run.json is missing") {
			t.Errorf("careful: %s", careful)
		}
	})
}

func readAndBuild(t *testing.T, dirs ...string) *report.Report {
	t.Helper()
	var runs []*record.Run
	for _, dir := range dirs {
		run, err := record.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	r, err := report.BuildWith(runs, report.Options{Timeline: (*record.Run).Timeline})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
