package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// comparedTables are the tables of a comparison but those of figures.
var comparedTables = []string{TableCompared, TableUncompared, TableDifferences}

// WriteJSON writes everything the comparison says as one JSON object. Numbers
// are in full; what has no value is null.
func (c *Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, "comparison", c) }

// WriteMarkdown writes the sentences and all tables but those of figures.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var tables []*Table
	for _, id := range comparedTables {
		tables = append(tables, c.Table(id))
	}
	return prose{c.Title, c.Headline, c.Facts, c.Careful, "How it was compared", c.Methods}.writeMarkdown(w, "comparison", tables)
}

// WriteText writes the sentences and the most important columns, for a
// terminal.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A  %s\nB  %s\n\n%s\n", c.A.words(), c.B.words(), wrapped(c.Headline, ""))
	if len(c.Cells) > 0 {
		b.WriteByte('\n')
		c.writeRows(&b)
	}
	for _, list := range (prose{facts: c.Facts, careful: c.Careful}).lists() {
		fmt.Fprintf(&b, "\n%s\n", list.title)
		for _, l := range list.lines {
			b.WriteString("- " + wrapped(l, "  ") + "\n")
		}
	}
	if t := c.Table(TableDifferences); len(t.Rows) > 0 {
		fmt.Fprintf(&b, "\n%s\n", t.Title)
		for _, d := range c.Differences {
			fmt.Fprintf(&b, "- %s\n", wrapped(fmt.Sprintf("%s: %s in A, %s in B", d.What, d.A, d.B), "  "))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("comparison as text: %w", err)
	}
	return nil
}

func (s Side) words() string {
	text := fmt.Sprintf("%s, %s with a result", s.Run, plural(s.OK, "trial"))
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d without", s.Failed)
	}
	if s.Esched != "" {
		text += ", esched " + s.Esched
	}
	return text
}

// textWidth is the width of the lines of running text.
const textWidth = 100

// wrapped breaks a text into lines, the later ones indented.
func wrapped(text, indent string) string {
	var b strings.Builder
	width := utf8.RuneCountInString(indent)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+n > textWidth:
			b.WriteString("\n" + indent)
			width = utf8.RuneCountInString(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// writeRows writes a line for each cell; what is the same in all stands above.
func (c *Comparison) writeRows(b *strings.Builder) {
	t := c.Table(TableCompared)
	same := sameColumns(t)
	rows := [][]string{nil}
	var left []bool
	add := func(name string, isText bool) { rows[0], left = append(rows[0], name), append(left, isText) }
	var common []string
	var conditions []int
	for i, column := range t.Columns {
		switch column.Key {
		case "workload", "size", "workers", "nodes", "threads", "variant":
		default:
			continue
		}
		switch {
		case same[i] && column.Text(t.Rows[0][i]) != missing:
			common = append(common, strings.ToLower(column.Name)+" "+column.Text(t.Rows[0][i]))
		case !same[i]:
			conditions = append(conditions, i)
			add(column.Name, column.Format == FormatText)
		}
	}
	for _, name := range []string{"Series", "A (s)", "B (s)", "B/A", "95 % interval", "B - A (s)", "p (Holm)", "A12", "B is"} {
		add(name, name == "Series" || name == "95 % interval" || name == "B is")
	}
	for i, x := range c.Cells {
		var row []string
		for _, k := range conditions {
			row = append(row, t.Columns[k].Text(t.Rows[i][k]))
		}
		rows = append(rows, append(row, x.textCells()...))
	}
	if common != nil {
		fmt.Fprintf(b, "In all cells: %s\n\n", strings.Join(common, ", "))
	}
	align(b, rows, left)
}

func (x ComparedCell) textCells() []string {
	interval, p := "too few", missing
	if iv := x.Ratio.Interval; iv != nil {
		interval = "[" + number(FormatRatio, iv.Lo) + ", " + number(FormatRatio, iv.Hi) + "]"
	}
	if x.HolmP != nil {
		p = number(FormatRatio, *x.HolmP)
	}
	verdict := string(x.Ratio.Verdict)
	if mark := x.mark(); mark != "" {
		verdict += ", " + mark
	}
	return []string{x.Series, number(FormatSeconds, x.A.GeoMean), number(FormatSeconds, x.B.GeoMean), number(FormatRatio, x.Ratio.Value), interval,
		number(FormatSeconds, x.Difference.Value), p, number(FormatRatio, x.A12), verdict}
}

// align writes rows with their columns below one another.
func align(b *strings.Builder, rows [][]string, left []bool) {
	width := make([]int, len(left))
	for _, row := range rows {
		for i, text := range row {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
			if left[i] {
				line.WriteString(text + pad)
			} else {
				line.WriteString(pad + text)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
