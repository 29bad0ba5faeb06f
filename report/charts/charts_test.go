package charts_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/esched/esched/report/charts"
)

func figure() charts.Figure {
	return charts.Figure{
		ID: "f", Title: "t", Aid: "a", Alt: "d", N: 3,
		X: charts.Axis{Name: "workers", Max: 10}, Y: charts.Axis{Name: "makespan (s)", Max: 5},
		Marks: []charts.Mark{
			{Series: "a <b> & c", Color: 1, Shape: charts.Line, Point: []charts.Point{{X: 1, Y: 4, Lo: new(3.5), Hi: new(6.0)}, {X: 8, Y: 1}}},
			{Series: "ideal", Color: charts.Ideal, Shape: charts.Dashed, Point: []charts.Point{{X: 1, Y: 4}, {X: 8, Y: 0.5}}},
		},
	}
}

func TestLawful(t *testing.T) {
	t.Parallel()
	if err := figure().Lawful(); err != nil {
		t.Fatalf("a figure with all it needs: %v", err)
	}
	tests := []struct {
		name  string
		spoil func(f *charts.Figure)
		want  string
	}{
		{"no title", func(f *charts.Figure) { f.Title = "" }, "no title"},
		{"no n", func(f *charts.Figure) { f.N = 0 }, "no number of trials"},
		{"no unit", func(f *charts.Figure) { f.Y.Name = "makespan" }, "no unit"},
		{"axis cut off", func(f *charts.Figure) { f.Y.Min = 1 }, "does not begin at 0"},
		{"log unsaid", func(f *charts.Figure) { f.Y.Log, f.Y.Min = true, 1 }, "logarithmic"},
		{"no ideal", func(f *charts.Figure) { f.Marks = f.Marks[:1] }, "no ideal line"},
		{"bare ratio", func(f *charts.Figure) { f.Parity = new(1.0) }, "absolute times"},
		{"line over policies", func(f *charts.Figure) { f.Y.Categories = []string{"random", "best"} }, "without an order"},
		{"not finite", func(f *charts.Figure) { f.Marks[0].Point[0].Hi = new(math.Inf(1)) }, "not finite"},
		{"nothing", func(f *charts.Figure) { f.Marks = nil }, "nothing to show"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := figure()
			test.spoil(&f)
			if err := f.Lawful(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("have %v, want %q", err, test.want)
			}
		})
	}
}

// TestSVGIsXML holds that names from outside do not break a drawing.
func TestSVGIsXML(t *testing.T) {
	t.Parallel()
	for _, values := range []bool{true, false} {
		svg := charts.SVG(figure(), charts.OnPaper, values)
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
		}
		if strings.Contains(svg, "var(") || strings.Contains(svg, `data-x="8"`) != values {
			t.Errorf("values %t: have %s", values, svg)
		}
	}
}

// TestPaperHasThePrintedColours compares the colours of exported figures with
// those that the page is printed in.
func TestPaperHasThePrintedColours(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("../assets/report.css")
	if err != nil {
		t.Fatal(err)
	}
	_, sheet, ok := strings.Cut(string(css), "@media print")
	if !ok {
		t.Fatal("no style for print")
	}
	colours := make(map[string]string)
	for _, m := range regexp.MustCompile(`(--[a-z]+[0-9]?): (#[0-9a-f]{6})`).FindAllStringSubmatch(sheet, -1) {
		colours[m[1]] = m[2]
	}
	names := []string{"--ink", "--muted", "--grid", "--axis", charts.ColorName(charts.Ideal)}
	for i := range charts.Colors {
		names = append(names, charts.ColorName(i))
	}
	for i := range charts.Parts {
		names = append(names, charts.ColorName(charts.Part(i)))
	}
	for i := range charts.Shades {
		names = append(names, charts.ColorName(charts.Shade(i)))
	}
	for _, name := range names {
		if have, want := charts.OnPaper(name), colours[name]; have != want || want == "" {
			t.Errorf("%s: have %s, want %s", name, have, want)
		}
	}
}
