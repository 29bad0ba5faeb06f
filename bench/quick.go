package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// Sizes of what the quick measurements measure.
const (
	reportTrials  = 1000
	plannedTrials = 10_000
)

// quickLimit bounds one command on a busy machine.
const quickLimit = 6 * time.Minute

// quick measures what people wait for: the start of a run, a report, a plan.
type quick struct {
	esched      string // the binary
	environment string // in which runs start
	experiment  string // the file of such a run
	dir         string // where everything is written
	rounds      int    // how often each is measured
}

// table measures and writes a line for each wait. Each is the time of a whole
// command, with the start of its process.
func (q quick) table(ctx context.Context) (string, error) {
	lines := []struct {
		what    string
		measure func(context.Context, int) ([]float64, error)
		parts   []string
	}{
		{"warm start", q.start, []string{
			"Enter to the first trial, a warm-up", "Enter to the first task, told with the result of its trial", "Enter to the first measured trial",
		}},
		{"report", q.report, []string{fmt.Sprintf("report of %d trials (`esched report`)", reportTrials)}},
		{"plan", q.plan, []string{fmt.Sprintf("plan of %d trials (`esched plan`)", plannedTrials)}},
	}
	t := newTable(1, "what", "times", "median (s)", "least (s)", "most (s)")
	for _, l := range lines {
		seconds := make([][]float64, len(l.parts))
		for round := range q.rounds {
			parts, err := l.measure(ctx, round)
			if err != nil {
				return "", fmt.Errorf("%s: %w", l.what, err)
			}
			for i, s := range parts {
				seconds[i] = append(seconds[i], s)
			}
		}
		for i, what := range l.parts {
			x := seconds[i]
			t.add(what, fmt.Sprint(len(x)), digits(stats.Median(x)), digits(slices.Min(x)), digits(slices.Max(x)))
		}
	}
	run, err := q.started(0)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("## What people wait for, environment %s\n\n%s\n\n%s\n", q.environment, origin(run.Manifest), t), nil
}

// command runs esched and returns when it was started and for how many seconds
// it ran.
func (q quick) command(ctx context.Context, args ...string) (time.Time, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, quickLimit)
	defer cancel()
	c := exec.CommandContext(ctx, q.esched, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // esched ends what it started
	c.WaitDelay = quickLimit
	var errs strings.Builder
	c.Stdout, c.Stderr = io.Discard, &errs
	begun := time.Now()
	if err := c.Run(); err != nil {
		return begun, 0, fmt.Errorf("esched %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return begun, time.Since(begun).Seconds(), nil
}

// start runs the experiment and finds the first trials in its events.
func (q quick) start(ctx context.Context, round int) ([]float64, error) {
	dir := q.startDir(round)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	enter, _, err := q.command(ctx, "run", q.experiment, "--env", q.environment, "--output", dir, "--plain")
	if err != nil {
		return nil, err
	}
	run, err := q.started(round)
	if err != nil {
		return nil, err
	}
	return firstTrials(run.Events, enter)
}

func (q quick) startDir(round int) string {
	return filepath.Join(q.dir, fmt.Sprintf("start-%d", round))
}

// started reads the run that start made.
func (q quick) started(round int) (*record.Run, error) {
	dir := q.startDir(round)
	runs, err := filepath.Glob(filepath.Join(dir, "*", record.EventsFile))
	if err != nil || len(runs) != 1 {
		return nil, fmt.Errorf("%s: holds %d runs, not one (%v)", dir, len(runs), err)
	}
	return record.Read(filepath.Dir(runs[0]))
}

// firstTrials returns the seconds from enter to the first trial, to the first
// task, and to the first trial that is no warm-up. A node's first task is told
// when the result of its trial is there, so it was executed before.
func firstTrials(events []record.Event, enter time.Time) ([]float64, error) {
	var first, task, measured time.Time
	for _, e := range slices.Backward(events) {
		switch {
		case e.Kind == record.EventNode && e.State == firstTask:
			task = e.Time
		case e.Kind == record.EventTrialStarted && e.Trial != nil:
			first = e.Time
			if !e.Trial.Warmup {
				measured = e.Time
			}
		}
	}
	var seconds []float64
	for _, x := range []struct {
		what string
		at   time.Time
	}{{"first trial", first}, {"first task", task}, {"first measured trial", measured}} {
		if x.at.IsZero() {
			return nil, fmt.Errorf("no %s in %d events", x.what, len(events))
		}
		seconds = append(seconds, x.at.Sub(enter).Seconds())
	}
	return seconds, nil
}

// report makes the page of an invented run.
func (q quick) report(ctx context.Context, round int) ([]float64, error) {
	dir := filepath.Join(q.dir, fmt.Sprintf("report-%d", reportTrials))
	if round == 0 {
		if err := inventRun(dir); err != nil {
			return nil, err
		}
	}
	_, seconds, err := q.command(ctx, "report", dir)
	return []float64{seconds}, err
}

// inventRun writes a run of reportTrials trials.
func inventRun(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	// 5 sizes, 4 numbers of workers, dask and 4 policies, 10 repetitions.
	run := reporttest.Run(reporttest.Shape{
		Sizes: []int{500, 1000, 2000, 4000, 8000}, Workers: []int{1, 2, 4, 8},
		Policies: []string{"random", "least-cpu-load", "composite-score", "earliest-start"}, Repetitions: 10,
	})
	if have := len(run.Manifest.Plan); have != reportTrials {
		return fmt.Errorf("the invented run has %d trials, not %d", have, reportTrials)
	}
	store, err := record.Create(dir, run.Manifest)
	if err != nil {
		return err
	}
	for _, r := range run.Records {
		if err := store.AppendRecord(r); err != nil {
			_ = store.Close() // the first error is the one to tell
			return err
		}
	}
	return store.Close()
}

// plan plans an experiment of plannedTrials trials.
func (q quick) plan(ctx context.Context, _ int) ([]float64, error) {
	path := filepath.Join(q.dir, "plan.toml")
	if err := os.WriteFile(path, []byte(planExperiment()), 0o666); err != nil {
		return nil, err
	}
	_, seconds, err := q.command(ctx, "plan", path, "--output", q.dir)
	return []float64{seconds}, err
}

// planExperiment is an experiment of plannedTrials trials: 25 sizes, 10 numbers
// of workers, dask and 3 policies, 10 repetitions.
func planExperiment() string {
	var sizes, workers []string
	for i := range 25 {
		sizes = append(sizes, fmt.Sprint(100*(i+1)))
	}
	for i := range 10 {
		workers = append(workers, fmt.Sprint(i+1))
	}
	return fmt.Sprintf(`name = "plan"
repetitions = 10
schedulers = ["dask", "sidekick"]
policies = ["random", "least-cpu-load", "earliest-start"]
workers_per_node = [%s]

[[workload]]
name = "merge"
tasks = [%s]
`, strings.Join(workers, ", "), strings.Join(sizes, ", "))
}
