package cmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

type compareOptions struct {
	*globals
	A, B      string
	HTML      string
	JSON      bool
	Markdown  bool
	Threshold string
}

func newCompare(g *globals) *cobra.Command {
	o := compareOptions{globals: g}
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "compare the times of two runs, cell by cell",
		Long: withExits(`
Compare the run in directory B (after) with the one in A (before). For each
cell (workload, size, scheduler, policy, nodes, workers) that both measured, it
prints the difference and the ratio of the times with 95 % intervals, a rank
test corrected for the number of cells, and the size of the effect; and it says
what cannot be compared, and what else differs: hosts, versions, settings.

Repetitions are paired when both runs have the same seed and plan. With
--threshold it exits with 5 when B is slower by more than that in some cell:
the whole interval has to be beyond, so that chance alone seldom does it.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitThreshold),
		Example: `  esched compare runs/monday runs/tuesday
  esched compare runs/monday runs/tuesday --threshold 5%
  esched compare runs/monday runs/tuesday --html compared.html
  esched compare runs/monday runs/tuesday --json > compared.json`,
		Args: between(2, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			o.A, o.B = args[0], args[1]
			return runCompare(o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.HTML, "html", "", "file to write the comparison to as a page")
	f.BoolVar(&o.JSON, "json", false, "print the comparison as JSON")
	f.BoolVar(&o.Markdown, "markdown", false, "print the comparison as Markdown")
	f.StringVar(&o.Threshold, "threshold", "", "exit with 5 when B is slower by more than this, as in 5%")
	return c
}

func runCompare(o compareOptions) error {
	if o.JSON && o.Markdown {
		return usageError("give one of --json, --markdown", "more than one form of the comparison asked for")
	}
	var options report.CompareOptions
	if o.Threshold != "" {
		limit, err := percentage(o.Threshold)
		if err != nil {
			return err
		}
		options.Threshold = &limit
	}
	c, err := o.compare(options)
	if err != nil {
		return err
	}
	if o.HTML != "" {
		if err := o.replaceFile(o.HTML, c.WriteHTML); err != nil {
			return hint.With(fmt.Errorf("comparison: %w", err), "name a file that you can write to with --html")
		}
	}
	switch {
	case o.JSON:
		err = c.WriteJSON(o.Stdout)
	case o.Markdown:
		err = c.WriteMarkdown(o.Stdout)
	case o.HTML != "":
		_, err = fmt.Fprintln(o.Stdout, o.HTML)
	default:
		err = c.WriteText(o.Stdout)
	}
	if err != nil {
		return err
	}
	return judged(c.Threshold)
}

// compare reads both runs and compares them.
func (o compareOptions) compare(options report.CompareOptions) (*report.Comparison, error) {
	var runs [2]*record.Run
	for i, dir := range []string{o.A, o.B} {
		run, err := record.Read(o.path(dir))
		if err != nil {
			return nil, hint.WithExit(err, hint.ExitUsage)
		}
		runs[i] = run
	}
	return report.Compare(runs[0], runs[1], options)
}

// percentage reads "5%" as 0.05. The sign is asked for because 0.05 and 5 both
// look like five per cent to somebody.
func percentage(text string) (float64, error) {
	digits, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, usageError("give a percentage of 0 or more, as in --threshold 5%", "threshold %q: not a percentage", text)
	}
	return v / 100, nil
}

// judged is the error of a threshold that was exceeded, or that nothing could
// be held against: a gate must not open because there was nothing to look at.
func judged(t *report.Threshold) error {
	switch {
	case t == nil:
		return nil
	case t.Judged == 0:
		return hint.With(fmt.Errorf("threshold of %g %%: no cell could be judged", 100*t.Limit),
			"compare runs that have a cell in common, with at least 3 repetitions in both")
	case len(t.Beyond) > 0:
		err := fmt.Errorf("threshold of %g %%: B is slower than A by more in %d of %d cells: %s", 100*t.Limit, len(t.Beyond), t.Judged, strings.Join(t.Beyond, "; "))
		return hint.WithExit(hint.With(err, "look at these cells with esched compare A B --html FILE"), hint.ExitThreshold)
	}
	return nil
}
