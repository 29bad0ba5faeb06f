package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteJSON writes everything the report says as one JSON object. Numbers are
// in full; what has no value is null.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, "report", r) }

// WriteCSV writes one table (TableTrials, TableCells, …) with a line of keys,
// numbers in full, and empty fields for what has no value.
func (r *Report) WriteCSV(w io.Writer, table string) error {
	t, err := r.named(table)
	if err != nil {
		return err
	}
	c := csv.NewWriter(w)
	line := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		line[i] = column.Key
	}
	if err := c.Write(line); err != nil {
		return fmt.Errorf("report as CSV: %w", err)
	}
	for _, row := range t.Rows {
		for i, v := range row {
			line[i] = full(v)
		}
		if err := c.Write(line); err != nil {
			return fmt.Errorf("report as CSV: %w", err)
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("report as CSV: %w", err)
	}
	return nil
}

// full writes a value with all its digits, as encoding/json does.
func full(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case float64:
		b, err := json.Marshal(v)
		if err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v)
}

// WriteMarkdown writes the sentences and all tables but those of figures.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var tables []*Table
	for i := range r.Tables {
		if !strings.HasPrefix(r.Tables[i].ID, "data-") {
			tables = append(tables, &r.Tables[i])
		}
	}
	return prose{r.Title, r.Headline, r.Facts, r.Careful, "How it was measured", r.Methods}.writeMarkdown(w, "report", tables)
}
