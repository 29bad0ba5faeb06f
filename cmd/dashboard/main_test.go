package dashboard

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/esched/esched/internal/term"
	"github.com/esched/esched/runners/record"
)

// playVariable makes the test binary a program that shows the demo run on its
// terminal, so many times faster than it happened.
const playVariable = "ESCHED_TEST_DASHBOARD"

// gateFile is a pipe that the program of a test inherits. Until its other end
// is closed the run stands in the middle of the trial that was tried again:
// what is to be seen of a run that goes on can be seen however long it takes.
const gateFile = 3

// gate returns what is closed when the run may go on.
func gate() <-chan struct{} {
	open := make(chan struct{})
	go func() {
		defer close(open)
		_, _ = io.Copy(io.Discard, os.NewFile(gateFile, "gate"))
	}()
	return open
}

func TestMain(m *testing.M) {
	if speed := os.Getenv(playVariable); speed != "" {
		os.Exit(play(speed, os.Getenv(playVariable+"_MODE")))
	}
	os.Exit(m.Run())
}

// play shows the demo. A second cancel, or the end of the events, ends it.
func play(speed, mode string) int {
	factor, err := strconv.ParseFloat(speed, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	d := demo{repetitions: 7, workers: 4, nodes: 4}
	switch mode {
	case "many":
		d.workers, d.nodes = 64, 64
	}
	all := d.events()
	began := time.Now()
	at := func() time.Time { return demoStart.Add(time.Duration(float64(time.Since(began)) * factor)) }
	opts := Options{
		Manifest: d.manifest(), Now: at, Location: time.UTC,
		NoColor: !term.Color(os.LookupEnv), ASCII: !term.Unicode(os.LookupEnv), Background: term.Background(os.LookupEnv),
	}
	events := make(chan record.Event)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	finish := make(chan string, 8)
	held := 1 + slices.IndexFunc(all, func(e record.Event) bool { return e.Kind == record.EventTrialRetry })
	go tell(all, events, at, finish, held, gate())
	control := Control{
		StopAfterTrial: func() { finish <- "asked to stop after this trial" },
		Cancel:         func() { finish <- "cancelled" },
	}
	switch mode {
	case "crash":
		control.StopAfterTrial = func() { panic("made up") }
	case "watch":
		control = Control{}
	}
	if mode == "plain" {
		err = Plain(os.Stdout, opts, events)
	} else {
		err = Run(ctx, os.Stdin, os.Stdout, opts, events, control)
	}
	if err != nil {
		fmt.Println("error:", firstLine(err))
		return 1
	}
	fmt.Println("left in good order")
	return 0
}

// tell sends the events at their times, and ends the run when asked to: at
// the end of the trial, or at the second cancel at once. The event at held waits
// for the gate.
func tell(all []record.Event, events chan<- record.Event, now func() time.Time, finish <-chan string, held int, gate <-chan struct{}) {
	defer close(events)
	cancels := 0
	for i := 0; i < len(all); i++ {
		e := all[i]
		left := func() time.Duration {
			select {
			case <-gate:
			default:
				if i == held {
					return time.Hour
				}
			}
			return e.Time.Sub(now())
		}
		for wait := left(); wait > 0 && cancels < 2; wait = left() {
			select {
			case why := <-finish:
				events <- record.Event{Time: now(), Kind: record.EventStopping, Message: why}
				if why == "cancelled" {
					cancels++
				} else {
					all = untilTrialEnds(all, i)
				}
			case <-time.After(min(wait, 5*time.Millisecond)):
			}
		}
		if cancels >= 2 {
			events <- record.Event{Time: now(), Kind: record.EventRunEnded, Message: "interrupted", ExitCode: 130}
			return
		}
		events <- e
	}
}

// untilTrialEnds shortens a run to the trial that runs at event i, and what
// comes after the last one.
func untilTrialEnds(all []record.Event, i int) []record.Event {
	for ; i < len(all); i++ {
		if all[i].Kind == record.EventTrialEnded {
			end := all[len(all)-1]
			end.Time, end.ExitCode, end.Message = all[i].Time, 130, "stopped after a trial"
			return append(append([]record.Event(nil), all[:i+1]...), end)
		}
	}
	return all
}
