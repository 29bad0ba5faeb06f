package charts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// symbols tell series apart without colour; colours repeat after Colors
// series, symbols with another period, so that no two of 56 series look alike.
var symbols = [...]string{"circle", "rect", "triangle", "diamond", plus, nose, "roundRect"}

const (
	plus = "path://M0,3 L3,3 L3,0 L7,0 L7,3 L10,3 L10,7 L7,7 L7,10 L3,10 L3,7 L0,7 Z"
	nose = "path://M0,0 L10,0 L5,10 Z"
)

// Colors is the number of colours of the page's palette.
const Colors = 8

// SymbolName is the name of the symbol of a series, as the page's legend
// knows it.
func SymbolName(series int) string {
	return [...]string{"circle", "rect", "triangle", "diamond", "plus", "nose", "round"}[series%len(symbols)]
}

// ColorName is the CSS variable of a Color.
func ColorName(series int) string {
	switch {
	case series == Ideal:
		return "--ideal"
	case series >= firstShade:
		return fmt.Sprintf("--h%d", series-firstShade)
	case series >= firstPart:
		return fmt.Sprintf("--p%d", series-firstPart)
	}
	return fmt.Sprintf("--s%d", series%Colors)
}

func color(series int) string { return "var(" + ColorName(series) + ")" }

// Option returns the option object of the figure as a JavaScript expression.
// It is safe inside a script element.
func Option(f Figure) (script string, err error) {
	// go-echarts panics when its templates or options do not fit.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("figure %s: %v", f.ID, r)
		}
	}()
	c := charts.NewScatter()
	c.ClearPresetJSAssets()
	c.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: f.ID, Renderer: "svg"}),
		charts.WithAnimation(false),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}), // the page has it, where it can wrap
		charts.WithAriaOpts(&opts.Aria{Enabled: opts.Bool(true)}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item", Formatter: opts.FuncOpts("eschedTooltip")}),
		charts.WithColorsOpts(opts.Colors{color(0)}),
	)
	for _, m := range dodge(f) {
		addMark(c, f, m)
	}
	option, err := json.Marshal(c.JSON())
	if err != nil {
		return "", fmt.Errorf("figure %s: %w", f.ID, err)
	}
	var tree map[string]any
	if err := json.Unmarshal(option, &tree); err != nil {
		return "", fmt.Errorf("figure %s: %w", f.ID, err)
	}
	// go-echarts has no field for these.
	fields := len(f.Y.Categories) > 0
	tree["xAxis"], tree["yAxis"] = []any{axis(f.X, false, fields)}, []any{axis(f.Y, true, fields)}
	top := 36
	if len(f.Y.Categories) > 0 {
		top = 14
	}
	tree["grid"] = map[string]any{"left": 8, "right": 28, "top": top, "bottom": 34, "containLabel": true}
	tree["aria"] = map[string]any{"enabled": true, "label": map[string]any{"description": plain(f.Alt)}}
	delete(tree, "toolbox")
	delete(tree, "title")
	delete(tree, "color")
	return expression(tree)
}

// dodge sets series a little beside one another along an ordered axis, where
// their intervals would cover each other.
func dodge(f Figure) []Mark {
	if len(f.Y.Categories) > 0 || f.X.Log {
		return f.Marks
	}
	place := make(map[string]int)
	for _, m := range f.Marks {
		if _, ok := place[m.Series]; !ok && (m.Shape == Line || m.Shape == Raw) {
			place[m.Series] = len(place)
		}
	}
	span := f.X.Max
	if len(f.X.Categories) > 0 {
		span = float64(len(f.X.Categories))
	}
	marks := slices.Clone(f.Marks)
	for i, m := range marks {
		if m.Shape != Line && m.Shape != Raw {
			continue
		}
		marks[i].Point = slices.Clone(m.Point)
		for j := range marks[i].Point {
			marks[i].Point[j].X = beside(m.Point[j].X, place[m.Series], len(place), f.X, span)
		}
	}
	return marks
}

