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
	"github.com/esched/esched/report/charts"
)

// manyTrials is the number of trials from which on rows open without the
// shares of single workers, which would be most of the page.
const manyTrials = 2000

// WriteHTML writes the report as one HTML file that needs nothing but itself.
func (r *Report) WriteHTML(w io.Writer) error {
	p, err := r.page()
	if err != nil {
		return fmt.Errorf("report as HTML: %w", err)
	}
	t, err := template.New("page").Parse(assets.Page)
	if err != nil {
		return fmt.Errorf("report as HTML: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report as HTML: %w", err)
	}
	return nil
}

// page is what the template is given.
type page struct {
	*Report
	Style    template.CSS
	Date     string
	Contents []link
	Groups   []figureGroup
	Numbers  []htmlTable
	Trials   htmlTable
	Warmups  htmlTable
	Setup    []htmlTable

	DetailNote     string
	Experiments    []experiment
	EChartsVersion string
	Notice         string
	Licence        string
	D3             string
	Details        template.JS
	ECharts        template.JS
	FigureScript   template.JS
	Script         template.JS
}

type link struct{ ID, Name string }

type figureGroup struct {
	ID, Name string
	Figures  []htmlFigure
}

type htmlFigure struct {
	charts.Figure
	Count  string
	Legend []legendEntry
	Data   htmlTable
}

type legendEntry struct {
	Name   string
	Symbol template.HTML
}

type htmlTable struct {
	*Table
	HTMLID  string
	Columns []htmlColumn
	Body    template.HTML
	Tall    bool
	Count   string
	// Align is the style that sets numbers to the right: once for a column, not
	// in each cell.
	Align string
	// Same tells the columns that are left out because all rows agree in them.
	Same string
}

type htmlColumn struct {
	Name   string
	Number bool
}

func (r *Report) page() (*page, error) {
	p := &page{
		Report: r, Style: template.CSS(assets.Style), Script: template.JS(assets.Script), ECharts: template.JS(assets.ECharts),
		EChartsVersion: assets.EChartsVersion, Notice: assets.EChartsNotice, Licence: assets.EChartsLicence, D3: assets.D3Licence,
		Experiments: r.experiments,
	}
	if !r.Date.IsZero() {
		p.Date = r.Date.UTC().Format("2 January 2006")
	}
	var scripts []string
	for _, f := range r.Figures {
		option, err := charts.Option(f)
		if err != nil {
			return nil, err
		}
		about, err := json.Marshal(map[string]any{"id": f.ID, "alt": f.Alt, "height": f.Height(), "parity": f.Parity})
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, fmt.Sprintf("Object.assign(%s, {option: () => (%s)})", about, option))
		if n := len(p.Groups); n == 0 || p.Groups[n-1].Name != f.Group {
			p.Groups = append(p.Groups, figureGroup{ID: slug("figures", f.Group), Name: f.Group})
		}
		g := &p.Groups[len(p.Groups)-1]
		g.Figures = append(g.Figures, htmlFigure{Figure: f, Count: plural(f.N, "trial"), Legend: legend(f), Data: newHTMLTable(r.Table(f.Table), "")})
	}
	p.FigureScript = template.JS("[" + strings.Join(scripts, ",\n") + "]")
	for _, id := range []string{TableCells, TableRatios, TableSpeedup, TableDecisions, TableClocks} {
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
	var align strings.Builder
	for _, t := range slices.Concat(p.Numbers, p.Setup, []htmlTable{p.Trials, p.Warmups}) {
		align.WriteString(t.Align)
	}
	for _, g := range p.Groups {
		for _, f := range g.Figures {
			align.WriteString(f.Data.Align)
		}
	}
	p.Style += template.CSS(align.String())
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
		h.Columns = append(h.Columns, htmlColumn{c.Name, c.Format != FormatText})
	}
	h.Align = alignment(t.ID, h.Columns)
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

func alignment(id string, columns []htmlColumn) string {
	var selectors []string
	for i, c := range columns {
		if c.Number {
			selectors = append(selectors, fmt.Sprintf(`[data-table="%s"]>tbody>tr:not(.open)>td:nth-child(%d)`, id, i+1))
		}
	}
	if selectors == nil {
		return ""
	}
	return strings.Join(selectors, ",") + "{text-align:right}\n"
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

// legend names the series of a figure with the symbols they are drawn with.
func legend(f charts.Figure) []legendEntry {
	if len(f.Y.Categories) > 0 {
		return nil // the rows have names
	}
	var all []legendEntry
	seen := make(map[string]bool)
	for _, m := range f.Marks {
		if seen[m.Series] || m.Shape == charts.Raw {
			continue
		}
		seen[m.Series] = true
		all = append(all, legendEntry{m.Series, symbol(m)})
	}
	return all
}

// symbol draws a series' symbol as ECharts does in the figure.
func symbol(m charts.Mark) template.HTML {
	color := "var(" + charts.ColorName(m.Color) + ")"
	shape := ""
	switch {
	case m.Shape == charts.Dashed:
		shape = `<path d="M0 7h14" stroke="` + color + `" stroke-width="2" stroke-dasharray="4 3"/>`
	case m.Shape == charts.Steps:
		shape = `<path d="M0 7h14" stroke="` + color + `" stroke-width="3"/>`
	default:
		shape = map[string]string{
			"circle": `<circle cx="7" cy="7" r="5"`, "rect": `<path d="M2 2h10v10h-10z"`, "triangle": `<path d="M7 2l5.5 10h-11z"`,
			"diamond": `<path d="M7 1l5 6-5 6-5-6z"`, "plus": `<path d="M2 5h3v-3h4v3h3v4h-3v3h-4v-3h-3z"`, "nose": `<path d="M2 2h10l-5 10z"`,
			"round": `<rect x="2" y="2" width="10" height="10" rx="3"`,
		}[charts.SymbolName(m.Color)] + ` fill="` + color + `"/>`
	}
	return template.HTML(`<svg viewBox="0 0 14 14" aria-hidden="true">` + shape + `</svg>`)
}
