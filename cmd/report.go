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
	Table    string
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
and needs no network; --json, --csv and --markdown print to standard output.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: `  esched report runs/2026-01-31T10-04-12-overhead
  esched report runs/a runs/b --output both.html
  esched report runs/a --csv > trials.csv`,
		Args: between(1, 1000),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Runs = args
			return runReport(o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "file to write the page to")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
	f.BoolVar(&o.CSV, "csv", false, "print a table as CSV")
	f.BoolVar(&o.Markdown, "markdown", false, "print the report as Markdown")
	f.StringVar(&o.Table, "table", "trials", "table that --csv prints: trials, cells, ratios, decisions, ...")
	return c
}

func runReport(o reportOptions) error {
	chosen := 0
	for _, on := range []bool{o.JSON, o.CSV, o.Markdown, o.Output != ""} {
		if on {
			chosen++
		}
	}
	if chosen > 1 {
		return usageError("give one of --output, --json, --csv, --markdown", "more than one form of the report asked for")
	}
	r, err := o.buildReport(o.Runs)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		return r.WriteJSON(o.Stdout)
	case o.CSV:
		return r.WriteCSV(o.Stdout, o.Table)
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

// buildReport reads the runs and makes their report.
func (p Process) buildReport(dirs []string) (*report.Report, error) {
	var runs []*record.Run
	for _, dir := range dirs {
		run, err := record.Read(p.path(dir))
		if err != nil {
			return nil, hint.WithExit(err, hint.ExitUsage)
		}
		runs = append(runs, run)
	}
	return report.Build(runs)
}

// writeReport makes the report of the session's run beside its records.
func (s *session) writeReport() (string, error) {
	r, err := s.buildReport([]string{s.dir})
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
