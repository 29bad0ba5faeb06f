package charts

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

func (d *drawing) line(x1, y1, x2, y2 float64, color string, width float64, dash string) {
	fmt.Fprintf(&d.b, `<path d="M%s %sL%s %s" stroke="%s" stroke-width="%s" fill="none"`, px(x1), px(y1), px(x2), px(y2), d.colors(color), px(width))
	if dash != "" {
		fmt.Fprintf(&d.b, ` stroke-dasharray="%s"`, dash)
	}
	d.b.WriteString("/>")
}

func (d *drawing) text(x, y float64, anchor, color, words string) {
	fmt.Fprintf(&d.b, `<text x="%s" y="%s" text-anchor="%s" fill="%s">%s</text>`, px(x), px(y), anchor, d.colors(color), html.EscapeString(words))
}

func (d *drawing) rect(x, y, w, h float64, color int, attributes string) {
	fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"%s/>`, px(x), px(y), px(w), px(h), d.colors(ColorName(color)), attributes)
}

// put sets the symbol of a series.
func (d *drawing) put(x, y float64, color int, attributes string) {
	shape := symbolPaths[SymbolName(max(color, 0)%len(symbols))]
	fmt.Fprintf(&d.b, `<path transform="translate(%s %s)" d="%s" fill="%s"%s/>`, px(x), px(y), shape, d.colors(ColorName(color)), attributes)
}

// symbolPaths are the symbols around their middle.
var symbolPaths = map[string]string{
	"circle": "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z", "rect": "M-5 -5H5V5H-5Z", "triangle": "M0 -5.5L5.5 5H-5.5Z", "diamond": "M0 -6L5 0L0 6L-5 0Z",
	"plus": "M-5.5 -2H-2V-5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5Z", "nose": "M-5.5 -5H5.5L0 5.5Z", "round": "M-2.5 -5H2.5Q5 -5 5 -2.5V2.5Q5 5 2.5 5H-2.5Q-5 5 -5 2.5V-2.5Q-5 -5 -2.5 -5Z",
}

// axes draws both axes with their grids and names.
func (d *drawing) axes() {
	base := d.top + d.height
	if len(d.X.Categories) > 0 {
		for i, c := range d.X.Categories {
			for j, line := range wrap(c, d.width/float64(len(d.X.Categories))) {
				d.text(d.x(float64(i)), base+18+textHeight*float64(j), "middle", "--ink", line)
			}
		}
	} else {
		free := math.Inf(-1)
		for _, t := range ticks(d.X) {
			x, words := d.x(t), tickText(d.X, t)
			d.line(x, d.top, x, base, "--grid", 1, "")
			if half := letter * float64(letters(words)) / 2; x-half > free {
				d.text(x, base+18, "middle", "--ink", words)
				free = x + half + 4
			}
		}
	}
	d.text(d.left+d.width/2, base+d.bottom-8, "middle", "--muted", d.X.Name)
	if n := len(d.Y.Categories); n > 0 {
		for i, c := range d.Y.Categories {
			lines := wrap(c, d.left-12)
			y := d.y(float64(i)) + 4 - textHeight/2*float64(len(lines)-1)
			for j, line := range lines {
				d.text(d.left-8, y+textHeight*float64(j), "end", "--ink", line)
			}
		}
	} else {
		for _, t := range ticks(d.Y) {
			d.line(d.left, d.y(t), d.left+d.width, d.y(t), "--grid", 1, "")
			d.text(d.left-8, d.y(t)+4, "end", "--ink", tickText(d.Y, t))
		}
		d.text(8, d.top-12, "start", "--muted", d.Y.Name)
	}
	d.line(d.left, d.top, d.left, base, "--axis", 1, "")
	d.line(d.left, base, d.left+d.width, base, "--axis", 1, "")
}

// ticks are the values of an axis that have a label.
func ticks(a Axis) []float64 {
	if a.Ticks != nil {
		return a.Ticks
	}
	var all []float64
	if a.Log {
		for v := a.Min; v <= a.Max*1.0001; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	if !(a.Max > a.Min) {
		return []float64{a.Min}
	}
	step := math.Pow(10, math.Floor(math.Log10((a.Max-a.Min)/4)))
	for _, by := range []float64{1, 2, 2.5, 5, 10} {
		if (a.Max-a.Min)/(step*by) <= 6 {
			step *= by
			break
		}
	}
	for i := math.Ceil(a.Min/step - 1e-9); i*step <= a.Max*(1+1e-9); i++ {
		all = append(all, i*step)
	}
	return all
}

func tickText(a Axis, v float64) string {
	if a.Percent {
		v *= 100
	}
	if v == 0 {
		return "0" // also the negative one
	}
	s := strconv.FormatFloat(v, 'g', 6, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1e15 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
	}
	whole, part, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + part
	}
	return whole
}

