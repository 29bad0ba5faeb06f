package runners

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/esched/esched/runners/record"
)

var allOK = []string{"a/1 ok", "b/1 ok", "a/2 ok", "b/2 ok"}

func TestRunnerTransitions(t *testing.T) {
	t.Parallel()
	refused := errors.New("port taken")
	tests := []struct {
		name      string
		acts      map[string][]act
		deploys   []error
		retries   int
		failFast  bool
		claim     time.Duration
		want      []string
		disturbed string // expected of the only disturbed record
		reason    string // expected in the error of the first record that is not ok
		attempts  int    // of that record, or of the first record when all are ok
		deployed  int
	}{
		{name: "all well", want: allOK, deployed: 2},
		{name: "workload raises", acts: map[string][]act{"a/1": {raise}},
			want: []string{"a/1 failed", "b/1 ok", "a/2 ok", "b/2 ok"}, reason: "ValueError: no", deployed: 2},
		{name: "raises once, retried on the same deployment", acts: map[string][]act{"a/1": {raise}}, retries: 1,
			want: allOK, attempts: 1, deployed: 2},
		{name: "raises more often than it is retried", acts: map[string][]act{"b/1": {raise, raise}}, retries: 1,
			want: []string{"a/1 ok", "b/1 failed", "a/2 ok", "b/2 ok"}, reason: "ValueError", attempts: 1, deployed: 2},
		{name: "hangs", acts: map[string][]act{"a/1": {hang}},
			want: []string{"a/1 timeout", "b/1 ok", "a/2 ok", "b/2 ok"}, reason: "time limit of 1m0s exceeded", deployed: 3},
		{name: "hangs once, retried on a new deployment", acts: map[string][]act{"a/1": {hang}}, retries: 1,
			want: allOK, attempts: 1, deployed: 3},
		{name: "driver ignores its cancellation", acts: map[string][]act{"a/1": {deaf}},
			want: []string{"a/1 timeout", "b/1 ok", "a/2 ok", "b/2 ok"}, reason: "time limit", deployed: 3},
		{name: "driver dies", acts: map[string][]act{"b/2": {die}},
			want: []string{"a/1 ok", "b/1 ok", "a/2 ok", "b/2 failed"}, reason: "exit status 9", deployed: 2},
		{name: "worker lost", acts: map[string][]act{"a/2": {lose}},
			want: allOK, disturbed: "worker-1 lost", deployed: 3},
		{name: "wrong result is not retried", acts: map[string][]act{"a/2": {differ}}, retries: 3,
			want: []string{"a/1 ok", "b/1 ok", "a/2 failed", "b/2 ok"}, reason: "digest xyz, but abc under dask", deployed: 2},
		{name: "result without digest", acts: map[string][]act{"a/1": {unknown}, "a/2": {differ}}, want: allOK, deployed: 2},
		{name: "deployment fails once", deploys: []error{refused}, want: allOK, deployed: 3},
		{name: "deployment fails twice", deploys: []error{refused, refused},
			want: []string{"a/1 failed", "b/1 failed", "a/2 ok", "b/2 ok"}, reason: "port taken", deployed: 3},
		{name: "warm-up raises", acts: map[string][]act{"a/0": {raise}}, want: allOK, deployed: 2},
		{name: "warm-up hangs and is not repeated", acts: map[string][]act{"a/0": {hang}}, want: allOK, deployed: 3},
		{name: "fail fast", acts: map[string][]act{"b/1": {raise}}, failFast: true,
			want: []string{"a/1 ok", "b/1 failed", "a/2 skipped", "b/2 skipped"}, reason: "ValueError", deployed: 1},
		{name: "fail fast after hopeless deployment", deploys: []error{refused, refused}, failFast: true,
			want: []string{"a/1 failed", "b/1 skipped", "a/2 skipped", "b/2 skipped"}, reason: "port taken", deployed: 2},
		{name: "claim ends during a trial", acts: map[string][]act{"b/1": {hang}}, claim: 30 * time.Second,
			want: []string{"a/1 ok", "b/1 skipped", "a/2 skipped", "b/2 skipped"}, reason: "it was running", deployed: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, acts: test.acts, deploys: test.deploys, claim: test.claim}
				r := newRunner(w, twoBlocks())
				r.Retries, r.FailFast = test.retries, test.failFast
				outcome, err := r.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				equalStrings(t, "records", test.want, w.statuses())
				if have := w.count("deploy dask") + w.count("deploy sidekick"); have != test.deployed {
					t.Errorf("deployments: want %d, have %d", test.deployed, have)
				}
				if w.deployments != 0 || w.count("release") != 1 || w.log[len(w.log)-1] != "release" {
					t.Errorf("not torn down: %q", w.log)
				}
				if outcome.Open != 0 || outcome.Total() != 4 {
					t.Errorf("outcome %+v", outcome)
				}
				checkFirst(t, w, test.reason, test.attempts)
				if have := w.disturbed(); have != test.disturbed {
					t.Errorf("disturbed: want %q, have %q", test.disturbed, have)
				}
				time.Sleep(2 * time.Hour) // let the deaf driver go
			})
		})
	}
}

