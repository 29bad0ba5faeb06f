package report_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/internal/browser"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// visible asks for the heads and the rows of the table of trials that can be
// seen, cell by cell.
const visible = `(() => {
	const texts = (row) => Array.from(row.cells, (c) => c.textContent.trim());
	const table = document.getElementById('trials');
	return {
		head: texts(table.tHead.rows[0]),
		rows: Array.from(table.tBodies[0].rows).filter((r) => !r.classList.contains('open') && r.getClientRects().length > 0).map(texts),
		opened: Array.from(table.querySelectorAll('tr.open'), (r) => r.textContent),
		expanded: table.querySelectorAll('[aria-expanded=true]').length,
		shown: document.getElementById('shown').textContent,
	};
})()`

type seen struct {
	Head     []string   `json:"head"`
	Rows     [][]string `json:"rows"`
	Opened   []string   `json:"opened"`
	Expanded int        `json:"expanded"`
	Shown    string     `json:"shown"`
}

// column returns the texts of the column with that head.
func (s seen) column(t *testing.T, head string) []string {
	t.Helper()
	i := slices.Index(s.Head, head)
	if i < 0 {
		t.Fatalf("the table has no column %q, only %q", head, s.Head)
	}
	var texts []string
	for _, row := range s.Rows {
		texts = append(texts, row[i])
	}
	return texts
}

// sorted is what a column of the table of trials has to show, from the values
// behind it: in their order, what has no value last.
func sorted(r *report.Report, key string, descending bool, rank func(v any) float64) []string {
	table := r.Table(report.TableTrials)
	i := slices.IndexFunc(table.Columns, func(c report.Column) bool { return c.Key == key })
	var values []any
	for _, row := range table.Rows {
		values = append(values, row[i])
	}
	slices.SortStableFunc(values, func(a, b any) int {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return 1
		case b == nil:
			return -1
		}
		order := 0
		if text, ok := a.(string); ok && rank == nil {
			order = cmp.Compare(text, b.(string))
		} else if rank != nil {
			order = cmp.Compare(rank(a), rank(b))
		} else {
			order = cmp.Compare(numeric(a), numeric(b))
		}
		if descending {
			return -order
		}
		return order
	})
	var texts []string
	for _, v := range values {
		texts = append(texts, table.Columns[i].Text(v))
	}
	return texts
}

func numeric(v any) float64 {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v.(float64)
}

// TestSortInBrowser clicks the heads of the table of trials and reads its
// rows.
func TestSortInBrowser(t *testing.T) {
	t.Parallel()
	r := build(t, full()[0])
	size := func(v any) float64 { // "2,000 chunks" comes after "500 chunks"
		return map[string]float64{"500 chunks": 500, "1,000 chunks": 1000, "2,000 chunks": 2000}[v.(string)]
	}
	tests := []struct {
		head, key string
		rank      func(any) float64
	}{
		{"Makespan (s)", "makespan_s", nil}, {"Size", "size", size}, {"Workers", "workers", nil}, {"Tasks", "tasks", nil},
		{"Status", "status", nil}, {"p99 (µs)", "p99_us", nil}, {"#", "order", nil},
	}
	look := browser.Look{Program: need.Program(t, "chromium"), Steps: []browser.Step{{Ask: visible}}}
	for _, test := range tests {
		click := browser.Step{Click: `#trials th[data-test]>button`}
		mark := browser.Step{Ask: `(() => {
			document.querySelectorAll('[data-test]').forEach((e) => e.removeAttribute('data-test'));
			Array.from(document.querySelectorAll('#trials th')).find((e) => e.textContent === '` + test.head + `').dataset.test = '';
		})()`}
		look.Steps = append(look.Steps, mark, click, browser.Step{Ask: visible}, click, browser.Step{Ask: visible})
	}
	page, err := browser.Open(t.Context(), writeHTML(t, r), look)
	if err != nil {
		t.Fatal(err)
	}
	first := answer[seen](t, page.Answers[0])
	all := slices.Sorted(slices.Values(first.column(t, "Trial")))
	if len(all) != len(r.Table(report.TableTrials).Rows) {
		t.Fatalf("have %d rows, want %d", len(all), len(r.Table(report.TableTrials).Rows))
	}
	for i, test := range tests {
		for j, descending := range []bool{false, true} {
			now := answer[seen](t, page.Answers[1+3*i+1+j])
			if have, want := now.column(t, test.head), sorted(r, test.key, descending, test.rank); !slices.Equal(have, want) {
				t.Errorf("%s, descending %t: have\n%q\nwant\n%q", test.head, descending, have, want)
			}
			if !slices.Equal(slices.Sorted(slices.Values(now.column(t, "Trial"))), all) {
				t.Errorf("%s, descending %t: rows are lost or twice there", test.head, descending)
			}
		}
	}
	if len(page.Errors) > 0 {
		t.Errorf("errors on the console: %q", page.Errors)
	}
}

