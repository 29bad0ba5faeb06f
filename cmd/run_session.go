package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/cmd/dashboard"
	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/term"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// eventRoom is how many events may wait to be shown. The views take them
// without delay; the room only evens out bursts.
const eventRoom = 4096

// screenGrace bounds the wait for the view after the last event: a terminal
// that takes no output must not keep the command from ending.
const screenGrace = 10 * time.Second

// view passes events to what shows them, until it is closed. Late events of
// processes that end are dropped: they are on disk.
type view struct {
	mu     sync.Mutex
	events chan record.Event
	closed bool
}

func (v *view) show(e record.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.events <- e
	}
}

func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	close(v.events)
}

// execute runs what is open of the plan and shows it.
func (s *session) execute(ctx context.Context) error {
	ctx, brake := newBrake(ctx)
	defer brake.release()
	v := &view{events: make(chan record.Event, eventRoom)}
	s.view = v
	s.runner = &runners.Runner{
		Plan: s.plan, Journal: s.store, Show: s.atFailpoints(v.show),
		Limit:   s.limit,
		Retries: s.experiment.Retries, FailFast: s.FailFast, Done: s.resumed.Done,
		Stop: brake.afterTrial, Kill: brake.kill, Now: s.Now, Sequence: s.sequence(),
	}
	brake.tell = s.runner.Tell
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		s.showEvents(ctx, v.events, brake)
	}()
	names, release := s.Signals()
	defer release()
	if s.conductor {
		brake.harder = `"esched watch --tell cancel"`
		names = withoutHangUp(names, brake.done)
		defer func() { _ = s.removeAll(filepath.Join(s.dir, conductorFile)) }() // a left one does no harm
	}
	go brake.listen(names)
	go s.obey(s.newControl(s.dir), brake, brake.done)

	outcome, err := s.work(ctx)
	err = s.conclude(outcome, err)
	v.close()
	select {
	case <-shown:
	case <-time.After(screenGrace):
	}
	return err
}

// progress shows how far the trial is that runs, and leaves it for those who
// watch. A disk that does not take it takes no record either, which is told then.
func (s *session) progress(p record.Progress) {
	s.view.show(record.Event{Time: p.Time, Kind: record.EventProgress, Progress: &p})
	_ = s.store.PutProgress(p)
}

// atFailpoints makes a point of every event that is on disk.
func (s *session) atFailpoints(show func(record.Event)) func(record.Event) {
	return func(e record.Event) {
		show(e)
		s.Failpoints.Reach(failpoint.Told(string(e.Kind), e.State))
	}
}

// showEvents shows the dashboard to a person and plain lines to anything else.
func (s *session) showEvents(ctx context.Context, events <-chan record.Event, brake *brake) {
	m := s.store.Manifest()
	opts := dashboard.Options{
		Manifest: &m, NoColor: !s.colored(), ASCII: !term.Unicode(s.LookupEnv),
		Background: term.Background(s.LookupEnv), Now: s.Now, Logs: s.logsOf(s.dir),
	}
	m.ID = s.dir // what people can type
	if s.earlier != nil {
		opts.Records = s.earlier.Records
	}
	if !s.interactive() || s.Plain || s.JSON {
		out := s.Stdout
		if s.JSON {
			out = s.Stderr
		}
		_ = dashboard.Plain(out, opts, events) // a closed pipe must not end the run
		return
	}
	control := dashboard.Control{
		StopAfterTrial: func() { go brake.soon("q") },
		Cancel:         func() { go brake.now("Ctrl-C") },
		Extend:         func() { go s.extend(brake.kill, "e") },
	}
	if err := dashboard.Run(context.WithoutCancel(ctx), s.Stdin, s.Stdout, opts, events, control); err != nil {
		fmt.Fprintf(s.Stderr, "esched: dashboard: %v\n", err)
	}
}

// work prepares the environment and runs the plan.
func (s *session) work(ctx context.Context) (runners.Outcome, error) {
	s.fill()
	open := runners.Outcome{OK: len(s.resumed.Done), Open: s.plan.Trials() - len(s.resumed.Done)}
	if s.earlier == nil {
		s.runner.Tell(record.Event{Kind: record.EventRunStarted, Message: s.dir, Total: open.Total()})
	} else {
		s.runner.Tell(record.Event{Kind: record.EventRunResumed, Message: s.dir + ": " + s.resumed.String(),
			Total: open.Total(), Done: open.OK})
	}
	for _, w := range append(s.store.Warnings(), s.resumed.Warnings...) {
		s.warn(w)
	}
	s.tellFit()
	open, err := s.runner.Prepare(ctx)
	if err != nil || open.Open == 0 {
		return open, err
	}
	site, err := s.site(ctx)
	if err != nil {
		return open, interruptedOr(ctx, err)
	}
	defer func() {
		if err := site.Close(); err != nil {
			s.warn(err.Error())
		}
	}()
	s.runner.Site = &claimSite{site: site, policy: s.clusterOptions(s.experiment.Cluster).timePolicy()}
	s.runner.Granted = s.noteHosts
	return s.runner.Run(ctx)
}

// warn tells a warning, which the events keep.
func (s *session) warn(text string) {
	s.runner.Tell(record.Event{Kind: record.EventWarning, Message: text})
}

// noteHosts writes the machines into the manifest.
func (s *session) noteHosts(g runners.Grant) error {
	if s.earlier != nil {
		before := record.Manifest{Hosts: s.earlier.Manifest.Hosts}
		for _, change := range runners.Changes(before, record.Manifest{Hosts: g.Hosts}) {
			s.warn(change)
		}
	}
	return s.store.UpdateManifest(func(m *record.Manifest) { m.Hosts = merged(m.Hosts, g.Hosts) })
}

// conclude writes the report and the end of the run, and returns the error
// with which the command ends.
func (s *session) conclude(outcome runners.Outcome, err error) error {
	code, final := s.verdict(outcome, err)
	ended := s.Now()
	if err := s.store.UpdateManifest(func(m *record.Manifest) { m.Ended, m.ExitCode = ended, code }); err != nil {
		s.warn(err.Error())
	}
	if path, err := s.writeReport(); err != nil {
		s.warn("report: " + err.Error())
	} else {
		s.runner.Tell(record.Event{Kind: record.EventReport, Message: path})
	}
	e := record.Event{Kind: record.EventRunEnded, Message: outcome.String(), ExitCode: code}
	if err != nil && code != hint.ExitInterrupted { // who interrupted it was told then
		e.Error, e.Hint = strings.TrimSpace(final.Error()), hint.Of(final)
	}
	s.runner.Tell(e)
	return final
}

// verdict maps how the run ended to the exit code and the error to print.
func (s *session) verdict(outcome runners.Outcome, err error) (int, error) {
	resume := "esched run --resume " + s.dir
	switch {
	case errors.Is(err, runners.ErrInterrupted), errors.Is(err, runners.ErrStopped):
		err = fmt.Errorf("%w: %s", err, outcome)
		return hint.ExitInterrupted, hint.WithExit(hint.With(err, resume), hint.ExitInterrupted)
	case err != nil:
		if hint.Of(err) == "" {
			err = hint.With(err, resume+" (logs are in "+s.dir+"/"+logsDir+")")
		}
		return hint.Exit(err), err
	case outcome.OK < outcome.Total():
		return hint.ExitTrials, exitQuietly(hint.ExitTrials, outcome.String())
	}
	return hint.ExitOK, nil
}