// joint draws the line through a mark's points.
func (d *drawing) joint(m Mark) {
	if m.Shape != Line && m.Shape != Steps && m.Shape != Dashed && m.Shape != Dotted || len(m.Point) < 2 {
		return
	}
	var path strings.Builder
	for i, p := range m.Point {
		x, y := px(d.x(p.X)), px(d.y(p.Y))
		switch {
		case i == 0:
			path.WriteString("M" + x + " " + y)
		case m.Shape == Steps:
			path.WriteString("H" + x + "V" + y)
		default:
			path.WriteString("L" + x + " " + y)
		}
	}
	width, dash := "2", ""
	switch m.Shape {
	case Dashed:
		width, dash = "1.5", ` stroke-dasharray="5 4"`
	case Dotted:
		dash = ` stroke-dasharray="2 3"`
	case Steps:
		if dashes := StepDashes(m.Color); dashes != "" {
			dash = ` stroke-dasharray="` + dashes + `"`
		}
	}
	fmt.Fprintf(&d.b, `<path d="%s" stroke="%s" stroke-width="%s" fill="none"%s/>`, path.String(), d.colors(ColorName(m.Color)), width, dash)
}

// numbers are the attributes that hold a point's values.
func (d *drawing) numbers(p Point) string {
	if !d.values {
		return ""
	}
	s := fmt.Sprintf(` data-x="%s" data-y="%s"`, value(p.X), value(p.Y))
	for _, v := range []struct {
		name string
		v    *float64
	}{{"lo", p.Lo}, {"hi", p.Hi}, {"to", p.To}} {
		if v.v != nil {
			s += fmt.Sprintf(` data-%s="%s"`, v.name, value(*v.v))
		}
	}
	return s
}

// symbol draws a point with its interval. X is where it stands when series
// stand beside one another.
func (d *drawing) symbol(m Mark, p Point, x float64) {
	if !on(d.X, p.X) || !on(d.Y, p.Y) {
		return
	}
	cx, cy := d.x(x), d.y(p.Y)
	color := ColorName(m.Color)
	if p.Lo != nil && p.Hi != nil {
		if len(d.Y.Categories) > 0 {
			lo, hi := d.x(*p.Lo), d.x(*p.Hi)
			fmt.Fprintf(&d.b, `<path d="M%s %sH%sM%s %sv10M%s %sv10" stroke="%s" stroke-width="2" fill="none"/>`, px(lo), px(cy), px(hi), px(lo), px(cy-5), px(hi), px(cy-5), d.colors(color))
		} else {
			lo, hi := d.y(*p.Lo), d.y(*p.Hi)
			fmt.Fprintf(&d.b, `<path d="M%s %sV%sM%s %sh10M%s %sh10" stroke="%s" stroke-width="2" fill="none"/>`, px(cx), px(lo), px(hi), px(cx-5), px(lo), px(cx-5), px(hi), d.colors(color))
		}
	}
	switch m.Shape {
	case Raw:
		fmt.Fprintf(&d.b, `<circle cx="%s" cy="%s" r="3" fill="%s" opacity=".45"%s/>`, px(cx), px(cy), d.colors(color), d.numbers(p))
	case Dots, Line:
		d.put(cx, cy, m.Color, d.numbers(p))
	}
}

// areas draws bars and fields.
func (d *drawing) areas(m Mark) {
	row := d.height / float64(max(len(d.Y.Categories), 1))
	for _, p := range m.Point {
		y := d.y(p.Y) - row/2
		if m.Shape == Cells {
			w := d.width / float64(max(len(d.X.Categories), 1))
			d.rect(d.x(p.X)-w/2+1, y+1, w-2, row-2, m.Color, d.numbers(p))
			d.text(d.x(p.X), d.y(p.Y)+4, "middle", "--ink", p.Label)
			continue
		}
		to := p.X
		if p.To != nil {
			to = *p.To
		}
		from, high := 0.18, 0.68
		if m.Shape == Thin {
			from, high = 0.02, 0.14
		}
		d.rect(d.x(p.X), y+from*row, max(d.x(to)-d.x(p.X), 0.6), high*row, m.Color, d.numbers(p))
	}
}

// rowLabels writes the labels beside the plot.
func (d *drawing) rowLabels() {
	for _, m := range d.Marks {
		if m.Shape == Cells {
			continue
		}
		for _, p := range m.Point {
			if p.Label == "" {
				continue
			}
			lines := strings.Split(p.Label, "\n")
			y := d.y(p.Y) + 4 - textHeight/2*float64(len(lines)-1)
			for i, line := range lines {
				d.text(d.left+d.width+12, y+textHeight*float64(i), "start", "--ink", line)
			}
		}
	}
}
