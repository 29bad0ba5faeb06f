package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/esched/esched/internal/browser"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/report"
	"github.com/esched/esched/report/assets"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

func compare(t fataler, a, b *record.Run, o report.CompareOptions) *report.Comparison {
	t.Helper()
	c, err := report.Compare(a, b, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return c
}

// timed is a run of one cell with these times, planned in their order.
func timed(seed int64, times ...float64) *record.Run {
	run := &record.Run{Manifest: record.Manifest{Schema: 1, ID: "r", Name: "hand", Seed: seed}}
	for i, s := range times {
		t := record.Trial{Workload: "w", Size: "10 things", Scheduler: "sidekick", Kind: "sidekick", Policy: "random", Nodes: 1, Workers: 2, Threads: 1, Repetition: i + 1}
		t.ID = t.Identity()
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{Trial: t, Order: i + 1})
		run.Records = append(run.Records, record.Record{Schema: 1, Trial: t, Status: record.StatusOK, MakespanS: s, Order: i + 1, ResultDigest: "d"})
	}
	return run
}

func TestCompareByHand(t *testing.T) {
	t.Parallel()
	a := timed(1, 4, 6, 9, 100)
	b := timed(1, 2, 3, 4.5) // always half of A; the fourth has no partner
	c := compare(t, a, b, report.CompareOptions{})
	if !c.Paired || len(c.Cells) != 1 || len(c.Uncompared) != 0 {
		t.Fatalf("have %+v", c)
	}
	x := c.Cells[0]
	if math.Abs(x.Ratio.Value-0.5) > 1e-12 || x.Ratio.N != 3 || !x.Ratio.Paired || x.Ratio.Verdict != "faster" || math.Abs(x.Ratio.Interval.Lo-0.5) > 1e-12 {
		t.Errorf("ratio: have %+v", x.Ratio)
	}
	if x.A.N != 3 || math.Abs(x.A.GeoMean-6) > 1e-12 || math.Abs(x.B.GeoMean-3) > 1e-12 {
		t.Errorf("times: have %+v and %+v, want those of the three pairs", x.A, x.B)
	}
	// B less A is -2, -3, -4.5: mean -19/6, standard deviation √(19/12), t(2) = 4.3027.
	d, half := x.Difference, 4.302652729749462*math.Sqrt(19.0/12)/math.Sqrt(3)
	if math.Abs(d.Value+19.0/6) > 1e-12 || math.Abs(d.Interval.Lo-(d.Value-half)) > 1e-9 || math.Abs(d.Interval.Hi-(d.Value+half)) > 1e-9 {
		t.Errorf("difference: have %+v %+v, want -19/6 and half a width of %g", d, d.Interval, half)
	}
	// Three pairs of one sign: p = 2/8. Of 9 comparisons B is larger in one
	// (4.5 and 4).
	if x.Test.P != 0.25 || *x.HolmP != 0.25 || math.Abs(x.A12-1.0/9) > 1e-12 || x.Effect != "large" {
		t.Errorf("test: have %+v, A12 %g, effect %s", x.Test, x.A12, x.Effect)
	}
	if want := "On w 10 things with 2 workers, sidekick/random, B took 0.50 [0.50, 0.50] times as long as A."; c.Headline != want {
		t.Errorf("headline: have %q, want %q", c.Headline, want)
	}
}

func TestComparePairing(t *testing.T) {
	t.Parallel()
	shape := reporttest.Shape{Repetitions: 3}
	headless := reporttest.Run(shape)
	headless.Manifest = record.Manifest{}
	shuffled := reporttest.Run(shape)
	plan := shuffled.Manifest.Plan
	plan[0].Order, plan[1].Order = plan[1].Order, plan[0].Order
	more, other := shape, shape
	more.Repetitions = 5
	other.Seed = 9
	fewer := reporttest.Shape{Repetitions: 3, Policies: []string{"random"}}
	for _, test := range []struct {
		name string
		b    *record.Run
		want bool
		why  string
	}{
		{"the same", reporttest.Run(shape), true, "both runs have seed 0"},
		{"more repetitions", reporttest.Run(more), true, "both runs have seed 0"},
		{"another seed", reporttest.Run(other), false, "seeds differ (0 and 9)"},
		{"another order", shuffled, false, "the same trials in the same order"},
		{"other policies", reporttest.Run(fewer), false, "the same trials in the same order"},
		{"no manifest", headless, false, "manifest of a run is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := compare(t, reporttest.Run(shape), test.b, report.CompareOptions{})
			if c.Paired != test.want || !strings.Contains(c.Pairing, test.why) {
				t.Errorf("have %t, %q; want %t, %q", c.Paired, c.Pairing, test.want, test.why)
			}
			for _, x := range c.Cells {
				if x.Ratio.Paired != test.want || x.Difference.Paired != test.want {
					t.Fatalf("%s: ratio paired %t, difference %t", x.Series, x.Ratio.Paired, x.Difference.Paired)
				}
			}
		})
	}
}

