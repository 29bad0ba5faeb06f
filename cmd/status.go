package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/esched/esched/cmd/dashboard"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// goingOn is the state of a run that an esched writes to.
const goingOn = "going on"

type statusOptions struct {
	*globals
	Run    string
	Output string
	JSON   bool
}

func newStatus(g *globals) *cobra.Command {
	o := statusOptions{globals: g}
	c := &cobra.Command{
		Use:   "status [RUN]",
		Short: "say how a run stands",
		Long: withExits(`
Say how far the run in directory RUN (default: the latest one) is, whether it is
going on, which trials failed and why, and what happened last; of a run that is
going on also its reservation and deadline, how far each node came, the trial
that runs with its tasks and their rate, and when the run will have ended.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched status\n  esched status runs/2026-01-31T10-04-12-overhead --json",
		Args:    atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Run = args[0]
			}
			return runStatus(o)
		},
	}
	c.Flags().StringVar(&o.Output, "output", "runs", "directory with the runs")
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

// runFacts says how a run stands. State is "going on"; "complete" when all
// trials are ok; "ended" when some are not; "stopped" when it did not come to
// its end.
type runFacts struct {
	Run      string    `json:"run"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Sessions int       `json:"sessions"`
	// Conductor is the process of a run in the background that is going on.
	Conductor *conductor `json:"conductor,omitempty"`
	// Log is what a run in the background printed, "" when it never was there.
	Log string `json:"log,omitempty"`
	// Report is the page of a run that is over, ExitCode what it ended with.
	Report   string `json:"report,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// Warnings tell what of the run's files could not be read.
	Warnings []string `json:"warnings,omitempty"`
	dashboard.Facts
}

func runStatus(o statusOptions) error {
	var err error
	if o.Run, err = o.chosenRun(o.Run, o.Output); err != nil {
		return err
	}
	return o.print()
}

// print tells how the run stands.
func (o statusOptions) print() error {
	run, err := record.Read(o.path(o.Run))
	if err != nil {
		return hint.WithExit(err, hint.ExitUsage)
	}
	f := o.facts(run)
	if o.JSON {
		return printJSON(o.Stdout, f)
	}
	return o.printFacts(f)
}

func (o statusOptions) facts(run *record.Run) runFacts {
	m := run.Manifest
	used, err := record.InUse(o.path(o.Run))
	goesOn := err == nil && used
	progress, _ := record.ReadProgress(o.path(o.Run)) // one that cannot be read is replaced within a second
	f := runFacts{
		Run: o.Run, Name: m.Name, State: "stopped", Started: m.Started, Ended: m.Ended, Sessions: m.Sessions,
		Facts: dashboard.FactsOf(run, progress, goesOn, o.Now()),
	}
	if log := filepath.Join(o.Run, conductorLog); o.exists(log) {
		f.Log = log
	}
	if report := filepath.Join(o.Run, reportFile); !goesOn && o.exists(report) {
		f.Report = report
	}
	if !m.Ended.IsZero() {
		f.ExitCode = &m.ExitCode
	}
	if !goesOn { // a line that is being written looks damaged
		f.Warnings = run.Warnings
	}
	switch {
	case goesOn:
		f.State = goingOn
		f.Conductor = o.conductorOf(o.Run)
	case m.Ended.IsZero():
	case f.Trials[record.StatusOK] >= f.Planned:
		f.State = "complete"
	default:
		f.State = "ended"
	}
	return f
}

func (o statusOptions) printFacts(f runFacts) error {
	out := fmt.Sprintf("%s: %s, %d of %d trials recorded, %d ok\n", f.Run, f.State, f.Recorded(), f.Planned, f.Trials[record.StatusOK])
	var clocks []string
	if !f.Started.IsZero() {
		clocks = append(clocks, "started "+f.Started.Local().Format(time.DateTime))
	}
	if !f.Ended.IsZero() {
		clocks = append(clocks, "ended "+f.Ended.Local().Format(time.DateTime))
	}
	if len(clocks) > 0 {
		out += strings.Join(clocks, ", ") + "\n"
	}
	for _, w := range f.Warnings {
		out += "warning: " + w + "\n"
	}
	for _, line := range f.Lines(time.Local) {
		out += line + "\n"
	}
	if c := f.Conductor; c != nil {
		out += fmt.Sprintf("in the background, process %d on %s; esched watch %s\n", c.PID, c.Host, f.Run)
	}
	if f.State == goingOn && f.Last != nil {
		out += fmt.Sprintf("last: %s %s %s\n", f.Last.Time.Local().Format(time.TimeOnly), f.Last.Kind, f.Last.Message)
	}
	if f.Log != "" {
		out += "log: " + f.Log + "\n"
	}
	if f.State == "stopped" || f.State == "ended" {
		out += "complete it with: esched run --resume " + f.Run + "\n"
	}
	_, err := fmt.Fprint(o.Stdout, out)
	return err
}
