package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/esched/esched/report/assets"
)

// manyTrials is the number of trials from which on rows open without the
// shares of single workers, which would be most of the page.
const manyTrials = 2000

// WriteHTML writes the report as one HTML file that needs nothing but itself.
func (r *Report) WriteHTML(w io.Writer) error {
	p, err := r.page()
	if err == nil {
		err = writePage(w, assets.Page, p)
	}
	if err != nil {
		return fmt.Errorf("report as HTML: %w", err)
	}
	return nil
}

// numberTables are the tables of results, in the order of the page.
var numberTables = []string{TablePublished, TableCells, TableSpread, TableRatios, TableTests, TableSpeedup, TableBounds, TableDecisions, TableOverhead, TableClocks}

// page is what the template is given.
type page struct {
	*Report
	furniture
	Date    string
	Groups  []figureGroup
	Numbers []htmlTable
	Trials  htmlTable
	Warmups htmlTable
	Setup   []htmlTable

	DetailNote  string
	Experiments []experiment
	Details     template.JS
}

type figureGroup struct {
	ID, Name string
	Figures  []htmlFigure
}

type htmlTable struct {
	*Table
	HTMLID  string
	Columns []htmlColumn
	Body    template.HTML
	Tall    bool
	Count   string
	// Align is the style that sets numbers to the right and keeps them and short
	// names in one line: once for a column, not in each cell.
	Align string
	// Same tells the columns that are left out because all rows agree in them.
	Same string
}

type htmlColumn struct {
	Name   string
	Number bool
	Whole  bool // words that are not to be broken
}

func (r *Report) page() (*page, error) {
	furniture, figures, err := furnish("report", r.Figures, r.Table)
	if err != nil {
		return nil, err
	}
	p := &page{Report: r, furniture: furniture, Experiments: r.experiments}
	if !r.Date.IsZero() {
		p.Date = r.Date.UTC().Format("2 January 2006")
	}
	for _, f := range figures {
		if n := len(p.Groups); n == 0 || p.Groups[n-1].Name != f.Group {
			p.Groups = append(p.Groups, figureGroup{ID: slug("figures", f.Group), Name: f.Group})
		}
		g := &p.Groups[len(p.Groups)-1]
		g.Figures = append(g.Figures, f)
	}
	for _, id := range numberTables {
		if t := r.Table(id); len(t.Rows) > 0 {
			p.Numbers = append(p.Numbers, newHTMLTable(t, ""))
		}
	}
	for _, id := range []string{TableSeries, TableHosts, TableVersions} {
		if t := r.Table(id); len(t.Rows) > 0 {
			p.Setup = append(p.Setup, newHTMLTable(t, ""))
		}
	}
	p.Trials, p.Warmups = newHTMLTable(r.Table(TableTrials), "trials"), newHTMLTable(r.Table(TableWarmups), "")
	p.contents()
	p.align(p.Numbers, p.Setup, []htmlTable{p.Trials, p.Warmups})
	return p, p.writeDetails()
}

func (p *page) contents() {
	for _, g := range p.Groups {
		p.Contents = append(p.Contents, link{g.ID, g.Name})
	}
	p.Contents = append(p.Contents, link{"tables", "Numbers"})
	if len(p.Trials.Rows) > 0 {
		p.Contents = append(p.Contents, link{"every-trial", "Every trial"})
	}
	p.Contents = append(p.Contents, link{"measured", "How it was measured"})
}

// packedDetails are the details of all trials with each word once: most of
// them are the same in thousands of trials. Facts are pairs of indices, a name
// and its value; Workers triples of name, tasks and busy seconds.
type packedDetails struct {
	Words   []string `json:"words"`
	Facts   [][]int  `json:"facts"`
	Workers [][]int  `json:"workers,omitempty"`
}

