package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// WriteJSON writes everything the report says as one JSON object. Numbers are
// in full; what has no value is null.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report as JSON: %w", err)
	}
	return nil
}

// WriteCSV writes one table (TableTrials, TableCells, …) with a line of keys,
// numbers in full, and empty fields for what has no value.
func (r *Report) WriteCSV(w io.Writer, table string) error {
	t := r.Table(table)
	if t == nil {
		var ids []string
		for _, t := range r.Tables {
			ids = append(ids, t.ID)
		}
		err := fmt.Errorf("report has no table %q", table)
		return hint.WithExit(hint.With(err, "choose one of: "+strings.Join(ids, ", ")), hint.ExitUsage)
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
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s**\n", markdown(r.Title), markdown(r.Headline))
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		for _, l := range lines {
			fmt.Fprintf(&b, "- %s\n", markdown(l))
		}
	}
	list("Facts", r.Facts)
	list("Be careful", r.Careful)
	for _, t := range r.Tables {
		if strings.HasPrefix(t.ID, "data-") || len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", markdown(t.Title))
		if t.Note != "" {
			fmt.Fprintf(&b, "%s\n\n", markdown(t.Note))
		}
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "| %s ", markdown(c.Name))
		}
		b.WriteString("|\n")
		for _, c := range t.Columns {
			if c.Format == FormatText {
				b.WriteString("| --- ")
			} else {
				b.WriteString("| ---: ")
			}
		}
		b.WriteString("|\n")
		for _, row := range t.Rows {
			for i, v := range row {
				fmt.Fprintf(&b, "| %s ", markdown(t.Columns[i].Text(v)))
			}
			b.WriteString("|\n")
		}
	}
	b.WriteString("\n## How it was measured\n")
	for _, p := range r.Methods {
		fmt.Fprintf(&b, "\n%s\n", markdown(p))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report as Markdown: %w", err)
	}
	return nil
}

// markdown escapes what Markdown would take for markup, and line ends, which
// would end a table's row.
func markdown(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`).Replace(s)
}
