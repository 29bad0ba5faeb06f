package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/esched/esched/cmd/dashboard"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/term"
	"github.com/esched/esched/runners/record"
)

type watchOptions struct {
	*globals
	Run    string
	Output string
	Plain  bool
	Tell   string
}

func newWatch(g *globals) *cobra.Command {
	o := watchOptions{globals: g}
	c := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "watch a run that goes on elsewhere",
		Long: withExits(`
Show the run in directory RUN (default: the latest one) as "esched run" does,
whoever started it and on whichever machine that sees the directory: in the
background, in another terminal, or long ago. Leaving (q) does not touch the
run. Keys stop it after the trial that runs (s), cancel it (c), or ask the queue
for more time (e); each asks back.

Without a terminal, or with --plain, the run is told in lines until it ends, and
the exit code is that of the run.

--tell gives an order and returns: stop (after the trial), cancel (the second
time without waiting), extend (the claim by its own length; most queues refuse).`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitTrials, hint.ExitNoNodes, hint.ExitInterrupted),
		Example: "  esched watch\n  esched watch runs/2026-01-31T10-04-12-overhead --plain\n  esched watch --tell stop",
		Args:    atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Run = args[0]
			}
			return runWatch(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Output, "output", "runs", "directory with the runs")
	c.Flags().BoolVar(&o.Plain, "plain", false, "plain lines, also on a terminal")
	c.Flags().StringVar(&o.Tell, "tell", "", "give the run an order: "+strings.Join(orders(), ", "))
	return c
}

func runWatch(ctx context.Context, o watchOptions) error {
	run, err := o.chosenRun(o.Run, o.Output)
	if err != nil {
		return err
	}
	if o.Tell != "" {
		if err := o.give(run, o.Tell); err != nil {
			return err
		}
		_, err = fmt.Fprintf(o.Stdout, "told %s: %s\n", run, o.Tell)
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := o.manifestOf(run)
	if err != nil {
		return err
	}
	f := &follower{globals: o.globals, run: run, tail: record.NewTail(o.path(run)), events: make(chan record.Event, eventRoom)}
	names, release := o.Signals()
	defer release()
	followed := make(chan error, 1)
	go func() { followed <- f.follow(ctx) }()
	shown := make(chan error, 1)
	go func() { shown <- o.show(ctx, m, run, f.events) }()
	select {
	case err = <-shown: // the end of the run, or of the view
	case <-names:
		cancel()
		err = <-shown
		if !o.dashboard() {
			return exitQuietly(hint.ExitInterrupted, "interrupted")
		}
	}
	cancel()
	if broken := <-followed; err == nil {
		err = broken
	}
	if err != nil || !f.ended { // the user left, the run goes on
		return err
	}
	return f.verdict()
}

// chosenRun is the run that is named, or else the latest.
func (g *globals) chosenRun(named, output string) (string, error) {
	if named != "" {
		return named, nil
	}
	runs, err := g.runDirs(output)
	if err != nil {
		return "", err
	}
	if len(runs) == 0 {
		return "", usageError("name the directory of a run", "no run in %s", output)
	}
	return runs[len(runs)-1], nil
}

// manifestOf reads what a run was asked to do.
func (g *globals) manifestOf(run string) (*record.Manifest, error) {
	r, err := record.Read(g.path(run))
	if err != nil {
		return nil, hint.WithExit(err, hint.ExitUsage)
	}
	m := r.Manifest
	m.ID = run // what people can type
	return &m, nil
}

// dashboard tells whether a screen is to be shown.
func (o watchOptions) dashboard() bool { return o.interactive() && !o.Plain }

// show shows the events until they end or the user leaves.
func (o watchOptions) show(ctx context.Context, m *record.Manifest, run string, events <-chan record.Event) error {
	opts := dashboard.Options{
		Manifest: m, NoColor: !o.colored(), ASCII: !term.Unicode(o.LookupEnv),
		Background: term.Background(o.LookupEnv), Now: o.Now, Logs: o.logsOf(run), Watching: true,
	}
	if !o.dashboard() {
		return dashboard.Plain(o.Stdout, opts, events)
	}
	order := func(do string) func() error { return func() error { return o.give(run, do) } }
	return dashboard.Run(ctx, o.Stdin, o.Stdout, opts, events, dashboard.Control{
		Orders: &dashboard.Orders{Stop: order(orderStop), Cancel: order(orderCancel), Extend: order(orderExtend)},
	})
}

// follower reads the events of a run until it ends.
type follower struct {
	*globals
	run    string
	tail   *record.Tail
	events chan record.Event
	last   *record.Event // the last one
	ended  bool          // the run is over, and every event was passed on
	looked time.Time     // when the progress was read last
	told   time.Time     // the time of the progress that was passed on last
}

const (
	// followPoll is the time between looks at the events.
	followPoll = 300 * time.Millisecond
	// followIdle is how long nothing may happen before it is looked whether the
	// run has an esched at all.
	followIdle = 3 * time.Second
)

// follow passes the events on until the run is over or ctx is done.
func (f *follower) follow(ctx context.Context) error {
	defer close(f.events)
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	idle := f.Now()
	for {
		ended := f.over(idle) // before reading, so that nothing is missed
		events, err := f.tail.Next()
		if err != nil {
			return err
		}
		for i := range events {
			f.last, idle = &events[i], f.Now()
			select {
			case f.events <- events[i]:
			case <-ctx.Done():
				return nil
			}
		}
		if len(events) > 0 {
			continue
		}
		if ended {
			f.ended = true
			return nil
		}
		f.progress()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// progressPoll is the time between looks at the progress of the trial.
const progressPoll = time.Second

// progress passes on how far the trial is, when that is news. A view that does
// not take it gets the next one.
func (f *follower) progress() {
	now := f.Now()
	if now.Sub(f.looked) < progressPoll {
		return
	}
	f.looked = now
	p, err := record.ReadProgress(f.path(f.run))
	if err != nil || p == nil || !p.Time.After(f.told) {
		return // there is none, or it is being replaced on a slow file system
	}
	f.told = p.Time
	select {
	case f.events <- record.Event{Time: p.Time, Kind: record.EventProgress, Progress: p}:
	default:
	}
}

// over tells whether no event will come any more.
func (f *follower) over(idle time.Time) bool {
	if f.last != nil && f.last.Kind == record.EventRunEnded {
		return true
	}
	if f.Now().Sub(idle) < followIdle {
		return false
	}
	used, err := record.InUse(f.path(f.run))
	return err == nil && !used
}

// verdict is how a run that is over ended.
func (f *follower) verdict() error {
	if f.last == nil || f.last.Kind != record.EventRunEnded {
		return hint.With(fmt.Errorf("run %s: stopped without an end", f.run), "esched run --resume "+f.run)
	}
	if f.last.Error != "" {
		return hint.WithExit(hint.With(errors.New(f.last.Error), f.last.Hint), f.last.ExitCode)
	}
	if f.last.ExitCode != hint.ExitOK {
		return exitQuietly(f.last.ExitCode, f.last.Message)
	}
	return nil
}
