package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/esched/esched/report/assets"
	"github.com/esched/esched/report/charts"
)

// furniture is what pages have beside their own content.
type furniture struct {
	Kind     string // "report", "comparison"
	Contents []link
	Style    template.CSS
	Script   template.JS
	// Drawn tells whether there are figures, FigureScript has their options.
	Drawn        bool
	FigureScript template.JS

	ECharts                             template.JS
	EChartsVersion, Notice, Licence, D3 string
}

type link struct{ ID, Name string }

type htmlFigure struct {
	charts.Figure
	Count  string
	Legend []legendEntry
	Data   htmlTable
	// Static is the figure for readers without scripts.
	Static template.HTML
}

type legendEntry struct {
	Name   string
	Symbol template.HTML
}

// furnish makes figures ready for a page; table finds the data of one.
func furnish(kind string, figures []charts.Figure, table func(id string) *Table) (furniture, []htmlFigure, error) {
	all := furniture{
		Kind: kind, Style: template.CSS(assets.Style), Script: template.JS(assets.Script), Drawn: len(figures) > 0, ECharts: template.JS(assets.ECharts),
		EChartsVersion: assets.EChartsVersion, Notice: assets.EChartsNotice, Licence: assets.EChartsLicence, D3: assets.D3Licence,
	}
	var scripts []string
	var shown []htmlFigure
	for _, f := range figures {
		option, err := charts.Option(f)
		if err != nil {
			return all, nil, err
		}
		about, err := json.Marshal(map[string]any{"id": f.ID, "alt": f.Alt, "height": f.Height(), "parity": f.Parity})
		if err != nil {
			return all, nil, err
		}
		scripts = append(scripts, fmt.Sprintf("Object.assign(%s, {option: () => (%s)})", about, option))
		data := newHTMLTable(table(f.Table), "")
		all.align([]htmlTable{data})
		shown = append(shown, htmlFigure{Figure: f, Count: plural(f.N, "trial"), Legend: legend(f), Data: data,
			Static: template.HTML(charts.SVG(f, charts.OnPage, false))})
	}
	all.FigureScript = template.JS("[" + strings.Join(scripts, ",\n") + "]")
	return all, shown, nil
}

// align adds the rules for the columns of tables to the style.
func (f *furniture) align(lists ...[]htmlTable) {
	for _, list := range lists {
		for _, t := range list {
			f.Style += template.CSS(t.Align)
		}
	}
}

// unit finds the space between a number and its unit.
var unit = regexp.MustCompile(`(\d) (%|s|ms|µs|B|KiB|MiB|GiB)(?:$|([^\pL\pN]))`)

// hold keeps numbers and their units in one line.
func hold(text string) string { return unit.ReplaceAllString(text, "$1\u00a0$2$3") }

// writePage writes a page by its template and those that all pages share.
func writePage(w io.Writer, text string, page any) error {
	t, err := template.New("page").Funcs(template.FuncMap{"hold": hold}).Parse(assets.Shared)
	if err == nil {
		t, err = t.Parse(text)
	}
	if err == nil {
		err = t.Execute(w, page)
	}
	return err
}

// legend names the series of a figure with the symbols they are drawn with.
func legend(f charts.Figure) []legendEntry {
	var all []legendEntry
	for _, m := range f.Legend() {
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
	case m.Shape == charts.Dotted:
		shape = `<path d="M0 7h14" stroke="` + color + `" stroke-width="2" stroke-dasharray="2 3"/>`
	case m.Shape == charts.Steps:
		shape = `<path d="M0 7h14" stroke="` + color + `" stroke-width="3" stroke-dasharray="` + cmp.Or(charts.StepDashes(m.Color), "none") + `"/>`
	case m.Color >= charts.Part(0):
		shape = `<rect x="1" y="1" width="12" height="12" fill="` + color + `"/>`
	default:
		shape = map[string]string{
			"circle": `<circle cx="7" cy="7" r="5"`, "rect": `<path d="M2 2h10v10h-10z"`, "triangle": `<path d="M7 2l5.5 10h-11z"`,
			"diamond": `<path d="M7 1l5 6-5 6-5-6z"`, "plus": `<path d="M2 5h3v-3h4v3h3v4h-3v3h-4v-3h-3z"`, "nose": `<path d="M2 2h10l-5 10z"`,
			"round": `<rect x="2" y="2" width="10" height="10" rx="3"`,
		}[charts.SymbolName(m.Color)] + ` fill="` + color + `"/>`
	}
	return template.HTML(`<svg viewBox="0 0 14 14" aria-hidden="true">` + shape + `</svg>`)
}