// TestCompareSaysWhatItCannot holds the warnings that a comparison owes.
func TestCompareSaysWhatItCannot(t *testing.T) {
	t.Parallel()
	small := reporttest.Shape{Sizes: []int{500}, Workers: []int{2}, Policies: []string{"random"}, Repetitions: 6}
	change := func(f func(r *record.Run)) *record.Run { r := reporttest.Run(small); f(r); return r }
	cut := func(r *record.Run, keep func(record.Record) bool) {
		r.Records = slices.DeleteFunc(r.Records, func(x record.Record) bool { return !keep(x) })
	}
	once := small
	once.Repetitions = 1
	wider := small
	wider.Policies = []string{"random", "composite"}
	for _, test := range []struct {
		name    string
		b       *record.Run
		cells   int
		want    string
		differs string
	}{
		{"only in B", reporttest.Run(wider), 2, "sidekick/composite: only in B", ""},
		{"no result", change(func(r *record.Run) {
			for i := range r.Records {
				if x := &r.Records[i]; x.Policy == "random" && !x.Warmup {
					x.Status, x.MakespanS = record.StatusTimeout, 0
				}
			}
		}), 1, "sidekick/random: no result in B (6 timeout)", ""},
		{"not recorded", change(func(r *record.Run) { cut(r, func(x record.Record) bool { return x.Policy != "random" }) }), 1, "no result in B (not recorded)", ""},
		{"one repetition", reporttest.Run(once), 2, "Not enough repetitions in 2 of 2 cells (1 at the least): an interval needs 3", ""},
		{"another result", change(func(r *record.Run) { r.Records[len(r.Records)-1].ResultDigest = "x" }), 2, "A and B computed different results", ""},
		{"a warning", change(func(r *record.Run) { r.Warnings = []string{"run.json is odd"} }), 2, "B, 2026-01-15T10-00-00-invented: run.json is odd.", ""},
		{"another host", change(func(r *record.Run) { r.Manifest.Hosts[0].CPU = "Other" }), 2, "A and B differ also in: machines", "machines: Invented CPU 2.8 GHz, 24 cores, 128 GiB / Other, 24 cores, 128 GiB"},
		{"another esched", change(func(r *record.Run) { r.Manifest.Esched = "9" }), 2, "differ also in: esched", "esched: 0.0.0-test / 9"},
		{"another Dask", change(func(r *record.Run) {
			e := r.Manifest.Environments["default"]
			e.Packages = map[string]string{"dask": "2024.5.0", "distributed": "2026.7.1", "numpy": "2.3.1"}
			r.Manifest.Environments["default"] = e
		}), 2, "dask (default)", "dask (default): 2026.7.1 / 2024.5.0"},
		{"another environment", change(func(r *record.Run) {
			r.Manifest.Environments = map[string]record.Environment{"old": {Python: "3.11.9", Packages: map[string]string{"dask": "1"}}}
		}), 2, "environment", "environment: default / old"},
		{"other settings", change(func(r *record.Run) {
			r.Manifest.Plan = nil // it would tell of the old ones, too
			for i := range r.Records {
				r.Records[i].Settings = map[string]any{"k": 1}
			}
		}), 2, "settings of dask", "settings of sidekick: default / k=1"},
		{"the same run", reporttest.Run(small), 2, "A and B are the same run", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := reporttest.Run(small)
			c := compare(t, a, test.b, report.CompareOptions{})
			if len(c.Cells) != test.cells {
				t.Errorf("have %d cells, want %d", len(c.Cells), test.cells)
			}
			if all := strings.Join(c.Careful, "\n"); !strings.Contains(all, test.want) {
				t.Errorf("want %q in\n%s", test.want, all)
			}
			var differs []string
			for _, d := range c.Differences {
				differs = append(differs, d.What+": "+d.A+" / "+d.B)
			}
			if test.differs != "" && !slices.Contains(differs, test.differs) || test.differs == "" && len(differs) > 0 && test.name != "one repetition" {
				t.Errorf("differences: want %q, have %q", test.differs, differs)
			}
			sameForms(t, c)
		})
	}
	if _, err := report.Compare(&record.Run{}, &record.Run{}, report.CompareOptions{}); err == nil {
		t.Error("a comparison of nothing")
	}
}

