package cmd

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// reportFile is the name of the report in a run directory.
const reportFile = "report.html"

type reportOptions struct {
	*globals
	Runs     []string
	Output   string
	JSON     bool
	CSV      bool
	Markdown bool
	LaTeX    bool
	Table    string
	Layout   string
	Figures  string
	Tables   string

	tableGiven bool
}

func newReport(g *globals) *cobra.Command {
	o := reportOptions{globals: g}
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "make the report of one or several runs",
		Long: withExits(`
Make the report of the runs in the directories RUN from what they recorded;
nothing is run again. Runs of the same experiment add repetitions to the same
cells. The HTML page is written to report.html in the first RUN, or to --output,
and needs no network; --json, --csv, --latex and --markdown print to standard
output instead.

--figures writes each figure as an SVG file for papers, --tables each table as
CSV and LaTeX, into a directory. All forms show the same numbers. With --layout
paper the figures are those of the lab report on an external scheduler for Dask,
under its numbers, with its published values beside ours.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: `  esched report runs/2026-01-31T10-04-12-overhead
  esched report runs/a runs/b --output both.html
  esched report runs/a --csv > trials.csv
  esched report runs/montecarlo runs/sql --layout paper --output paper.html
  esched report runs/a --figures paper/figures --tables paper/tables`,
		Args: between(1, 1000),
		RunE: func(c *cobra.Command, args []string) error {
			o.Runs, o.tableGiven = args, c.Flags().Changed("table")
			return runReport(o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "file to write the page to")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
	f.BoolVar(&o.CSV, "csv", false, "print a table as CSV")
	f.BoolVar(&o.LaTeX, "latex", false, "print a table as LaTeX")
	f.StringVar(&o.Layout, "layout", "usual", "order of the report: usual, or paper (section 5 of the lab report, figure by figure)")
	f.StringVar(&o.Figures, "figures", "", "directory to write the figures to, as SVG")
	f.StringVar(&o.Tables, "tables", "", "directory to write the tables to, as CSV and LaTeX")
	f.BoolVar(&o.Markdown, "markdown", false, "print the report as Markdown")
	f.StringVar(&o.Table, "table", "trials", "table that --csv and --latex print: trials, cells, ratios, decisions, ...")
	return c
}

func runReport(o reportOptions) error {
	chosen := 0
	for _, on := range []bool{o.JSON, o.CSV, o.LaTeX, o.Markdown, o.Output != ""} {
		if on {
			chosen++
		}
	}
	if chosen > 1 {
		return usageError("give one of --output, --json, --csv, --latex, --markdown", "more than one form of the report asked for")
	}
	if o.tableGiven && !o.CSV && !o.LaTeX {
		return usageError("add --csv or --latex", "--table %s: only --csv and --latex print a single table", o.Table)
	}
	layouts := map[string]report.Layout{"usual": report.LayoutUsual, "paper": report.LayoutPaper}
	layout, known := layouts[o.Layout]
	if !known {
		return usageError("choose usual or paper", "unknown layout %q", o.Layout)
	}
	r, err := o.buildReport(o.Runs, layout)
	if err != nil {
		return err
	}
	if err := o.writeParts(r); err != nil {
		return err
	}
	switch {
	case o.JSON:
		return r.WriteJSON(o.Stdout)
	case o.CSV:
		return r.WriteCSV(o.Stdout, o.Table)
	case o.LaTeX:
		return r.WriteLaTeX(o.Stdout, o.Table)
	case o.Markdown:
		return r.WriteMarkdown(o.Stdout)
	}
	path := o.Output
	if path == "" {
		path = filepath.Join(o.Runs[0], reportFile)
	}
	if err := o.replaceFile(path, r.WriteHTML); err != nil {
		return hint.With(fmt.Errorf("report: %w", err), "name a file that you can write to with --output")
	}
	_, err = fmt.Fprintln(o.Stdout, path)
	return err
}

// writeParts writes figures and tables into their directories.
func (o reportOptions) writeParts(r *report.Report) error {
	parts := []struct {
		dir   string
		flag  string
		files []report.File
	}{{o.Figures, "--figures", r.FigureFiles()}, {o.Tables, "--tables", r.TableFiles()}}
	for _, p := range parts {
		if p.dir == "" {
			continue
		}
		err := o.mkdirAll(p.dir, 0o755)
		for _, f := range p.files {
			if err == nil {
				err = o.replaceFile(filepath.Join(p.dir, f.Name), f.Write)
			}
		}
		if err != nil {
			return hint.With(fmt.Errorf("report: %w", err), "name a directory that you can write to with "+p.flag)
		}
	}
	return nil
}

// buildReport reads the runs and makes their report.
func (p Process) buildReport(dirs []string, layout report.Layout) (*report.Report, error) {
	var runs []*record.Run
	for _, dir := range dirs {
		run, err := record.Read(p.path(dir))
		if err != nil {
			return nil, hint.WithExit(err, hint.ExitUsage)
		}
		runs = append(runs, run)
	}
	return report.BuildWith(runs, report.Options{Timeline: (*record.Run).Timeline, Chain: (*record.Run).LongestChain, Layout: layout})
}

// writeReport makes the report of the session's run beside its records.
func (s *session) writeReport() (string, error) {
	r, err := s.buildReport([]string{s.dir}, report.LayoutUsual)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, reportFile)
	return path, s.replaceFile(path, func(w io.Writer) (err error) {
		defer func() { // figures are drawn by code that panics on surprises
			if problem := recover(); problem != nil {
				err = errors.Join(err, fmt.Errorf("drawing: %v", problem))
			}
		}()
		return r.WriteHTML(w)
	})
}
