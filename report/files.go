package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/report/charts"
)

// File is one of the files that a report can be taken apart into. Write may be
// called several times.
type File struct {
	// Name is a file name without directories.
	Name  string
	Write func(w io.Writer) error
}

// FigureFiles are the figures as SVG, in colours for paper, named after their
// IDs.
func (r *Report) FigureFiles() []File {
	var all []File
	for _, f := range r.Figures {
		all = append(all, File{f.ID + ".svg", func(w io.Writer) error {
			if _, err := io.WriteString(w, charts.SVG(f, charts.OnPaper, true)); err != nil {
				return fmt.Errorf("figure %s as SVG: %w", f.ID, err)
			}
			return nil
		}})
	}
	return all
}

// TableFiles are the tables that are not empty, those of the figures too, each
// as CSV and as LaTeX, named after their IDs.
func (r *Report) TableFiles() []File {
	var all []File
	for _, t := range r.Tables {
		if len(t.Rows) == 0 {
			continue
		}
		all = append(all,
			File{t.ID + ".csv", func(w io.Writer) error { return r.WriteCSV(w, t.ID) }},
			File{t.ID + ".tex", func(w io.Writer) error { return r.WriteLaTeX(w, t.ID) }})
	}
	return all
}

// WriteLaTeX writes one table as a LaTeX longtable with the numbers as people
// are shown them. It needs the packages longtable and booktabs.
func (r *Report) WriteLaTeX(w io.Writer, table string) error {
	t, err := r.named(table)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("% needs \\usepackage{longtable,booktabs}\n\\begin{longtable}{@{}")
	var heads []string
	for _, c := range t.Columns {
		if c.Format == FormatText {
			b.WriteByte('l')
		} else {
			b.WriteByte('r')
		}
		heads = append(heads, latex(c.Name))
	}
	head := strings.Join(heads, " & ") + " \\\\\n"
	fmt.Fprintf(&b, "@{}}\n\\caption{%s}\\\\\n\\toprule\n%s\\midrule\n\\endfirsthead\n\\toprule\n%s\\midrule\n\\endhead\n", latex(t.Title), head, head)
	for _, row := range t.Rows {
		for i, v := range row {
			if i > 0 {
				b.WriteString(" & ")
			}
			b.WriteString(latex(t.Columns[i].Text(v)))
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{longtable}\n")
	if t.Note != "" {
		fmt.Fprintf(&b, "%% %s\n", strings.Join(strings.Fields(t.Note), " "))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report as LaTeX: %w", err)
	}
	return nil
}

// latex escapes what LaTeX would take for markup, and sets signs that fonts of
// old engines lack in their own way.
func latex(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return latexSigns.Replace(s)
}

var latexSigns = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
	"µ", `\textmu{}`, "–", "--", "±", `$\pm$`, "·", `\textperiodcentered{}`, "×", `$\times$`, "−", "$-$", "≤", `$\le$`, "≥", `$\ge$`, "[", "{[}", "]", "{]}")

// named returns a table, or an error that lists them.
func (r *Report) named(table string) (*Table, error) {
	if t := r.Table(table); t != nil {
		return t, nil
	}
	var ids []string
	for _, t := range r.Tables {
		ids = append(ids, t.ID)
	}
	err := fmt.Errorf("report has no table %q", table)
	return nil, hint.WithExit(hint.With(err, "choose one of: "+strings.Join(ids, ", ")), hint.ExitUsage)
}