// TestCompareNamesakes keeps cells apart that have one name within a run.
func TestCompareNamesakes(t *testing.T) {
	t.Parallel()
	shape := reporttest.Shape{Sizes: []int{500}, Workers: []int{2}, Policies: []string{}, Baselines: []string{"dask", "dask"}}
	twice := func() *record.Run {
		r := reporttest.Run(shape)
		for i := range r.Records {
			if i%4 >= 2 { // warm-up and trial of the second one
				r.Records[i].Environment = "dask-2024.5"
				r.Records[i].MakespanS *= 3
			}
		}
		r.Manifest.Plan = nil
		return r
	}
	c := compare(t, twice(), twice(), report.CompareOptions{})
	if len(c.Cells) != 2 || c.Cells[0].Variant != "environment dask-2024.5" || c.Cells[1].Variant != "environment default" {
		t.Fatalf("have %+v", c.Cells)
	}
	for _, x := range c.Cells {
		if x.A.N != 3 || x.Ratio.Value != 1 {
			t.Errorf("%s: n = %d, ratio %g", x.Variant, x.A.N, x.Ratio.Value)
		}
	}
	sameForms(t, c)
}

func TestCompareThreshold(t *testing.T) {
	t.Parallel()
	a := timed(1, 10, 10.1, 9.9, 10, 10.05)
	for _, test := range []struct {
		name           string
		b              *record.Run
		limit          float64
		beyond, judged int
	}{
		{"slower by 10 %, 5 allowed", timed(2, 11, 11.1, 10.9, 11, 11.05), 0.05, 1, 1},
		{"slower by 10 %, 10 allowed", timed(2, 11, 11.1, 10.9, 11, 11.05), 0.10, 0, 1},
		{"faster", timed(2, 5, 5.1, 4.9, 5, 5), 0, 0, 1},
		{"slower by 40 % or not", timed(2, 10, 30, 9, 20, 12), 0.05, 0, 1},
		{"too few", timed(2, 30, 30), 0.05, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := compare(t, a, test.b, report.CompareOptions{Threshold: &test.limit})
			h := c.Threshold
			if len(h.Beyond) != test.beyond || h.Judged != test.judged || h.Judged+h.Unjudged != 1 || c.Cells[0].Beyond != (test.beyond > 0) {
				t.Errorf("have %+v, interval %+v", h, c.Cells[0].Ratio.Interval)
			}
			sameForms(t, c)
		})
	}
}

// TestCompareIsSymmetric swaps the runs: every ratio becomes its inverse, every
// difference its negative.
func TestCompareIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		shape := func(name string) reporttest.Shape {
			return reporttest.Shape{
				Seed:        rapid.Uint64Range(1, 3).Draw(rt, name+" seed"),
				Sizes:       rapid.SampledFrom([][]int{{100}, {7, 12345}}).Draw(rt, name+" sizes"),
				Workers:     rapid.SampledFrom([][]int{{1}, {1, 3}}).Draw(rt, name+" workers"),
				Policies:    rapid.SampledFrom([][]string{{}, {"random"}, {"random", "a|b_c*<i>"}}).Draw(rt, name+" policies"),
				Repetitions: rapid.IntRange(1, 16).Draw(rt, name+" repetitions"),
				FailEvery:   rapid.IntRange(0, 3).Draw(rt, name+" fail every"),
				Noise:       rapid.Float64Range(0.001, 0.5).Draw(rt, name+" noise"),
			}
		}
		a, b := reporttest.Run(shape("A")), reporttest.Run(shape("B"))
		one, other := compare(rt, a, b, report.CompareOptions{}), compare(rt, b, a, report.CompareOptions{})
		sameForms(rt, one)
		if len(one.Cells) != len(other.Cells) || len(one.Uncompared) != len(other.Uncompared) {
			rt.Fatalf("have %d and %d cells", len(one.Cells), len(other.Cells))
		}
		for i, x := range one.Cells {
			y := other.Cells[i]
			if x.CellName != y.CellName || math.Abs(x.Ratio.Value*y.Ratio.Value-1) > 1e-9 || math.Abs(x.Difference.Value+y.Difference.Value) > 1e-9 ||
				math.Abs(x.A12+y.A12-1) > 1e-9 || math.Abs(x.Test.P-y.Test.P) > 1e-9 {
				rt.Fatalf("have %+v and %+v", x, y)
			}
			if math.Abs(x.B.GeoMean/x.A.GeoMean/x.Ratio.Value-1) > 1e-9 || math.Abs(x.B.Mean-x.A.Mean-x.Difference.Value) > 1e-9*x.A.Mean {
				rt.Fatalf("%s: ratio %g and difference %g are not those of the times shown, %+v and %+v", x.Series, x.Ratio.Value, x.Difference.Value, x.A, x.B)
			}
			if *x.HolmP < x.Test.P {
				rt.Fatalf("%s: correction made p smaller", x.Series)
			}
		}
	})
}