// TestFilterInBrowser types into the filter, opens rows with mouse and
// keyboard, and sorts what is left.
func TestFilterInBrowser(t *testing.T) {
	t.Parallel()
	run := full()[0]
	r := build(t, run)
	table := r.Table(report.TableTrials)
	count := func(match func(rec record.Record) bool) int {
		n := 0
		for _, rec := range run.Records {
			if !rec.Warmup && match(rec) {
				n++
			}
		}
		return n
	}
	typed := func(text string) browser.Step { return browser.Step{Type: text, Into: "#filter"} }
	ask, row := browser.Step{Ask: visible}, "#trials tbody tr:not([hidden]):not(.open) td"
	tests := []struct {
		name   string
		steps  []browser.Step
		rows   int
		opened int
	}{
		{"words", []browser.Step{typed("failed")}, count(func(r record.Record) bool { return r.Status == record.StatusFailed }), 0},
		{"a number is a whole one", []browser.Step{typed("Random 4")}, count(func(r record.Record) bool { return r.Policy == "random" && (r.Workers == 4 || r.Order == 4) }), 0},
		{"a number without its comma", []browser.Step{typed("1000 timeout")}, count(func(r record.Record) bool {
			return r.Status == record.StatusTimeout && strings.HasPrefix(r.Size, "1,000 ")
		}), 0},
		{"a number with its comma", []browser.Step{typed("1,000 chunks dask-no-steal")}, count(func(r record.Record) bool {
			return r.Scheduler == "dask-no-steal" && strings.HasPrefix(r.Size, "1,000 ")
		}), 0},
		{"nothing", []browser.Step{typed("no such word")}, 0, 0},
		{"all again", []browser.Step{typed("dask")}, count(func(r record.Record) bool { return r.Kind == "dask" }), 0},
		{"sorting keeps it", []browser.Step{{Click: "#trials th:nth-child(1) button"}, {Click: "#trials th:nth-child(1) button"}}, count(func(r record.Record) bool { return r.Kind == "dask" }), 0},
		{"opened by mouse", []browser.Step{{Click: row}}, count(func(r record.Record) bool { return r.Kind == "dask" }), 1},
		{"closed by keyboard", []browser.Step{{Enter: true}}, count(func(r record.Record) bool { return r.Kind == "dask" }), 0},
		{"opened by keyboard", []browser.Step{{Enter: true}}, count(func(r record.Record) bool { return r.Kind == "dask" }), 1},
		{"closed by the filter", []browser.Step{typed("ok")}, count(func(r record.Record) bool { return r.Status == record.StatusOK }), 0},
	}
	look := browser.Look{Program: need.Program(t, "chromium")}
	for _, test := range tests {
		look.Steps = append(append(look.Steps, test.steps...), ask)
	}
	page, err := browser.Open(t.Context(), writeHTML(t, r), look)
	if err != nil {
		t.Fatal(err)
	}
	for i, test := range tests {
		have := answer[seen](t, page.Answers[i])
		if len(have.Rows) != test.rows || len(have.Opened) != test.opened || have.Expanded != test.opened {
			t.Errorf("%s: have %d rows, %d opened, %d called expanded, want %d, %d, %d", test.name, len(have.Rows), len(have.Opened), have.Expanded, test.rows, test.opened, test.opened)
		}
		if want := table.Columns[0].Text(test.rows) + " of " + table.Columns[0].Text(len(table.Rows)) + " shown"; have.Shown != want {
			t.Errorf("%s: the page says %q, want %q", test.name, have.Shown, want)
		}
		for _, opened := range have.Opened {
			checkOpened(t, run, have.column(t, "Trial")[0], opened)
		}
	}
	if len(page.Errors) > 0 {
		t.Errorf("errors on the console: %q", page.Errors)
	}
}

// checkOpened holds that the details below a row are those of its trial.
func checkOpened(t *testing.T, run *record.Run, trial, opened string) {
	t.Helper()
	for _, rec := range run.Records {
		if rec.ID != trial || rec.Warmup {
			continue
		}
		for _, want := range []string{rec.ParamString(), rec.Started.Format("15:04:05 UTC")} {
			if !strings.Contains(opened, want) {
				t.Errorf("trial %s opened %q, which lacks %q", trial, opened, want)
			}
		}
		return
	}
	t.Errorf("no trial %s", trial)
}