// beside returns the x of a point that is the i-th of n, kept on the axis.
func beside(x float64, i, n int, axis Axis, span float64) float64 {
	const step = 0.005 // of the axis: half a symbol
	left, width := x-step*span*float64(n-1)/2, step*span*float64(n-1)
	if len(axis.Categories) == 0 {
		left = min(max(left, axis.Min), axis.Max-width)
	}
	return left + step*span*float64(i)
}

// function names a function of the page's script where go-echarts has no
// field for one; the markers are those of go-echarts.
func function(name string) string { return string(opts.FuncOpts(name)) }

// expression writes a tree as JavaScript: strings marked as functions lose
// their quotes.
func expression(tree any) (string, error) {
	const mark = "__f__"
	var b bytes.Buffer
	e := json.NewEncoder(&b) // escapes <, > and &, as a script element needs
	if err := e.Encode(tree); err != nil {
		return "", err
	}
	text := strings.TrimSpace(b.String())
	text = strings.ReplaceAll(text, `"`+mark, "")
	return strings.ReplaceAll(text, mark+`"`, ""), nil
}

// plain takes go-echarts' function marker out of words from outside: a series
// with such a name would become program text.
func plain(s string) string { return strings.ReplaceAll(s, "__f__", "_f_") }

// axis describes an axis; fields tells that the other one has categories, too.
func axis(a Axis, vertical, fields bool) map[string]any {
	line := map[string]any{"show": true, "onZero": false, "lineStyle": map[string]any{"color": "var(--axis)"}}
	label := map[string]any{"color": "var(--ink)", "fontSize": 13, "hideOverlap": true}
	m := map[string]any{
		"name": plain(a.Name), "nameLocation": "middle", "nameTextStyle": map[string]any{"color": "var(--muted)", "fontSize": 13},
		"axisLine": line, "axisLabel": label, "axisTick": map[string]any{"show": true, "lineStyle": map[string]any{"color": "var(--axis)"}},
		"splitLine": map[string]any{"show": true, "lineStyle": map[string]any{"color": "var(--grid)"}},
	}
	m["nameGap"] = 30
	if vertical { // above the axis, where it can be read without turning the head
		m["nameLocation"], m["nameGap"] = "end", 12
		m["nameTextStyle"].(map[string]any)["align"] = "left"
	} else {
		if a.Ticks == nil && len(a.Categories) == 0 {
			label["alignMaxLabel"] = "right"
		}
	}
	if len(a.Categories) > 0 {
		categories := make([]string, len(a.Categories))
		for i, c := range a.Categories {
			categories[i] = plain(c)
		}
		if !vertical && !fields {
			// An axis of categories would move points beside one another back to
			// their middle.
			ticks := make([]float64, len(a.Categories))
			for i := range ticks {
				ticks[i] = float64(i)
			}
			label["customValues"], label["hideOverlap"] = ticks, true
			m["axisTick"].(map[string]any)["customValues"] = ticks
			m["splitLine"] = map[string]any{"show": false}
			m["type"], m["min"], m["max"], m["eschedNames"] = "value", -0.5, float64(len(a.Categories))-0.5, categories
			return m
		}
		m["type"], m["data"] = "category", categories
		if vertical {
			label["interval"], label["hideOverlap"] = 0, false
			m["inverse"] = true
			m["name"] = "" // the rows say what they are
			m["axisTick"] = map[string]any{"show": false}
		}
		return m
	}
	m["type"], m["min"], m["max"] = "value", a.Min, a.Max
	if a.Log {
		m["type"], m["logBase"] = "log", 10
	}
	label["formatter"] = function("eschedNumber")
	if a.Percent {
		label["formatter"] = function("eschedPercent")
	}
	if a.Ticks != nil {
		label["customValues"] = a.Ticks
		m["axisTick"].(map[string]any)["customValues"] = a.Ticks
	}
	return m
}

