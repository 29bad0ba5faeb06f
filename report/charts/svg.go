package charts

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Palette gives the colour of a CSS variable of the page ("--ink", "--s0").
type Palette func(variable string) string

// OnPage refers to the page's variables: a drawing follows the page.
func OnPage(variable string) string { return "var(" + variable + ")" }

// OnPaper has the page's colours for print. Programs that set papers know no
// variables.
func OnPaper(variable string) string {
	if c, ok := paper[variable]; ok {
		return c
	}
	return "#000000"
}

var paper = map[string]string{
	"--paper": "#ffffff", "--ink": "#000000", "--muted": "#444444", "--grid": "#e4e4e4", "--axis": "#888888", "--ideal": "#7a828d",
	"--s0": "#33373d", "--s1": "#c28a09", "--s2": "#1b98ff", "--s3": "#077f5a", "--s4": "#950b00", "--s5": "#4246a2", "--s6": "#89598b", "--s7": "#869c56",
	"--p0": "#1f4e79", "--p1": "#3f83bd", "--p2": "#86b8dc", "--p3": "#c3d9ea", "--p4": "#7a6a00", "--p5": "#c4ad3a", "--p6": "#8a8f98", "--p7": "#c9ccd1",
	"--h0": "#8fbfe6", "--h1": "#b7d6ef", "--h2": "#dcebf7", "--h3": "#f1f2f3", "--h4": "#fbe6cd", "--h5": "#f6cb98", "--h6": "#efae66",
}

// The measures of a drawing, in pixels.
const (
	drawingWidth = 760.0
	letter       = 6.6 // width of a letter of 12 pixels
	textHeight   = 15.0
)

