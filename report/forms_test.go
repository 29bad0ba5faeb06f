package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/assets"
	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

var (
	tablePattern = regexp.MustCompile(`(?s)data-table="([^"]+)"[^>]*><thead><tr>(.*?)</tr></thead><tbody>\n(.*?)</tbody>`)
	cellPattern  = regexp.MustCompile(`<t[dh][^>]*>([^<]*)`)
	samePattern  = regexp.MustCompile(`In all rows: ([^<]*)\.</p>`)
)

// TestSameNumbers invents runs and finds every number of every table in all
// forms of the report.
func TestSameNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		shape := reporttest.Shape{
			Seed:        rapid.Uint64().Draw(rt, "seed"),
			Sizes:       rapid.SampledFrom([][]int{{100}, {7, 1234567}}).Draw(rt, "sizes"),
			Workers:     rapid.SampledFrom([][]int{{1}, {1, 3}, {8}}).Draw(rt, "workers"),
			Policies:    rapid.SampledFrom([][]string{{}, {"random"}, {"random", "a|b_c*<i>"}}).Draw(rt, "policies"),
			Baselines:   rapid.SampledFrom([][]string{{}, {"dask"}, {"dask", "dask-no-steal"}}).Draw(rt, "baselines"),
			Repetitions: rapid.IntRange(1, 3).Draw(rt, "repetitions"),
			FailEvery:   rapid.IntRange(0, 3).Draw(rt, "fail every"),
			Noise:       rapid.Float64Range(0.001, 0.5).Draw(rt, "noise"),
		}
		r, err := report.Build([]*record.Run{reporttest.Run(shape)})
		if err != nil {
			rt.Fatal(err)
		}
		compareForms(rt, r)
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func compareForms(t fataler, r *report.Report) {
	t.Helper()
	var page, object, words bytes.Buffer
	for form, err := range map[string]error{"HTML": r.WriteHTML(&page), "JSON": r.WriteJSON(&object), "Markdown": r.WriteMarkdown(&words)} {
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
	}
	shown := strings.Replace(page.String(), assets.ECharts, "", 1)
	var tree struct {
		Headline string
		Tables   []struct {
			ID   string
			Rows []map[string]any
		}
	}
	d := json.NewDecoder(&object)
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if tree.Headline != r.Headline || !strings.Contains(wordsOf(shown), r.Headline) {
		t.Fatalf("headlines differ: %q, %q", tree.Headline, r.Headline)
	}
	pages := htmlTables(shown, r)
	for i := range r.Tables {
		table := &r.Tables[i]
		if tree.Tables[i].ID != table.ID || len(tree.Tables[i].Rows) != len(table.Rows) {
			t.Fatalf("JSON: have table %s with %d rows, want %s with %d", tree.Tables[i].ID, len(tree.Tables[i].Rows), table.ID, len(table.Rows))
		}
		var b bytes.Buffer
		if err := r.WriteCSV(&b, table.ID); err != nil {
			t.Fatalf("CSV: %v", err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(lines) != len(table.Rows)+1 {
			t.Fatalf("CSV: table %s has %d lines, want %d (%v)", table.ID, len(lines), len(table.Rows)+1, err)
		}
		var tex bytes.Buffer
		if err := r.WriteLaTeX(&tex, table.ID); err != nil {
			t.Fatalf("LaTeX: %v", err)
		}
		typeset := unset(tex.String())
		for j, row := range table.Rows {
			var texts []string
			for k, c := range table.Columns {
				value := tree.Tables[i].Rows[j][c.Key]
				if have, want := lines[j+1][k], plain(value); have != want {
					t.Fatalf("table %s row %d: CSV has %s = %q, JSON %q", table.ID, j, c.Key, have, want)
				}
				if have, want := c.Text(typed(c, value)), c.Text(row[k]); have != want {
					t.Fatalf("table %s row %d: JSON's %s is shown as %q, want %q", table.ID, j, c.Key, have, want)
				}
				texts = append(texts, c.Text(row[k]))
			}
			if want := unset(strings.Join(texts, " & ")); !strings.Contains(typeset, want) {
				t.Fatalf("table %s row %d: LaTeX has no row %q", table.ID, j, want)
			}
			if have, ok := pages[table.ID]; ok && have[j] != strings.Join(texts, "\x00") {
				t.Fatalf("table %s row %d: HTML has %q, want %q", table.ID, j, have[j], texts)
			}
			if !strings.HasPrefix(table.ID, "data-") && !strings.Contains(words.String(), "| "+strings.Join(escaped(texts), "| ")+"|\n") {
				t.Fatalf("table %s row %d: Markdown has no row %q", table.ID, j, texts)
			}
		}
	}
}

// unset takes out what LaTeX and plain text write in different ways.
func unset(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for name, sign := range map[string]string{"backslash": "\\", "less": "<", "greater": ">", "bar": "|", "asciitilde": "~", "asciicircum": "^", "periodcentered": "·"} {
		s = strings.ReplaceAll(s, `\text`+name+"{}", sign)
	}
	s = strings.NewReplacer(`\textmu{}`, "µ", `$\pm$`, "±", `$\times$`, "×", "$-$", "−", `$\le$`, "≤", `$\ge$`, "≥", "--", "–", "{[}", "[", "{]}", "]").Replace(s)
	return strings.NewReplacer(`\`, "", "{", "", "}", "").Replace(s)
}

func escaped(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`).Replace(strings.Join(strings.Fields(c), " ")) + " "
	}
	return out
}

func plain(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// typed gives a value from JSON the type it has in the report.
func typed(c report.Column, v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := strconv.Atoi(n.String()); err == nil && c.Format == report.FormatCount {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		return err
	}
	return f
}

// tabled is a report or a comparison.
type tabled interface{ Table(id string) *report.Table }

// wordsOf is the text of a page, in which some spaces do not break.
func wordsOf(page string) string {
	return strings.ReplaceAll(html.UnescapeString(page), "\u00a0", " ")
}

// htmlTables returns the rows of the page's tables as shown, with the columns
// that are told in a line above put back.
func htmlTables(page string, r tabled) map[string][]string {
	tables := make(map[string][]string)
	for _, at := range tablePattern.FindAllStringSubmatchIndex(page, -1) {
		id, body := page[at[2]:at[3]], page[at[6]:at[7]]
		before := page[max(0, at[0]-1200):at[0]]
		var same []string
		if i := strings.LastIndex(before, "In all rows: "); i >= 0 && !strings.Contains(before[i:], "</table>") {
			if m := samePattern.FindStringSubmatch(before[i:]); m != nil {
				same = strings.Split(html.UnescapeString(m[1]), " · ")
			}
		}
		rows := []string{}
		for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "<tr") {
			var cells []string
			for _, m := range cellPattern.FindAllStringSubmatch(line, -1) {
				cells = append(cells, strings.TrimSuffix(html.UnescapeString(m[1]), "\n"))
			}
			if cells != nil {
				rows = append(rows, strings.Join(putBack(r.Table(id), cells, same), "\x00"))
			}
		}
		tables[id] = rows
	}
	return tables
}

// putBack inserts the values of columns that a line above the table tells, in
// the columns' order.
func putBack(t *report.Table, cells, same []string) []string {
	for i, c := range t.Columns {
		if len(same) > 0 && strings.HasPrefix(same[0], c.Name+" ") && len(cells) < len(t.Columns) {
			cells = slices.Insert(cells, i, strings.TrimPrefix(same[0], c.Name+" "))
			same = same[1:]
		}
	}
	return cells
}

// TestDegenerate builds reports of runs that lack almost everything.
func TestDegenerate(t *testing.T) {
	t.Parallel()
	failures := reporttest.Run(reporttest.Shape{FailEvery: 1})
	headless := reporttest.Run(reporttest.Shape{Repetitions: 1})
	headless.Manifest = record.Manifest{}
	headless.Warnings = []string{"run.json is missing"}
	cut := reporttest.Run(reporttest.Shape{})
	cut.Records = cut.Records[:20]
	undecided := reporttest.Run(reporttest.Shape{})
	for i := range undecided.Records {
		r := &undecided.Records[i]
		r.Decisions, r.DecisionUS, r.DecisionHist, r.DecisionSources, r.PerWorker = 0, nil, nil, nil, nil
	}
	instant := reporttest.Run(reporttest.Shape{})
	for i := range instant.Records {
		instant.Records[i].MakespanS = 0
	}
	wrong := reporttest.Run(reporttest.Shape{})
	wrong.Records[len(wrong.Records)-1].ResultDigest = "another"
	fallen := reporttest.Run(reporttest.Shape{})
	fallen.Records[len(fallen.Records)-1].Fallbacks = 17
	tests := []struct {
		name     string
		run      *record.Run
		headline string
		careful  string
		figures  bool
	}{
		{"nothing at all", &record.Run{Dir: "runs/x"}, "No trial was recorded", "", false},
		{"a manifest only", &record.Run{Manifest: reporttest.Run(reporttest.Shape{}).Manifest}, "No trial was recorded", "162 trials of 162 planned were not recorded", false},
		{"only failures", failures, "None of the 162 recorded trials succeeded", "have no result", false},
		{"no manifest", headless, "times the makespan of dask", "run.json is missing", true},
		{"interrupted", cut, "montecarlo", "were not recorded", true},
		{"one repetition", reporttest.Run(reporttest.Shape{Repetitions: 1}), "1 repetition: not enough for an interval", "Not enough repetitions", true},
		{"one number of workers", reporttest.Run(reporttest.Shape{Workers: []int{2}}), "with 2 workers", "Few repetitions", true},
		{"no baseline", reporttest.Run(reporttest.Shape{Baselines: []string{}}), "fastest of 5 series", "There is no baseline", true},
		{"only a baseline", reporttest.Run(reporttest.Shape{Policies: []string{}}), "dask took", "Few repetitions", true},
		{"no decisions, no shares", undecided, "times the makespan of dask", "Few repetitions", true},
		{"times of zero", instant, "No trial that succeeded has a time", "", true},
		{"different results", wrong, "times the makespan", "the results of its trials are not all the same", true},
		{"fallbacks", fallen, "times the makespan", "Dask itself placed 17 of", true},
		{"noise", reporttest.Run(reporttest.Shape{Noise: 0.4}), "times the makespan", "Noisy", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := build(t, test.run)
			if !strings.Contains(r.Headline, test.headline) {
				t.Errorf("headline: have %q, want it to contain %q", r.Headline, test.headline)
			}
			if careful := strings.Join(r.Careful, "\n"); !strings.Contains(careful, test.careful) {
				t.Errorf("careful: have %q, want it to contain %q", careful, test.careful)
			}
			// Where the time went is known without a result.
			if have := slices.ContainsFunc(r.Figures, func(f charts.Figure) bool { return f.ID != "clocks" }); have != test.figures {
				t.Errorf("figures: have %d", len(r.Figures))
			}
			compareForms(t, r)
			b, err := os.ReadFile(writeHTML(t, r))
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(string(b), "<script")
			for _, bad := range []string{"NaN", "Inf]", "+Inf", "<nil>", "%!"} {
				if strings.Contains(text, bad) {
					t.Errorf("the page shows %q", bad)
				}
			}
		})
	}
	if _, err := report.Build(nil); err == nil {
		t.Error("a report of no runs")
	}
}

// TestDecisionLatencies shows decisions that were there and those asked for
// apart.
func TestDecisionLatencies(t *testing.T) {
	t.Parallel()
	r, err := report.Build([]*record.Run{reporttest.Run(reporttest.Shape{Sizes: []int{500}, Workers: []int{2}})})
	if err != nil {
		t.Fatal(err)
	}
	table := r.Table(report.TableDecisions)
	want := map[string]float64{"hit_p50_us": 0.8, "hit_p99_us": 3, "ask_p50_us": 120, "ask_p99_us": 300}
	for i, c := range table.Columns {
		if v, ok := want[c.Key]; ok && (len(table.Rows) == 0 || table.Rows[0][i] != v) {
			t.Errorf("%s: want %g in %v", c.Key, v, table.Rows)
		}
		delete(want, c.Key)
	}
	if len(want) > 0 {
		t.Errorf("no columns %v", want)
	}
}