func addMark(c *charts.Scatter, f Figure, m Mark) {
	name := plain(m.Series)
	if m.Shape.area() {
		c.Overlap(charts.NewCustom().AddSeries(name, areas(m), charts.WithItemStyleOpts(opts.ItemStyle{Color: color(m.Color)}),
			charts.WithCustomChartOpts(opts.CustomChart{RenderItem: opts.FuncOpts(renderers[m.Shape])})))
		if m.Shape == Cells {
			return
		}
	}
	symbol, size := "circle", 6
	if m.Shape == Dots || m.Shape == Line {
		symbol, size = symbols[max(m.Color, 0)%len(symbols)], 11
	}
	switch m.Shape {
	case Bars, Thin:
	case Dots, Raw:
		points := make([]opts.ScatterData, len(m.Point))
		for i, p := range m.Point {
			points[i] = opts.ScatterData{Name: plain(p.Name), Value: []float64{p.X, p.Y}, Symbol: symbol, SymbolSize: size}
		}
		opacity := opts.Float(1)
		if m.Shape == Raw {
			opacity = opts.Float(0.45)
		}
		c.AddSeries(name, points, charts.WithItemStyleOpts(opts.ItemStyle{Color: color(m.Color), Opacity: opacity}))
	default:
		c.Overlap(line(name, symbol, size, m))
	}
	intervals, labels := make([]opts.CustomData, 0), make([]opts.CustomData, 0)
	rows := len(f.Y.Categories) > 0
	for _, p := range m.Point {
		if p.Lo != nil && p.Hi != nil {
			value := []float64{p.X, *p.Lo, *p.Hi}
			if rows {
				value = []float64{*p.Lo, p.Y, *p.Hi}
			}
			intervals = append(intervals, opts.CustomData{Name: plain(p.Name), Value: value})
		}
		if p.Label != "" {
			labels = append(labels, opts.CustomData{Name: plain(p.Label), Value: []any{p.X, p.Y, plain(p.Label)}})
		}
	}
	style := charts.WithItemStyleOpts(opts.ItemStyle{Color: color(m.Color)})
	if len(intervals) > 0 {
		render := "eschedIntervalY"
		if rows {
			render = "eschedIntervalX"
		}
		c.Overlap(charts.NewCustom().AddSeries(name, intervals, style,
			charts.WithCustomChartOpts(opts.CustomChart{RenderItem: opts.FuncOpts(render)})))
	}
	if len(labels) > 0 {
		c.Overlap(charts.NewCustom().AddSeries("labels", labels,
			charts.WithCustomChartOpts(opts.CustomChart{RenderItem: opts.FuncOpts("eschedRowLabel")})))
	}
}

// renderers are the functions of the page's script that draw areas.
var renderers = map[Shape]string{Bars: "eschedBar", Thin: "eschedThinBar", Cells: "eschedCell"}

func areas(m Mark) []opts.CustomData {
	items := make([]opts.CustomData, len(m.Point))
	for i, p := range m.Point {
		to := p.X
		if p.To != nil {
			to = *p.To
		}
		items[i] = opts.CustomData{Name: plain(p.Name), Value: []any{p.X, p.Y, to}}
		if m.Shape == Cells {
			items[i].Value = []any{p.X, p.Y, to, plain(p.Label)}
		}
	}
	return items
}

func line(name, symbol string, size int, m Mark) *charts.Line {
	points := make([]opts.LineData, len(m.Point))
	for i, p := range m.Point {
		points[i] = opts.LineData{Name: plain(p.Name), Value: []float64{p.X, p.Y}, Symbol: symbol, SymbolSize: size}
	}
	style := opts.LineStyle{Color: color(m.Color), Width: 2}
	shape := opts.LineChart{ShowSymbol: opts.Bool(m.Shape == Line)}
	switch m.Shape {
	case Dashed:
		style.Type, style.Width = "dashed", 1.5
	case Dotted:
		style.Type, style.Width = "dotted", 2
	case Steps:
		shape.Step = "end"
		style.Type = stepTypes[m.Color%len(stepTypes)].name
	}
	l := charts.NewLine()
	l.AddSeries(name, points, charts.WithLineChartOpts(shape), charts.WithLineStyleOpts(style),
		charts.WithItemStyleOpts(opts.ItemStyle{Color: color(m.Color)}))
	return l
}
