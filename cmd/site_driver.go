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

// startDriver starts the client process that executes trials on r.
func (x *site) startDriver(ctx context.Context, r *running, spec deploy.Spec) error {
	log := filepath.Join(spec.Logs, "driver.log")
	start := func(ctx context.Context, argv, env []string, stdin io.Reader, stdout io.Writer) (workloads.Process, error) {
		p, err := r.Driver(ctx, deploy.Command{Name: "driver", Argv: argv, Env: env, Stdin: stdin, Stdout: stdout, Log: log})
		r.process = p
		return p, err
	}
	var err error
	r.driver, err = workloads.StartDriver(ctx, start, workloads.DriverSpec{
		Python: spec.Python, Scheduler: r.Addr(), PythonPath: spec.PythonPath,
		Tail: func() string { return x.lastLines(log) },
	}, spec.Ready)
	return err
}

// trial executes a trial and verifies its result.
func (r *running) trial(ctx context.Context, t record.Trial) (record.Record, error) {
	request := workloads.Request{
		Workload: t.Workload, Params: t.Params, Kind: t.Kind, Instant: t.Worker == record.WorkerInstant, Seed: r.seed, Policy: t.Policy,
		// Repetitions under a policy that uses chance differ, and are the same in
		// every run.
		PolicySeed: r.seed + int64(t.Repetition),
	}
	if t.Kind == kindSidekick {
		request.Options = r.options
	}
	response, err := r.driver.Trial(ctx, request)
	if err != nil {
		r.broken = errors.Is(err, workloads.ErrBroken)
		return record.Record{}, r.explain(t, err)
	}
	rec := measurement(response)
	if request.Instant { // nothing was computed, as the driver has checked
		return rec, nil
	}
	if w, ok := r.site.workload(t.Workload); ok && w.Verify != nil {
		if err := w.Verify(t.Params, response.Digest, response.Result); err != nil {
			return rec, fmt.Errorf("%w: %w", runners.ErrWrong, err)
		}
	}
	return rec, nil
}

// explain translates an error of the driver for the runner, and puts a
// traceback beside the logs.
func (r *running) explain(t record.Trial, err error) error {
	if r.broken {
		return fmt.Errorf("%w: %w", runners.ErrBroken, err)
	}
	failed, ok := errors.AsType[*workloads.FailedError](err)
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
		ResultDigest: m.Digest, Result: m.Result,
	}
	for _, s := range m.PerWorker {
		r.PerWorker = append(r.PerWorker, record.WorkerShare(s))
	}
	if d := m.Sidekick; d != nil {
		r.Decisions, r.Fallbacks, r.DecisionSources = d.Decisions, d.Fallbacks, d.Sources
		r.DecisionUS = (*record.Quantiles)(d.US)
		r.AskUS, r.HitUS = (*record.Quantiles)(d.AskUS), (*record.Quantiles)(d.HitUS)
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