// sameForms finds every cell in all forms of a comparison.
func sameForms(t fataler, c *report.Comparison) {
	t.Helper()
	var page, object, words, text bytes.Buffer
	for form, err := range map[string]error{"HTML": c.WriteHTML(&page), "JSON": c.WriteJSON(&object), "Markdown": c.WriteMarkdown(&words), "text": c.WriteText(&text)} {
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
	}
	shown := strings.Replace(page.String(), assets.ECharts, "", 1)
	var again report.Comparison
	if err := json.Unmarshal(object.Bytes(), &again); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if len(again.Cells) != len(c.Cells) || again.Headline != c.Headline {
		t.Fatalf("JSON: have %d cells, headline %q", len(again.Cells), again.Headline)
	}
	unbroken := strings.Join(strings.Fields(text.String()), " ")
	for _, sentence := range append(append([]string{c.Headline}, c.Facts...), c.Careful...) {
		if !strings.Contains(wordsOf(shown), sentence) || !strings.Contains(unbroken, strings.Join(strings.Fields(sentence), " ")) {
			t.Fatalf("not in every form: %q", sentence)
		}
	}
	pages := htmlTables(shown, c)
	for _, id := range []string{report.TableCompared, report.TableUncompared, report.TableDifferences} {
		table := c.Table(id)
		for i, row := range table.Rows {
			var texts []string
			for k, column := range table.Columns {
				texts = append(texts, column.Text(row[k]))
			}
			if have := pages[id]; len(have) <= i || have[i] != strings.Join(texts, "\x00") {
				t.Fatalf("HTML: table %s row %d is not %q in %q", id, i, texts, have)
			}
			if !strings.Contains(words.String(), "| "+strings.Join(escaped(texts), "| ")+"|\n") {
				t.Fatalf("Markdown: table %s has no row %q", id, texts)
			}
		}
	}
	for i, x := range again.Cells {
		if x.Ratio.Value != c.Cells[i].Ratio.Value || !strings.Contains(text.String(), c.Cells[i].Series) {
			t.Fatalf("cell %d: JSON has %g, want %g; or the text does not name it", i, x.Ratio.Value, c.Cells[i].Ratio.Value)
		}
	}
	body, _, _ := strings.Cut(shown, "<script")
	for _, bad := range []string{"NaN", "Inf]", "<nil>", "%!"} {
		if strings.Contains(body, bad) || strings.Contains(text.String(), bad) {
			t.Fatalf("shows %q", bad)
		}
	}
}

// TestCompareInBrowser looks at a comparison on a desk and on a telephone.
func TestCompareInBrowser(t *testing.T) {
	t.Parallel()
	program := need.Program(t, "chromium")
	before := reporttest.Run(reporttest.Shape{Sizes: []int{500, 70000000}, Workers: []int{4, 64}, Repetitions: 6})
	after := reporttest.Run(reporttest.Shape{Seed: 5, Sizes: []int{500, 70000000}, Workers: []int{4, 64}, Repetitions: 6, FailEvery: 11, Noise: 0.1})
	after.Manifest.ID, after.Manifest.Esched = "2026-02-15T10-00-00-invented", "0.0.1-test"
	c := compare(t, before, after, report.CompareOptions{Threshold: new(0.05)})
	path := filepath.Join(t.TempDir(), "compared.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]browser.Look{"light": {}, "narrow-dark": {Width: 390, Dark: true}} {
		look.Program, look.Screenshot = program, true
		page, err := browser.Open(t.Context(), path, look)
		if err != nil {
			t.Fatal(err)
		}
		keep(t, "compare-"+name+".png", page.PNG)
		checkPage(t, &report.Report{Figures: c.Figures()}, page)
	}
}
