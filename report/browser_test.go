package report_test

import (
	"encoding/json"
	"fmt"
	"math"
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
	r, err := report.BuildWith(runs, report.Options{Timeline: reporttest.Timeline})
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

// TestInBrowser looks at reports as people do, on a desk and on a telephone,
// by day and by night. The pictures are kept with -artifacts.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	program := need.Program(t, "chromium")
	single := reporttest.Run(reporttest.Shape{Sizes: []int{2000}, Workers: []int{4}, Repetitions: 1})
	wide := reporttest.Run(reporttest.Shape{Sizes: []int{1000, 70000000}, Workers: []int{8, 64}, Repetitions: 6, Noise: 0.2})
	tests := []struct {
		name string
		runs []*record.Run
		look browser.Look
	}{
		{"full-light", full(), browser.Look{}},
		{"full-dark", full(), browser.Look{Dark: true}},
		{"full-narrow-light", full(), browser.Look{Width: 390}},
		{"full-narrow-dark", full(), browser.Look{Width: 390, Dark: true}},
		{"single", []*record.Run{single}, browser.Look{}},
		{"wide", []*record.Run{wide}, browser.Look{}},
		{"wide-narrow-dark", []*record.Run{wide}, browser.Look{Width: 390, Dark: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := build(t, test.runs...)
			look := test.look
			look.Program, look.Screenshot = program, true
			look.Steps = []browser.Step{{Ask: colours}, {Click: "#trials tbody td"}, {Ask: `document.querySelectorAll('#trials tr.open dd').length`}, {Ask: values}}
			page, err := browser.Open(t.Context(), writeHTML(t, r), look)
			if err != nil {
				t.Fatal(err)
			}
			keep(t, test.name+".png", page.PNG)
			checkPage(t, r, page)
			checkColours(t, page.Answers[0], look.Dark)
			checkValues(t, r, page.Answers[2], look.Width == 390)
			if have := answer[int](t, page.Answers[1]); have == 0 {
				t.Error("a row of the table of trials opened no facts")
			}
		})
	}
}

// full is two runs with all that a report can show.
func full() []*record.Run {
	whole := reporttest.Trace(reporttest.Run(reporttest.Shape{Baselines: []string{"dask", "dask-no-steal"}, FailEvery: 41}))
	sql := reporttest.Run(reporttest.Shape{Seed: 2, Workload: "taxi-sql", Sizes: []int{10, 20, 30}, Workers: []int{4}, Policies: []string{"random", "earliest-start"}})
	sql.Manifest.ID = "2026-01-16T10-00-00-invented"
	return []*record.Run{whole, sql}
}

// keep writes a picture or a printed page where -artifacts wants it.
func keep(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.ArtifactDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// answer decodes what a step asked for.
func answer[T any](t *testing.T, data json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("answer %s: %v", data, err)
	}
	return v
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
		for _, pair := range c.Overlaps {
			t.Errorf("%s: texts %q and %q overlap", f.ID, pair[0], pair[1])
		}
		if text := strings.Join(c.Texts, " "); strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
			t.Errorf("%s: have texts %q", f.ID, text)
		}
	}
}

// colours asks for the page's background and for the colours of texts on it,
// in figures and outside, each with an example.
const colours = `(() => {
	const texts = {};
	document.querySelectorAll('.chart svg text').forEach((e) => { texts[getComputedStyle(e).fill] = e.textContent; });
	document.querySelectorAll('h1,h2,h3,p,li,summary,figcaption,a').forEach((e) => { texts[getComputedStyle(e).color] = e.textContent.slice(0, 30); });
	return {paper: getComputedStyle(document.body).backgroundColor, texts};
})()`

// checkColours holds that the page follows the wish for a dark one, and that
// its texts have the contrast of WCAG 2.1, success criterion 1.4.3.
func checkColours(t *testing.T, data json.RawMessage, dark bool) {
	t.Helper()
	have := answer[struct {
		Paper string            `json:"paper"`
		Texts map[string]string `json:"texts"`
	}](t, data)
	paper := luminance(t, have.Paper)
	if (paper < 0.5) != dark {
		t.Errorf("the background is %s, want a dark one: %t", have.Paper, dark)
	}
	if len(have.Texts) < 3 {
		t.Errorf("the page has texts in %d colours only", len(have.Texts))
	}
	for colour, text := range have.Texts {
		ink := luminance(t, colour)
		if ratio := (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05); ratio < 4.5 {
			t.Errorf("%q in %s on %s has contrast %.2f, want 4.5", text, colour, have.Paper, ratio)
		}
	}
}

// luminance is WCAG's relative luminance of a colour "rgb(r, g, b)".
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var c [3]float64
	if _, err := fmt.Sscanf(colour, "rgb(%f, %f, %f)", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	for i, v := range c {
		if v /= 255; v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
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
