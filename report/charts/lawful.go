package charts

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Lawful says what a figure lacks by the rules of Hoefler and Belli
// ("Scientific Benchmarking of Parallel Computing Systems", SC'15) that a
// figure can break: absolute times behind ratios (rule 1), what was measured
// and how often (rules 5 and 9), bounds (rule 11), lines only where values
// between points have a meaning (rule 12), and axes that do not mislead. It
// returns nil when nothing is wrong.
func (f Figure) Lawful() error {
	var wrong []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	for name, text := range map[string]string{"title": f.Title, "reading aid": f.Aid, "description": f.Alt, "name of the x axis": f.X.Name, "name of the y axis": f.Y.Name} {
		want(text != "", "no %s", name)
	}
	want(f.N > 0, "no number of trials")
	want(f.NumberOfMarks() > 0 || f.lines() > 0, "nothing to show")
	for _, a := range []Axis{f.X, f.Y} {
		if len(a.Categories) > 0 {
			continue
		}
		want(a.Max > a.Min, "axis %q has no length", a.Name)
		want(a.Name == "workers" || strings.Contains(a.Name, "("), "axis %q has no unit", a.Name)
		want(a.Log == strings.Contains(a.Name, "log axis"), "axis %q does not say whether it is logarithmic", a.Name)
		want(a.Log || a.Min == 0, "axis %q does not begin at 0", a.Name)
	}
	if f.Parity != nil || strings.HasPrefix(f.Y.Name, "speedup") {
		want(f.Base != "", "ratios without the absolute times behind them")
	}
	if f.X.Name == "workers" {
		want(f.has(Dashed), "no ideal line over workers")
	}
	want(!f.has(Line) || len(f.Y.Categories) == 0, "a line over categories without an order")
	want(f.finite(), "a value that is not finite")
	return errors.Join(wrong...)
}

func (f Figure) has(shape Shape) bool {
	for _, m := range f.Marks {
		if m.Shape == shape {
			return true
		}
	}
	return false
}

// lines counts the marks that are lines without symbols.
func (f Figure) lines() int {
	n := 0
	for _, m := range f.Marks {
		if m.Shape == Steps && len(m.Point) > 0 {
			n++
		}
	}
	return n
}

func (f Figure) finite() bool {
	for _, m := range f.Marks {
		for _, p := range m.Point {
			for _, v := range []*float64{&p.X, &p.Y, p.Lo, p.Hi, p.To} {
				if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
					return false
				}
			}
		}
	}
	return true
}
