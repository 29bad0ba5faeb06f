package charts

// Figure is what a figure shows.
type Figure struct {
	ID string `json:"id"`
	// Title states the finding, Aid tells in one line how to read the figure, Alt
	// what it shows to somebody who cannot see it.
	Title string `json:"title"`
	Aid   string `json:"aid"`
	Alt   string `json:"alt"`
	// N says how many trials are behind it.
	N int `json:"n"`
	// Group is the heading it stands under: the workload.
	Group string `json:"group"`
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`
	Marks []Mark `json:"marks"`
	// Table is the ID of the table with the data behind it, in the report.
	Table string `json:"table"`
	// Base tells the absolute times behind ratios and speedups.
	Base string `json:"base,omitempty"`
	// Parity draws a line at this value of the x axis; nil for none.
	Parity *float64 `json:"parity,omitempty"`
}

// Axis is an axis of a figure.
type Axis struct {
	Name string `json:"name"` // with unit: "makespan (s)"
	// Categories makes it an axis of categories; a mark's coordinate is then an
	// index. A category axis Y runs from top to bottom.
	Categories []string `json:"categories,omitempty"`
	Log        bool     `json:"log,omitempty"`
	Min        float64  `json:"min"`
	Max        float64  `json:"max"`
	// Percent shows shares of 1 in per cent.
	Percent bool `json:"percent,omitempty"`
	// Ticks are the only values to be labelled; nil for a regular division.
	Ticks []float64 `json:"ticks,omitempty"`
}

// Mark is the points of one series, drawn in one way.
type Mark struct {
	Series string `json:"series"`
	// Color is the index of the series on the page, Ideal, a Part or a Shade.
	Color int     `json:"color"`
	Shape Shape   `json:"shape"`
	Point []Point `json:"points"`
}

// Ideal is the Color of lines that are not measured.
const Ideal = -1

// Parts and shades have palettes of their own, so that a colour of a series
// never means something else.
const (
	firstPart  = 1000
	firstShade = 2000

	// Parts is the number of colours of parts, Shades that of shades.
	Parts  = 8
	Shades = 7
)

// Part is the Color of the i-th part of a whole: a clock, a kind of task.
func Part(i int) int { return firstPart + i%Parts }

// Shade is the Color of a step on a scale with two ends, from 0 to Shades-1;
// the one in the middle is neutral.
func Shade(i int) int { return firstShade + min(max(i, 0), Shades-1) }

// Shape says how the points of a mark are drawn.
type Shape string

// The shapes.
const (
	Dots   Shape = "dots"   // large symbols, intervals along the value axis
	Line   Shape = "line"   // as Dots, joined by a line
	Raw    Shape = "raw"    // small faint circles: single trials, workers
	Steps  Shape = "steps"  // a step line without symbols, in a pattern of its series
	Dashed Shape = "dashed" // a dashed line without symbols
	Bars   Shape = "bars"   // bars along the x axis, from X to To, in the row Y
	Dotted Shape = "dotted" // a dotted line without symbols: a bound
	Thin   Shape = "thin"   // as Bars, but low ones at the upper edge of the row
	Cells  Shape = "cells"  // fields of a grid of two axes of categories, with their labels
)

// stepTypes are the kinds of lines of Steps, which have no symbols: colour is
// not all that tells them apart. The names are those of ECharts.
var stepTypes = []struct{ name, dashes string }{{"solid", ""}, {"dashed", "6 2"}, {"dotted", "2 2"}}

// StepDashes is the stroke-dasharray of the step line of a series.
func StepDashes(color int) string { return stepTypes[color%len(stepTypes)].dashes }

// area tells that a mark covers an area instead of setting symbols.
func (s Shape) area() bool { return s == Bars || s == Thin || s == Cells }

// Point is a mark's point. Lo and Hi are the ends of its interval; nil without
// one. Label is set beside the plot in figures with categories on Y, and Name
// is shown when the pointer is on it; a Name that starts with a digit is a
// value of the mark's series.
type Point struct {
	X     float64  `json:"x"`
	Y     float64  `json:"y"`
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
	Label string   `json:"label,omitempty"`
	Name  string   `json:"name,omitempty"`
	// To is the end of a bar that begins at X.
	To *float64 `json:"to,omitempty"`
}

// NumberOfMarks is how many symbols, bars and fields the figure draws for its
// points, lines without symbols aside.
func (f Figure) NumberOfMarks() int {
	n := 0
	for _, m := range f.Marks {
		if m.Shape == Dots || m.Shape == Line || m.Shape == Raw || m.Shape.area() {
			n += len(m.Point)
		}
	}
	return n
}

// Height is the height of the figure in pixels: rows of categories need room.
func (f Figure) Height() int {
	if n := len(f.Y.Categories); n > 0 {
		return 96 + 34*n
	}
	return 400
}