// writeDetails packs what the rows of the table of trials open.
func (p *page) writeDetails() error {
	if len(p.details) == 0 {
		return nil
	}
	var packed packedDetails
	index := make(map[string]int)
	word := func(s string) int {
		i, ok := index[s]
		if !ok {
			i = len(packed.Words)
			index[s] = i
			packed.Words = append(packed.Words, s)
		}
		return i
	}
	many := len(p.details) > manyTrials
	if many {
		p.DetailNote = "The shares of single workers are only in the run's records: there are too many trials to carry them all."
	}
	for _, d := range p.details {
		facts, workers := []int{}, []int{}
		for _, f := range d.Facts {
			facts = append(facts, word(f[0]), word(f[1]))
		}
		for _, w := range d.Workers {
			if !many {
				workers = append(workers, word(w[0]), word(w[1]), word(w[2]))
			}
		}
		packed.Facts, packed.Workers = append(packed.Facts, facts), append(packed.Workers, workers)
	}
	if many {
		packed.Workers = nil
	}
	b, err := json.Marshal(packed) // escapes <, > and &
	if err != nil {
		return err
	}
	p.Details = template.JS(b)
	return nil
}

func newHTMLTable(t *Table, id string) htmlTable {
	h := htmlTable{Table: t, HTMLID: id, Tall: len(t.Rows) > 20, Count: count(len(t.Rows))}
	same := sameColumns(t)
	var words []string
	for i, c := range t.Columns {
		if same[i] {
			words = append(words, c.Name+" "+c.Text(t.Rows[0][i]))
			continue
		}
		h.Columns = append(h.Columns, htmlColumn{c.Name, c.Format != FormatText, c.Key == "trial" || c.Key == "workload"})
	}
	h.Align = alignment(t.ID, h.Columns, func(c htmlColumn) bool { return c.Number }, "text-align:right") +
		alignment(t.ID, h.Columns, func(c htmlColumn) bool { return c.Number || c.Whole }, "white-space:nowrap")
	h.Same = strings.Join(words, " · ")
	// Not by the template: a table of 10,000 rows takes it seconds, and end tags
	// that HTML does not ask for a fifth of the page.
	var b bytes.Buffer
	for _, row := range t.Rows {
		status := -1
		for i, c := range t.Columns {
			if c.Key == "status" {
				status = i
			}
		}
		if status >= 0 && row[status] != "ok" {
			b.WriteString(`<tr class="bad">`)
		} else {
			b.WriteString("<tr>")
		}
		for i, v := range row {
			c := t.Columns[i]
			if same[i] {
				continue
			}
			switch {
			case c.Key == "packages", c.Key == "settings":
				b.WriteString(`<td class="w">`)
			case c.Key == "error":
				b.WriteString(`<td class="clip">`)
			default:
				b.WriteString("<td>")
			}
			b.WriteString(html.EscapeString(c.Text(v)))
		}
		b.WriteByte('\n')
	}
	h.Body = template.HTML(b.String())
	return h
}

// alignment is a rule for the cells of some columns.
func alignment(id string, columns []htmlColumn, of func(htmlColumn) bool, style string) string {
	var selectors []string
	for i, c := range columns {
		if of(c) {
			selectors = append(selectors, fmt.Sprintf(`[data-table="%s"]>tbody>tr:not(.open)>td:nth-child(%d)`, id, i+1))
		}
	}
	if selectors == nil {
		return ""
	}
	return strings.Join(selectors, ",") + "{" + style + "}\n"
}

// sameColumns finds the columns that describe the set-up and have one value in
// all rows: a line tells them in less space.
func sameColumns(t *Table) []bool {
	same := make([]bool, len(t.Columns))
	if len(t.Rows) < 2 {
		return same
	}
	for i, c := range t.Columns {
		switch c.Key {
		case "workload", "size", "params", "nodes", "workers", "threads", "run", "baseline", "interval", "failed", "mark", "fallbacks":
			same[i] = !slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] != t.Rows[0][i] })
		}
	}
	return same
}
