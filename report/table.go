package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Table is numbers and words with the same columns in every form of the
// report. A cell holds a string, an int, a float64 (always finite), or nil
// when there is no value.
type Table struct {
	ID      string
	Title   string
	Columns []Column
	Rows    [][]any
	// Note is a line of explanation below the title.
	Note string
}

// Column says what is in a column. Key names it in JSON and CSV and ends in
// its unit.
type Column struct {
	Key    string `json:"key"`
	Name   string `json:"name"`
	Format Format `json:"format"`
}

// Format says how people are shown the values of a column; JSON and CSV have
// them in full.
type Format string

// The formats.
const (
	FormatText    Format = "text"
	FormatCount   Format = "count"   // 12,345
	FormatSeconds Format = "seconds" // 4.71
	FormatMicros  Format = "micros"  // 12.4
	FormatRatio   Format = "ratio"   // 0.723
	FormatPercent Format = "percent" // a share of 1, shown as 72.3
	FormatBytes   Format = "bytes"   // MiB
)

// missing stands for a value that is not there.
const missing = "–"

func (t *Table) add(cells ...any) {
	for i, c := range cells {
		if p, ok := c.(*float64); ok {
			c = nil
			if p != nil {
				c = *p
			}
		}
		if f, ok := c.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			c = nil
		}
		cells[i] = c
	}
	t.Rows = append(t.Rows, cells)
}

// Text returns a value as people are shown it.
func (c Column) Text(v any) string {
	switch v := v.(type) {
	case nil:
		return missing
	case string:
		if v == "" {
			return missing
		}
		return v
	case int:
		return count(v)
	case float64:
		return number(c.Format, v)
	}
	return fmt.Sprint(v)
}

func number(f Format, v float64) string {
	switch f {
	case FormatCount:
		return group(strconv.FormatFloat(math.Round(v), 'f', 0, 64))
	case FormatSeconds, FormatMicros:
		return significant(v)
	case FormatRatio:
		return ratioText(v)
	case FormatPercent:
		return group(strconv.FormatFloat(100*v, 'f', 1, 64))
	case FormatBytes:
		return group(strconv.FormatFloat(v/(1<<20), 'f', 1, 64))
	}
	return significant(v)
}

// significant shows three digits, and never fewer than all before the point.
func significant(v float64) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case a >= 99.95:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.0001:
		digits := 2 - int(math.Floor(math.Log10(a)))
		return strconv.FormatFloat(v, 'f', digits, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// ratioText shows two decimals: a third says nothing at the usual numbers of
// repetitions. Large and small ratios keep three digits.
func ratioText(v float64) string {
	if v >= 0.1 && v < 10 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return significant(v)
}

func count(n int) string { return group(strconv.Itoa(n)) }

// group puts commas between groups of three digits before the point.
func group(s string) string {
	sign, rest := "", s
	if strings.HasPrefix(s, "-") {
		sign, rest = "-", s[1:]
	}
	whole, fraction, point := strings.Cut(rest, ".")
	var b strings.Builder
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if point {
		b.WriteString("." + fraction)
	}
	return sign + b.String()
}

// MarshalJSON writes rows as objects with the columns' keys, in the columns'
// order.
func (t Table) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	head, err := json.Marshal(struct {
		ID      string   `json:"id"`
		Title   string   `json:"title"`
		Note    string   `json:"note,omitempty"`
		Columns []Column `json:"columns"`
	}{t.ID, t.Title, t.Note, t.Columns})
	if err != nil {
		return nil, err
	}
	b.Write(head[:len(head)-1])
	b.WriteString(`,"rows":[`)
	for i, row := range t.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, v := range row {
			b.WriteByte("{,"[min(j, 1)])
			value, err := json.Marshal(v)
			if err != nil {
				return nil, fmt.Errorf("table %s: %w", t.ID, err)
			}
			fmt.Fprintf(&b, "%q:%s", t.Columns[j].Key, value)
		}
		b.WriteByte('}')
	}
	b.WriteString("]}")
	return b.Bytes(), nil
}
