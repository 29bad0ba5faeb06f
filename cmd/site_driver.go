package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
	"github.com/esched/esched/workloads"
)

// startDriver starts the client process that executes trials on r, while the
// processes of its deployment d start. After an error it is gone.
func (x *site) startDriver(ctx context.Context, r *running, d *deploy.Deployment, spec deploy.Spec) error {
	log := filepath.Join(spec.Logs, "driver.log")
	start := func(ctx context.Context, argv, env []string, stdin io.Reader, stdout io.Writer) (workloads.Process, error) {
		p, err := d.Driver(ctx, deploy.Command{Name: "driver", Argv: argv, Env: env, Stdin: stdin, Stdout: stdout, Log: log})
		r.process = p
		return p, err
	}
	var err error
	r.driver, err = workloads.StartDriver(ctx, start, workloads.DriverSpec{
		Python: spec.Python, SchedulerFile: d.AddressFile(), PythonPath: spec.PythonPath,
		Tail: func() string { return x.lastLines(log) },
	}, spec.Ready)
	if err != nil {
		err = errors.Join(err, r.dropDriver())
	}
	return err
}

// dropDriver ends the process of a driver whose deployment did not start.
func (r *running) dropDriver() error {
	p := r.process
	if r.process = nil; p == nil {
		return nil
	}
	return p.Stop(0)
}

// trial executes a trial and verifies its result.
func (r *running) trial(ctx context.Context, t record.Trial) (record.Record, error) {
	request := workloads.Request{
		Workload: t.Workload, Params: t.Params, Kind: t.Kind, Instant: t.Worker == record.WorkerInstant, Seed: r.seed, Policy: t.Policy,
		Mark: r.marks,
		// Repetitions under a policy that uses chance differ, and are the same in
		// every run.
		PolicySeed: r.seed + int64(t.Repetition),
		Data:       r.site.paths[dataKey(t)],
		Program:    r.site.program(t),
	}
	w, builtin := r.site.workload(t.Workload)
	if builtin && w.Graph != nil {
		var err error
		if request.Graph, err = r.site.graph(w, t, r.seed); err != nil {
			return record.Record{}, fmt.Errorf("workload %s: %w", w.Name, err)
		}
	}
	if t.Kind == kindSidekick {
		request.Options = r.options
	}
	if t.Repetition == 1 { // of each cell once: it costs time
		request.Trace = r.site.Trace
	}
	ctx, release := r.whileScheduled(ctx)
	defer release()
	response, err := r.driver.Trial(ctx, request)
	if err != nil {
		r.broken = errors.Is(err, workloads.ErrBroken)
		return record.Record{}, r.explain(t, err)
	}
	r.tellFirstTasks(response)
	rec := measurement(response)
	if len(response.Timeline) > 0 {
		if rec.Timeline, err = record.WriteTimeline(r.site.path(r.site.dir), t.ID, response.Timeline); err != nil {
			r.site.warn(err.Error()) // the measurement is there
		}
	}
	if request.Instant { // nothing was computed, as the driver has checked
		return rec, nil
	}
	switch {
	case request.Graph != nil:
		facts := request.Graph.Facts()
		rec.NominalWorkS, rec.NominalPathS = facts.Work.Seconds(), facts.Path.Seconds()
		rec.Idle = request.Graph.Sleep
		err = request.Graph.Verify(response.Digest, response.Result)
	case builtin && w.Verify != nil:
		err = w.Verify(t.Params, response.Digest, response.Result)
	}
	if err != nil {
		return rec, fmt.Errorf("%w: %w", runners.ErrWrong, err)
	}
	return rec, nil
}

// graph builds the tasks of a trial. A file that they come from must be what it
// was when the trial was planned: its text is part of what the trial is.
func (x *site) graph(w workloads.Workload, t record.Trial, seed int64) (*workloads.Graph, error) {
	params := x.located(w, x.experiment.Path)(t.Params)
	g, err := w.Graph(params, seed)
	if err != nil {
		return nil, err
	}
	if w.Text != nil && w.Text(params) != t.Program {
		return nil, fmt.Errorf("a file that %s names has changed since the trial was planned", t.ParamString())
	}
	if t.Warmup { // what Dask learns of its short tasks must not hold for others
		g.Rename("warmup_")
	}
	return g, nil
}

// errNoScheduler is the cause with which a trial ends that lost Dask's
// scheduler.
var errNoScheduler = errors.New("the scheduler of Dask is gone")

// whileScheduled returns a context that ends with Dask's scheduler: its client
// would try to connect again for half a minute, to nobody.
func (r *running) whileScheduled(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if s := r.Scheduler(); s != nil {
		go func() {
			select {
			case <-s.Done():
				cancel(errNoScheduler)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// explain translates an error of the driver for the runner, and puts a
// traceback beside the logs.
func (r *running) explain(t record.Trial, err error) error {
	if r.broken {
		return fmt.Errorf("%w: %w", runners.ErrBroken, err)
	}
	failed, ok := errors.AsType[*workloads.FailedError](err)
	if ok && failed.Late { // what it has submitted may occupy the workers
		r.broken = true
		err = fmt.Errorf("%w: %w: %w", runners.ErrBroken, runners.ErrLate, err)
	}
	if !ok || failed.Traceback == "" {
		return err
	}
	name := "trial-" + t.ID + ".traceback"
	if r.site.replaceFile(filepath.Join(r.logs, name), func(w io.Writer) error {
		_, err := io.WriteString(w, failed.Traceback)
		return err
	}) != nil {
		return err // the reason counts, not where to read more
	}
	return fmt.Errorf("%w (%s)", err, filepath.Join(logsDir, filepath.Base(r.logs), name))
}

// measurement turns a driver's response into the fields of a record.
func measurement(m workloads.Response) record.Record {
	r := record.Record{
		MakespanS: m.MakespanS, SubmitS: m.SubmitS, Tasks: m.Tasks, BytesMoved: m.BytesMoved,
		ResultDigest: m.Digest, Result: m.Result, DriverPeakBytes: m.DriverPeakBytes,
	}
	for _, s := range m.PerWorker {
		r.PerWorker = append(r.PerWorker, record.WorkerShare(s))
	}
	if d := m.Sidekick; d != nil {
		r.Decisions, r.Fallbacks, r.DecisionSources = d.Decisions, d.Fallbacks, d.Sources
		r.DecisionUS = (*record.Quantiles)(d.US)
		r.AskUS, r.HitUS = (*record.Quantiles)(d.AskUS), (*record.Quantiles)(d.HitUS)
		r.AskS, r.HitS = d.AskS, d.HitS
		for _, b := range d.Hist {
			r.DecisionHist = append(r.DecisionHist, record.HistBucket(b))
		}
	}
	return r
}

// closeDriver ends the driver: politely, unless it is known not to listen.
func (r *running) closeDriver(ctx context.Context) error {
	if r.process == nil {
		return nil
	}
	if r.driver != nil && !r.broken {
		polite, release := context.WithTimeout(ctx, driverGrace)
		defer release()
		if r.driver.Close(polite) == nil {
			return nil
		}
	}
	return r.process.Stop(0)
}
