package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

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
going on, which trials failed and why, and what happened last.`,
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
	Run      string                `json:"run"`
	Name     string                `json:"name"`
	State    string                `json:"state"`
	Started  time.Time             `json:"started"`
	Ended    time.Time             `json:"ended,omitzero"`
	Sessions int                   `json:"sessions"`
	Planned  int                   `json:"planned"`
	Trials   map[record.Status]int `json:"trials"`
	// Failures are the trials that are not ok, with the reason.
	Failures []trialFailure `json:"failures"`
	// Last is the last event.
	Last *record.Event `json:"last,omitempty"`
}

type trialFailure struct {
	Trial  string        `json:"trial"`
	What   string        `json:"what"`
	Status record.Status `json:"status"`
	Error  string        `json:"error"`
}

func runStatus(o statusOptions) error {
	if o.Run == "" {
		runs, err := o.runDirs(o.Output)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return usageError("name the directory of a run", "no run in %s", o.Output)
		}
		o.Run = runs[len(runs)-1]
	}
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
	f := runFacts{Run: o.Run, Name: m.Name, State: "stopped", Started: m.Started, Ended: m.Ended, Sessions: m.Sessions,
		Trials: map[record.Status]int{}, Failures: []trialFailure{}}
	for _, p := range m.Plan {
		if !p.Warmup {
			f.Planned++
		}
	}
	for _, r := range run.Records {
		if r.Warmup {
			continue
		}
		f.Trials[r.Status]++
		if r.Status != record.StatusOK {
			f.Failures = append(f.Failures, trialFailure{r.ID, r.Trial.String(), r.Status, r.Error})
		}
	}
	store, err := record.Open(o.path(o.Run))
	switch {
	case errors.Is(err, record.ErrInUse):
		f.State = "going on"
	case err == nil:
		_ = store.Close() // nothing was written
	}
	if f.State != "going on" && !m.Ended.IsZero() && f.Trials[record.StatusOK] >= f.Planned {
		f.State = "complete"
	} else if f.State != "going on" && !m.Ended.IsZero() {
		f.State = "ended"
	}
	if n := len(run.Events); n > 0 {
		f.Last = &run.Events[n-1]
	}
	return f
}

func (o statusOptions) printFacts(f runFacts) error {
	done := 0
	for _, n := range f.Trials {
		done += n
	}
	out := fmt.Sprintf("%s: %s, %d of %d trials recorded, %d ok\n", f.Run, f.State, done, f.Planned, f.Trials[record.StatusOK])
	out += fmt.Sprintf("started %s", f.Started.Local().Format(time.DateTime))
	if !f.Ended.IsZero() {
		out += fmt.Sprintf(", ended %s", f.Ended.Local().Format(time.DateTime))
	}
	out += "\n"
	for _, x := range f.Failures {
		out += fmt.Sprintf("%-8s %s: %s\n", x.Status, x.What, x.Error)
	}
	if f.State == "going on" && f.Last != nil {
		out += fmt.Sprintf("last: %s %s %s\n", f.Last.Time.Local().Format(time.TimeOnly), f.Last.Kind, f.Last.Message)
	}
	if f.State == "stopped" || f.State == "ended" {
		out += "complete it with: esched run --resume " + f.Run + "\n"
	}
	_, err := fmt.Fprint(o.Stdout, out)
	return err
}
