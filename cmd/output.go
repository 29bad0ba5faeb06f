package cmd

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// printJSON writes v indented, as every --json does.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table lines up columns of text. A cell that begins with a digit is set
// flush right when its whole column is numbers.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table; the last column is not padded.
func (t *table) print(w io.Writer) error {
	width := make([]int, len(t.head))
	right := make([]bool, len(t.head))
	for i, h := range t.head {
		width[i], right[i] = utf8.RuneCountInString(h), len(t.rows) > 0
		for _, r := range t.rows {
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
			right[i] = right[i] && (r[i] == "" || r[i][0] >= '0' && r[i][0] <= '9')
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		var l strings.Builder
		for i, c := range cells {
			if i > 0 {
				l.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if right[i] {
				c, pad = pad, c
			}
			l.WriteString(c + pad)
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(t.head)
	for _, r := range t.rows {
		line(r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