// SVG draws the figure without a script, 760 pixels wide. With values, symbols
// and bars have theirs in full as attributes data-x, data-y, data-lo, data-hi
// and data-to. The plot's frame is in data-plot ("left top width height").
func SVG(f Figure, colors Palette, values bool) string {
	d := &drawing{Figure: f, colors: colors, values: values}
	d.measure()
	d.axes()
	d.legend()
	moved := dodge(f)
	for i := range f.Marks {
		if f.Marks[i].Shape.area() {
			d.areas(f.Marks[i])
		}
	}
	if f.Parity != nil {
		x := d.x(*f.Parity)
		d.line(x, d.top, x, d.top+d.height, "--ink", 1.2, "")
	}
	for i := range f.Marks {
		if m := f.Marks[i]; !m.Shape.area() {
			d.joint(moved[i])
			for j, p := range m.Point {
				d.symbol(m, p, moved[i].Point[j].X)
			}
		}
	}
	d.rowLabels()
	total := d.top + d.height + d.bottom
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" data-figure="%s" data-plot="%s %s %s %s" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12"><title>%s</title><desc>%s</desc>`,
		px(drawingWidth), px(total), px(drawingWidth), px(total), html.EscapeString(f.ID), px(d.left), px(d.top), px(d.width), px(d.height),
		html.EscapeString(f.Title), html.EscapeString(f.Alt)) + d.b.String() + "</svg>\n"
}

// drawing is a figure on its way to SVG.
type drawing struct {
	Figure
	colors                           Palette
	values                           bool
	b                                strings.Builder
	left, top, width, height, bottom float64
	legends                          []legendItem
}

type legendItem struct {
	mark Mark
	x, y float64
}

// measure gives the plot what names and labels leave.
func (d *drawing) measure() {
	d.left, d.top, d.bottom = 64, 30, 48
	right := 34.0
	if n := len(d.Y.Categories); n > 0 {
		longest := 0
		for _, c := range d.Y.Categories {
			longest = max(longest, letters(c))
		}
		d.left, d.top = min(16+letter*float64(longest), 280), 12
		d.height = 34 * float64(n)
		if label := d.longestLabel(); label > 0 {
			right = min(20+letter*float64(label), 260)
		}
	} else {
		d.height = 320
	}
	d.width = drawingWidth - d.left - right
	if n := len(d.X.Categories); n > 0 {
		lines := 1
		for _, c := range d.X.Categories {
			lines = max(lines, len(wrap(c, d.width/float64(n))))
		}
		d.bottom += textHeight * float64(lines-1)
	}
	d.placeLegend()
}

// longestLabel is the length of the longest line beside a row.
func (d *drawing) longestLabel() int {
	longest := 0
	for _, m := range d.Marks {
		if m.Shape == Cells {
			continue
		}
		for _, p := range m.Point {
			for line := range strings.SplitSeq(p.Label, "\n") {
				longest = max(longest, letters(line))
			}
		}
	}
	return longest
}

// placeLegend names series above the plot where rows do not name them.
func (d *drawing) placeLegend() {
	x, y := 8.0, 14.0
	for _, m := range d.Legend() {
		w := 34 + 1.1*letter*float64(letters(m.Series))
		if x > 8 && x+w > drawingWidth {
			x, y = 8, y+18
		}
		d.legends = append(d.legends, legendItem{m, x, y})
		x += w
	}
	if len(d.legends) > 0 {
		d.top += y + 8
	}
}

// Legend returns a mark for each name that the figure needs a legend for.
func (f Figure) Legend() []Mark {
	var all []Mark
	seen := make(map[string]bool)
	for _, m := range f.Marks {
		if seen[m.Series] || m.Shape == Raw || len(f.Y.Categories) > 0 && !m.Shape.area() {
			continue
		}
		seen[m.Series] = true
		all = append(all, m)
	}
	return all
}

func (d *drawing) legend() {
	for _, l := range d.legends {
		switch {
		case l.mark.Shape == Dashed:
			d.line(l.x, l.y-4, l.x+14, l.y-4, ColorName(l.mark.Color), 2, "4 3")
		case l.mark.Shape == Dotted:
			d.line(l.x, l.y-4, l.x+14, l.y-4, ColorName(l.mark.Color), 2, "2 3")
		case l.mark.Shape == Steps:
			d.line(l.x, l.y-4, l.x+14, l.y-4, ColorName(l.mark.Color), 3, StepDashes(l.mark.Color))
		case l.mark.Shape.area():
			d.rect(l.x, l.y-10, 12, 12, l.mark.Color, "")
		default:
			d.put(l.x+7, l.y-4, l.mark.Color, "")
		}
		d.text(l.x+19, l.y, "start", "--ink", l.mark.Series)
	}
}

// x and y return where a value of an axis is.
func (d *drawing) x(v float64) float64 { return d.left + d.width*place(d.X, v) }

func (d *drawing) y(v float64) float64 {
	if len(d.Y.Categories) > 0 {
		return d.top + d.height*place(d.Y, v)
	}
	return d.top + d.height*(1-place(d.Y, v))
}

// place is the share of an axis at which a value is, kept on it.
func place(a Axis, v float64) float64 {
	s := 0.0
	switch {
	case len(a.Categories) > 0:
		s = (v + 0.5) / float64(len(a.Categories))
	case a.Log:
		s = (math.Log10(v) - math.Log10(a.Min)) / (math.Log10(a.Max) - math.Log10(a.Min))
	case a.Max > a.Min:
		s = (v - a.Min) / (a.Max - a.Min)
	}
	if math.IsNaN(s) {
		return 0
	}
	return min(max(s, 0), 1)
}

func on(a Axis, v float64) bool {
	return len(a.Categories) > 0 || v >= a.Min-1e-9*math.Abs(a.Max) && v <= a.Max*(1+1e-9)
}

func px(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

func letters(s string) int { return len([]rune(s)) }

// wrap breaks a name into lines of a width: at spaces, and after the slashes
// and hyphens of long words.
func wrap(s string, width float64) []string {
	room := max(int(width/letter), 4)
	var lines []string
	for word := range strings.FieldsSeq(s) {
		if n := len(lines); n > 0 && letters(lines[n-1])+1+letters(word) <= room {
			lines[n-1] += " " + word
			continue
		}
		for letters(word) > room {
			at := strings.LastIndexAny(word[:min(room, len(word))], "/-")
			if at <= 0 {
				break
			}
			lines, word = append(lines, word[:at+1]), word[at+1:]
		}
		lines = append(lines, word)
	}
	return lines
}

// value writes a number with all its digits.
func value(v float64) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
