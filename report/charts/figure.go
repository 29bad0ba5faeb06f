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
	// Color is the index of the series on the page, or Ideal.
	Color int     `json:"color"`
	Shape Shape   `json:"shape"`
	Point []Point `json:"points"`
}

// Ideal is the Color of lines that are not measured.
const Ideal = -1

// Shape says how the points of a mark are drawn.
type Shape string

// The shapes.
const (
	Dots   Shape = "dots"   // large symbols, intervals along the value axis
	Line   Shape = "line"   // as Dots, joined by a line
	Raw    Shape = "raw"    // small faint circles: single trials, workers
	Steps  Shape = "steps"  // a step line without symbols
	Dashed Shape = "dashed" // a dashed line without symbols
)

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
}

// NumberOfMarks is how many symbols the figure draws for its points, lines
// without symbols aside.
func (f Figure) NumberOfMarks() int {
	n := 0
	for _, m := range f.Marks {
		if m.Shape == Dots || m.Shape == Line || m.Shape == Raw {
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
