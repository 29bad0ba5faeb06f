package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// writeJSON writes a report or a comparison as one JSON object.
func writeJSON(w io.Writer, what string, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("%s as JSON: %w", what, err)
	}
	return nil
}

// prose is what a report or a comparison says in sentences.
type prose struct {
	title, headline string
	facts, careful  []string
	how             string // title of the methods
	methods         []string
}

// sentences are some under a title.
type sentences struct {
	title string
	lines []string
}

// lists are the lists of sentences that are not empty.
func (p prose) lists() []sentences {
	var all []sentences
	for _, s := range []sentences{{"Facts", p.facts}, {"Be careful", p.careful}} {
		if len(s.lines) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// writeMarkdown writes the sentences, and the tables that have rows.
func (p prose) writeMarkdown(w io.Writer, what string, tables []*Table) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s**\n", markdown(p.title), markdown(p.headline))
	for _, list := range p.lists() {
		fmt.Fprintf(&b, "\n## %s\n\n", list.title)
		for _, l := range list.lines {
			fmt.Fprintf(&b, "- %s\n", markdown(l))
		}
	}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			markdownTable(&b, t)
		}
	}
	fmt.Fprintf(&b, "\n## %s\n", p.how)
	for _, m := range p.methods {
		fmt.Fprintf(&b, "\n%s\n", markdown(m))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("%s as Markdown: %w", what, err)
	}
	return nil
}

func markdownTable(b *strings.Builder, t *Table) {
	fmt.Fprintf(b, "\n## %s\n\n", markdown(t.Title))
	if t.Note != "" {
		fmt.Fprintf(b, "%s\n\n", markdown(t.Note))
	}
	for _, c := range t.Columns {
		fmt.Fprintf(b, "| %s ", markdown(c.Name))
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
			fmt.Fprintf(b, "| %s ", markdown(t.Columns[i].Text(v)))
		}
		b.WriteString("|\n")
	}
}

// markdown escapes what Markdown would take for markup, and line ends, which
// would end a table's row.
func markdown(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`).Replace(s)
}