// checkFirst looks at the first record that is not ok, or the first one.
func checkFirst(t *testing.T, w *world, reason string, attempts int) {
	t.Helper()
	measured := slices.DeleteFunc(slices.Clone(w.records), func(r record.Record) bool { return r.Warmup })
	i := max(0, slices.IndexFunc(measured, func(r record.Record) bool { return r.Status != record.StatusOK }))
	r := measured[i]
	if !strings.Contains(r.Error, reason) || (reason == "") != (r.Error == "") {
		t.Errorf("error: want %q in it, have %q", reason, r.Error)
	}
	if len(r.Attempts) != attempts {
		t.Errorf("attempts: want %d, have %+v", attempts, r.Attempts)
	}
	for i, r := range measured {
		if r.Order != i+1 || r.Schema != record.Schema || r.Started.IsZero() {
			t.Errorf("record %d: order %d, schema %d, started %v", i, r.Order, r.Schema, r.Started)
		}
	}
}

func TestRunnerClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		if _, err := newRunner(w, twoBlocks()).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range w.records {
			if r.Warmup {
				continue
			}
			if r.QueueS != 2 || r.DeployS != 3 || r.WarmupS != 1 || r.RunS != 1 || r.MakespanS != 1 {
				t.Errorf("%s: queue %g deploy %g warm-up %g run %g makespan %g", r.Trial, r.QueueS, r.DeployS, r.WarmupS, r.RunS, r.MakespanS)
			}
		}
	})
}

func TestRunnerStops(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		acts map[string][]act
		full int
		want []string
		err  error
	}{
		{"after the current trial", map[string][]act{"a/1": {stop}}, 0, []string{"a/1 ok"}, ErrStopped},
		{"at once", map[string][]act{"b/1": {cancel}}, 0, []string{"a/1 ok"}, ErrInterrupted},
		{"during a warm-up", map[string][]act{"a/0": {cancel}}, 0, nil, ErrInterrupted},
		{"disk full", nil, 2, []string{"a/1 ok"}, ErrStore}, // the warm-up's record counts
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancelCause(t.Context())
				stopped := make(chan struct{})
				w := &world{t: t, acts: test.acts, full: test.full,
					onStop: func() { close(stopped) }, onCtrlC: func() { interrupt(ErrInterrupted) }}
				r := newRunner(w, twoBlocks())
				r.Stop = stopped
				outcome, err := r.Run(ctx)
				if !errors.Is(err, test.err) {
					t.Errorf("want %v, have %v", test.err, err)
				}
				equalStrings(t, "records", test.want, w.statuses())
				if w.deployments != 0 || w.log[len(w.log)-1] != "release" {
					t.Errorf("not torn down: %q", w.log)
				}
				if outcome.Open != 4-len(test.want) {
					t.Errorf("outcome %+v", outcome)
				}

				// The next session runs what remains, and nothing twice.
				w.full, w.acts = 0, nil
				again := newRunner(w, twoBlocks())
				again.Done = Resume(&record.Run{Records: w.records}, again.Plan).Done
				if outcome, err = again.Run(t.Context()); err != nil || outcome.OK != 4 {
					t.Fatalf("resumed: %+v, %v", outcome, err)
				}
				equalStrings(t, "records after resuming", allOK, w.statuses())
			})
		})
	}
}

func TestRunnerWithoutNodes(t *testing.T) {
	t.Parallel()
	w := &world{t: t, reserve: errors.New("queue closed")}
	outcome, err := newRunner(w, twoBlocks()).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "reservation: queue closed") || outcome.Open != 4 {
		t.Errorf("have %+v, %v", outcome, err)
	}
	equalStrings(t, "log", []string{"release"}, w.log)
}

func TestRunnerWithNothingToDo(t *testing.T) {
	t.Parallel()
	w := &world{t: t}
	r := newRunner(w, twoBlocks())
	r.Done = map[string]record.Record{}
	for _, b := range r.Plan.Blocks {
		for _, tr := range b.Trials {
			r.Done[tr.ID] = record.Record{Trial: tr, Status: record.StatusOK}
		}
	}
	if outcome, err := r.Run(t.Context()); err != nil || outcome.OK != 4 || len(w.log) != 0 {
		t.Errorf("have %+v, %v, %q", outcome, err, w.log)
	}
}

func TestDigestOfEarlierSessionCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		r := newRunner(w, twoBlocks())
		first := r.Plan.Blocks[0].Trials[0]
		r.Done = map[string]record.Record{first.ID: {Trial: first, Status: record.StatusOK, ResultDigest: "old"}}
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		equalStrings(t, "records", []string{"b/1 ok", "a/2 failed", "b/2 ok"}, w.statuses())
	})
}

func TestOutcomeInWords(t *testing.T) {
	t.Parallel()
	want := "34 ok, 2 failed, 1 timed out, 1 not run"
	if have := (Outcome{OK: 34, Failed: 2, Timeout: 1, Open: 1}).String(); have != want {
		t.Errorf("want %q, have %q", want, have)
	}
}
