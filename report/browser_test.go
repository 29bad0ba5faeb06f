package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/internal/browser"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/report"
	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

func build(t testing.TB, runs ...*record.Run) *report.Report {
	t.Helper()
	r, err := report.Build(runs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writeHTML(t testing.TB, r *report.Report) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInBrowser looks at reports as people do. The pictures are kept with
// -artifacts.
func TestInBrowser(t *testing.T) {
	program := need.Program(t, "chromium")
	full := reporttest.Run(reporttest.Shape{Baselines: []string{"dask", "dask-no-steal"}, FailEvery: 41})
	sql := reporttest.Run(reporttest.Shape{Seed: 2, Workload: "taxi-sql", Sizes: []int{10, 20, 30}, Workers: []int{4}, Policies: []string{"random", "earliest-start"}})
	sql.Manifest.ID = "2026-01-16T10-00-00-invented"
	single := reporttest.Run(reporttest.Shape{Sizes: []int{2000}, Workers: []int{4}, Repetitions: 1})
	wide := reporttest.Run(reporttest.Shape{Sizes: []int{1000, 70000000}, Workers: []int{8, 64}, Repetitions: 6, Noise: 0.2})
	tests := []struct {
		name string
		runs []*record.Run
		look browser.Look
	}{
		{"full-light", []*record.Run{full, sql}, browser.Look{Print: true}},
		{"full-dark", []*record.Run{full, sql}, browser.Look{Dark: true}},
		{"full-narrow", []*record.Run{full, sql}, browser.Look{Width: 390}},
		{"single", []*record.Run{single}, browser.Look{}},
		{"wide-narrow-dark", []*record.Run{wide}, browser.Look{Width: 390, Dark: true}},
		{"wide", []*record.Run{wide}, browser.Look{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := build(t, test.runs...)
			look := test.look
			look.Program, look.Screenshot = program, true
			look.Script = `(document.querySelector('#trials tbody tr').click(), document.querySelectorAll('#trials tr.open dd').length)`
			page, err := browser.Open(t.Context(), writeHTML(t, r), look)
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string][]byte{test.name + ".png": page.PNG, test.name + ".pdf": page.PDF} {
				if data == nil {
					continue
				}
				if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			checkPage(t, r, page)
		})
	}
}

func checkPage(t *testing.T, r *report.Report, page *browser.Page) {
	t.Helper()
	if len(page.Errors) > 0 {
		t.Errorf("errors on the console: %q", page.Errors)
	}
	if len(page.Requests) > 0 {
		t.Errorf("requests to the network: %q", page.Requests)
	}
	if page.Overflow > 0 {
		t.Errorf("the page is %d pixels too wide", page.Overflow)
	}
	if have := string(page.Value); have == "0" || have == "" {
		t.Errorf("a row of the table of trials opened %q facts", have)
	}
	if len(page.Charts) != len(r.Figures) {
		t.Errorf("have %d charts, want %d", len(page.Charts), len(r.Figures))
	}
	for _, f := range r.Figures {
		c := page.Charts[f.ID]
		if want := f.NumberOfMarks() + intervals(f); c.Shapes < want {
			t.Errorf("%s: have %d shapes, want at least %d for its marks and intervals", f.ID, c.Shapes, want)
		}
		if len(c.Clipped) > 0 {
			t.Errorf("%s: texts beyond its edge: %q", f.ID, c.Clipped)
		}
		if text := strings.Join(c.Texts, " "); strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
			t.Errorf("%s: have texts %q", f.ID, text)
		}
	}
}

func intervals(f charts.Figure) int {
	n := 0
	for _, m := range f.Marks {
		for _, p := range m.Point {
			if p.Lo != nil {
				n += 3 // a line and two caps
			}
		}
	}
	return n
}

func TestNothingToAskFor(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(writeHTML(t, build(t, reporttest.Run(reporttest.Shape{}))))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script src", "<link href", "go-echarts.github.io", "NaN<", "__f__"} {
		if strings.Contains(string(b), bad) {
			t.Errorf("the page contains %s", fmt.Sprintf("%q", bad))
		}
	}
}
