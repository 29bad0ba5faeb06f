package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

type runOptions struct {
	*globals
	selection
	Output   string
	Resume   string
	FailFast bool
	Plain    bool
	Detach   bool
	JSON     bool
	Trace    int // tasks of a trial whose times are kept

	conductor bool // this process was started by --detach
}

func (o *runOptions) addFlags(f *pflag.FlagSet) {
	o.selection.addFlags(f)
	f.StringVar(&o.Output, "output", "runs", "directory in which the run gets its own")
	f.StringVar(&o.Resume, "resume", "", "complete the run in this directory")
	f.BoolVar(&o.FailFast, "fail-fast", false, "skip the rest after the first trial that fails")
	f.BoolVar(&o.Plain, "plain", false, "plain lines, also on a terminal")
	f.BoolVar(&o.JSON, "json", false, "print JSON at the end, and lines to standard error")
	f.BoolVar(&o.Detach, "detach", false, "go on in the background, also after logout")
	f.IntVar(&o.Trace, "trace", 0, "keep the times of at most so many tasks of each trial of the first repetition")
	f.BoolVar(&o.conductor, "conductor", false, "")
	_ = f.MarkHidden("conductor") // it exists
}

func newRun(g *globals) *cobra.Command {
	o := &runOptions{globals: g}
	c := &cobra.Command{
		Use:   "run [FILE]",
		Short: "run an experiment, from nodes to report",
		Long: withExits(`
Run the experiment that FILE (default: experiments.toml) describes: reserve
nodes, start schedulers and workers, run every trial of the plan, tear all down,
write the report. On a terminal a dashboard shows what happens; elsewhere plain
lines do.

With --trace the report shows when which worker executed what, in the first
repetition. That costs Dask's scheduler a few microseconds a task; the report
says which trials were traced.

The run is a directory, RUNS/<time>-<name>, that holds the manifest, the
records, the events, the logs and the report. A trial that fails is recorded and
the run goes on. "esched plan --help" says how --only selects trials.

Ctrl-C (or SIGTERM, SIGHUP) stops now: the trial that is running is given up,
everything is torn down, the report tells of what there is. A second Ctrl-C does
not wait for an orderly end. "q" in the dashboard stops after the current trial.
With --detach the command returns when the run has begun, and the run goes on in
the background; "esched watch" shows it and stops it. Errors in the file are
told at once. What the site's rules or the queue would never grant is refused
before a run is made.

What does not fit into the claim waits for the next one, if the cluster's option
claims allows several in a row; else it is skipped.

With --json the lines go to standard error, and at the end standard output gets
one object, that of "esched status --json"; nothing when no run was made.

A stopped or killed run is completed with --resume: trials that are ok are kept,
others run (again). The options of the first session hold unless given anew.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitTrials, hint.ExitNoNodes, hint.ExitInterrupted),
		Example: `  esched run
  esched run overhead.toml --only 'workload=montecarlo,nodes<=4'
  esched run --fail-fast --plain
  esched run --cluster das6 --detach
  esched run --resume runs/2026-01-31T10-04-12-overhead`,
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.given = c.Flags()
			if len(args) > 0 {
				o.File = args[0]
			}
			return runRun(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// session is one execution of esched on a run directory.
type session struct {
	*runOptions
	experiment *runners.Experiment
	plan       *runners.Plan
	store      *record.Store
	// dir is the run directory as people see it, absolute when it was given so.
	dir string
	// earlier is what was there before, nil for a new run.
	earlier *record.Run
	resumed runners.Resumption
	runner  *runners.Runner
	view    *view // of what happens
	// estimate is what the plan was expected to take at the beginning.
	estimate runners.Estimate
	// own is the user's own environment, looked at before the run had a
	// directory; nil for a pinned one.
	own *pyenv.Environment
	// paths are where trials find their data, by dataKey.
	paths map[string]string
}

// maxTrace bounds --trace: the times of more tasks do not fit into a message
// of the driver.
const maxTrace = 100_000

func runRun(ctx context.Context, o *runOptions) error {
	if o.Trace < 0 || o.Trace > maxTrace {
		return usageError(fmt.Sprintf("give a number of tasks from 0 to %d", maxTrace), "--trace %d: too many or too few tasks", o.Trace)
	}
	if o.Detach && !o.conductor {
		return o.detach()
	}
	s := &session{runOptions: o}
	var err error
	if o.Resume != "" {
		err = s.reopen(ctx)
	} else {
		err = s.create(ctx)
	}
	if err != nil {
		return err
	}
	if o.conductor {
		err = s.conduct()
	}
	if err == nil {
		err = s.execute(ctx)
	}
	if closing := s.store.Close(); err == nil {
		err = closing
	}
	if o.JSON && !o.conductor {
		printed := statusOptions{globals: o.globals, Run: s.dir, JSON: true}.print()
		if err == nil {
			err = printed
		}
	}
	return err
}

// create makes the directory of a new run.
func (s *session) create(ctx context.Context) error {
	var err error
	if s.experiment, s.plan, err = s.load(s.globals); err != nil {
		return err
	}
	if err = s.checkRequest(ctx); err != nil {
		return err
	}
	if err = s.lookAtOwn(ctx); err != nil {
		return err
	}
	if err = s.lookAtData(ctx); err != nil {
		return err
	}
	m := s.manifest(ctx, s.experiment, s.plan)
	m.ID = runName(m.Started, s.experiment.Name)
	for n := 2; ; n++ { // two runs may begin in the same second
		s.dir = filepath.Join(s.Output, m.ID)
		if _, err := s.stat(s.dir); err != nil {
			break
		}
		m.ID = fmt.Sprintf("%s-%d", runName(m.Started, s.experiment.Name), n)
	}
	s.store, err = record.Create(s.path(s.dir), m)
	return err
}

// reopen continues an earlier run.
func (s *session) reopen(ctx context.Context) error {
	s.dir = filepath.Clean(s.Resume)
	store, err := record.Open(s.path(s.dir)) // refuses a run that is going on
	if err != nil {
		return hint.WithExit(err, hint.ExitUsage)
	}
	s.store = store
	if err := s.reload(ctx); err != nil {
		return errors.Join(err, store.Close())
	}
	return nil
}

func (s *session) reload(ctx context.Context) error {
	var err error
	if s.earlier, err = record.Read(s.path(s.dir)); err != nil {
		return err
	}
	first := s.earlier.Manifest
	s.inherit(s.globals, first)
	if s.experiment, s.plan, err = s.load(s.globals); err != nil {
		return err
	}
	s.plan.Continue(s.experiment, s.Only, first.Plan)
	s.resumed = runners.Resume(s.earlier, s.plan)
	now := s.manifest(ctx, s.experiment, s.plan)
	s.resumed.Warnings = append(s.resumed.Warnings, runners.Changes(first, now)...)
	// What a killed session left would share the machine with our trials.
	if _, err := deploy.Clean(s.path(s.dir)); err != nil {
		s.resumed.Warnings = append(s.resumed.Warnings, "leftovers of the earlier session: "+err.Error())
	}
	if len(s.resumed.Done) < s.plan.Trials() {
		if err := s.checkRequest(ctx); err != nil {
			return err
		}
	}
	return s.store.UpdateManifest(func(m *record.Manifest) {
		m.Sessions++
		m.Plan, m.Seed, m.Esched, m.Notes = now.Plan, now.Seed, now.Esched, now.Notes
		m.Experiment, m.ExperimentPath, m.ExperimentSHA256, m.Git = now.Experiment, now.ExperimentPath, now.ExperimentSHA256, now.Git
		m.Cluster, m.ClusterKind = now.Cluster, now.ClusterKind
		m.Stopping, m.Trace = now.Stopping, now.Trace
		m.Ended, m.ExitCode = time.Time{}, 0
	})
}
