package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

// complete is a report with every figure and table there is.
func complete(t testing.TB, layout report.Layout) *report.Report {
	t.Helper()
	runs := []*record.Run{reporttest.Trace(reporttest.Run(reporttest.Shape{})),
		reporttest.Trace(reporttest.Run(reporttest.Shape{Seed: 2, Workload: "taxi-sql", Sizes: []int{10, 20}, Workers: []int{2, 4}}))}
	r, err := report.BuildWith(runs, report.Options{Timeline: reporttest.Timeline, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAllFigures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		layout report.Layout
		want   []string
	}{
		{"usual", report.LayoutUsual, []string{"heat", "makespan-montecarlo", "ratio-montecarlo", "workers-montecarlo", "speedup-montecarlo", "utilization-montecarlo",
			"makespan-taxi-sql", "busy", "slowdown", "gantt-1", "gantt-2", "decision-latency", "overhead", "clocks"}},
		{"paper", report.LayoutPaper, []string{"figure-2", "figure-3", "figure-4", "figure-5", "figure-6", "figure-7", "heat", "slowdown", "gantt-1", "decision-latency", "overhead", "clocks"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := complete(t, test.layout)
			var have []string
			for _, f := range r.Figures {
				have = append(have, f.ID)
				if err := f.Lawful(); err != nil {
					t.Errorf("%s: %v", f.ID, err)
				}
			}
			for _, id := range test.want {
				if !slices.Contains(have, id) {
					t.Errorf("no figure %s in %q", id, have)
				}
			}
			slices.Sort(have)
			if unique := slices.Compact(slices.Clone(have)); len(unique) != len(have) {
				t.Errorf("an ID twice: %q", have)
			}
			for _, text := range r.Careful {
				if strings.Contains(text, "left out") || strings.Contains(text, "is missing") {
					t.Errorf("careful: %s", text)
				}
			}
			for _, id := range []string{report.TablePublished, report.TableSpread, report.TableTests, report.TableBounds, report.TableOverhead} {
				if len(r.Table(id).Rows) == 0 {
					t.Errorf("table %s is empty", id)
				}
			}
			compareForms(t, r)
			compareDrawings(t, r)
		})
	}
}

// TestPaperSections holds that the sections of the paper's layout follow one
// another, whatever was run.
func TestPaperSections(t *testing.T) {
	t.Parallel()
	var runs []*record.Run
	for i, workload := range []string{"montecarlo", "taxi-sql", "pipeline", "synthetic", "tree"} {
		runs = append(runs, reporttest.Run(reporttest.Shape{Seed: uint64(i + 1), Workload: workload, Sizes: []int{10, 20}, Workers: []int{2, 4}}))
	}
	r, err := report.BuildWith(runs, report.Options{Layout: report.LayoutPaper})
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, f := range r.Figures {
		have = append(have, f.Group)
	}
	want := []string{"5.3 Monte Carlo: bags of tasks", "5.4 SQL queries", "5.5 Pipeline, which the lab report left out",
		"5.6 Workload synthetic", "5.7 Workload tree", "5.8 What the lab report could not show"}
	if have = slices.Compact(have); !slices.Equal(have, want) {
		t.Errorf("want %q\nhave %q", want, have)
	}
}

var (
	plotPattern   = regexp.MustCompile(`data-plot="([0-9.]+) ([0-9.]+) ([0-9.]+) ([0-9.]+)"`)
	symbolPattern = regexp.MustCompile(`translate\(([0-9.]+) ([0-9.]+)\)" d="[^"]*" fill="[^"]*" data-x="([^"]*)" data-y="([^"]*)"`)
	barPattern    = regexp.MustCompile(`<rect x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)"[^>]* data-x="([^"]*)" data-y="([^"]*)" data-to="([^"]*)"`)
)

// compareDrawings holds that SVGs have the figures' numbers, and have them
// where they belong.
func compareDrawings(t *testing.T, r *report.Report) {
	t.Helper()
	for i, file := range r.FigureFiles() {
		f := r.Figures[i]
		var b bytes.Buffer
		if err := file.Write(&b); err != nil {
			t.Fatal(err)
		}
		svg := b.String()
		plot := floats(t, plotPattern.FindStringSubmatch(svg)[1:])
		at := func(a charts.Axis, v float64) float64 {
			switch {
			case len(a.Categories) > 0:
				return (v + 0.5) / float64(len(a.Categories))
			case a.Log:
				return math.Log(v/a.Min) / math.Log(a.Max/a.Min)
			}
			return (v - a.Min) / (a.Max - a.Min)
		}
		var have []string
		for _, m := range symbolPattern.FindAllStringSubmatch(svg, -1) {
			v := floats(t, m[1:])
			have = append(have, m[3]+" "+m[4])
			y := plot[1] + plot[3]*(1-at(f.Y, v[3]))
			if len(f.Y.Categories) > 0 {
				y = plot[1] + plot[3]*at(f.Y, v[3])
				if x := plot[0] + plot[2]*at(f.X, v[2]); math.Abs(x-v[0]) > 0.02 {
					t.Errorf("%s: x of %s is at %g, want %g", f.ID, m[3], v[0], x)
				}
			}
			if math.Abs(y-v[1]) > 0.02 {
				t.Errorf("%s: y of %s is at %g, want %g", f.ID, m[4], v[1], y)
			}
		}
		for _, m := range barPattern.FindAllStringSubmatch(svg, -1) {
			v := floats(t, m[1:])
			have = append(have, m[3]+" "+m[4]+" "+m[5])
			if x, w := plot[0]+plot[2]*at(f.X, v[2]), plot[2]*(at(f.X, v[4])-at(f.X, v[2])); math.Abs(x-v[0]) > 0.02 || math.Abs(max(w, 0.6)-v[1]) > 0.02 {
				t.Errorf("%s: bar from %s to %s is at %g, %g wide; want %g, %g", f.ID, m[3], m[5], v[0], v[1], x, w)
			}
		}
		want := drawnNumbers(t, f)
		slices.Sort(have)
		if !slices.Equal(have, want) {
			t.Errorf("%s: the drawing has %d points, want %d: %q, %q", f.ID, len(have), len(want), have[:min(3, len(have))], want[:min(3, len(want))])
		}
	}
}

// drawnNumbers are the numbers that a drawing of the figure has to have.
func drawnNumbers(t *testing.T, f charts.Figure) []string {
	t.Helper()
	var want []string
	for _, m := range f.Marks {
		for _, p := range m.Point {
			words := []string{text(t, p.X), text(t, p.Y)}
			switch m.Shape {
			case charts.Bars, charts.Thin:
				words = append(words, text(t, *p.To))
			case charts.Dots, charts.Line:
			default:
				continue
			}
			want = append(want, strings.Join(words, " "))
		}
	}
	slices.Sort(want)
	return want
}

func text(t *testing.T, v float64) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func floats(t *testing.T, words []string) []float64 {
	t.Helper()
	var all []float64
	for _, w := range words {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

func TestTableFiles(t *testing.T) {
	t.Parallel()
	r := complete(t, report.LayoutUsual)
	names := make(map[string]bool)
	for _, f := range r.TableFiles() {
		if err := f.Write(io.Discard); err != nil || names[f.Name] || strings.ContainsAny(f.Name, "/ ") {
			t.Errorf("file %q: %v, twice: %t", f.Name, err, names[f.Name])
		}
		names[f.Name] = true
	}
	for _, name := range []string{"trials.csv", "trials.tex", "cells.csv", "data-heat.tex"} {
		if !names[name] {
			t.Errorf("no file %s", name)
		}
	}
}

// TestUnreadableTimelines holds that a report is made without them, and says
// so.
func TestUnreadableTimelines(t *testing.T) {
	t.Parallel()
	run := reporttest.Trace(reporttest.Run(reporttest.Shape{Sizes: []int{500}, Workers: []int{2}}))
	r, err := report.BuildWith([]*record.Run{run}, report.Options{Timeline: func(*record.Run, *record.Record) (*record.Timeline, error) {
		return nil, fmt.Errorf("timeline x: damaged")
	}})
	if err != nil {
		t.Fatal(err)
	}
	careful := strings.Join(r.Careful, "\n")
	if !strings.Contains(careful, "timeline x: damaged") || !strings.Contains(careful, "Traced:") || len(r.Figures) == 0 {
		t.Errorf("careful: %s", careful)
	}
}

// TestUtilizationByHand works out what two overlapping tasks mean.
func TestUtilizationByHand(t *testing.T) {
	t.Parallel()
	run := hand()
	for i := range run.Records {
		run.Records[i].Timeline = "tasks/x"
	}
	// Two workers with two threads each: one thread is busy all the time, one
	// half of it.
	timeline := &record.Timeline{Schema: 1, Tasks: 2, Every: 1, WorkS: 3, PathS: 2, Prefixes: []string{"p"}, Workers: []string{"a"},
		Spans: []record.Span{{From: 0, To: 2}, {Ready: 0.5, From: 1, To: 2}}}
	r, err := report.BuildWith([]*record.Run{run}, report.Options{Timeline: func(*record.Run, *record.Record) (*record.Timeline, error) { return timeline, nil }})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Figures, func(f charts.Figure) bool { return f.ID == "busy" })
	if i < 0 {
		t.Fatal("no figure busy")
	}
	points := r.Figures[i].Marks[0].Point
	if first, late := points[0].Y, points[60].Y; math.Abs(first-0.25) > 1e-9 || math.Abs(late-0.5) > 1e-9 {
		t.Errorf("busy: have %g and %g, want 0.25 and 0.5", first, late)
	}
	i = slices.IndexFunc(r.Figures, func(f charts.Figure) bool { return f.ID == "gantt-1" })
	if rows := r.Figures[i].Y.Categories; !slices.Equal(rows, []string{"a", "a (thread 2)"}) {
		t.Errorf("rows of the Gantt chart: %q", rows)
	}
	// At the least 6 s of work over 4 threads; the chain of 2 s is longer.
	if have := boundsOf(t, r)[2]; have != 2 {
		t.Errorf("bound: have %g, want 2", have)
	}
}
