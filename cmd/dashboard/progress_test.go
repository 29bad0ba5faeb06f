package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/runners/record"
)

// inTrial is the demo in its n-th trial, with the progress of that trial after
// so many seconds.
func inTrial(t *testing.T, opts Options, n int, seconds time.Duration) (*Model, *record.Progress) {
	t.Helper()
	m := NewModel(opts)
	after(m, demo{repetitions: 7, workers: 4, nodes: 4}.events(), record.EventTrialStarted, n)
	return m, &record.Progress{
		Time: m.since.Add(seconds * time.Second), Trial: m.trial.ID, Seconds: seconds.Seconds(),
		Done: 3120, Submitted: 4671, Queued: 1400, TasksPerS: 1480.4, Workers: 4, Busy: 3, Threads: 4, Occupied: 3,
		Sidekick: &record.ProgressDecisions{Decisions: 3131, PerS: 1502, BlockedShare: 0.0123},
	}
}

func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	const live = "3,120/4,671 tasks, 1,480/s · 3/4 busy"
	for _, c := range []struct {
		name   string
		change func(*record.Progress)
		age    time.Duration
		want   string // "": the trial before is shown
	}{
		{"sidekick", func(*record.Progress) {}, 0, live + " · 1,502 decisions/s · 1.2 % blocked"},
		{"dask", func(p *record.Progress) { p.Sidekick = nil }, 0, live},
		{"slow tasks", func(p *record.Progress) { p.Sidekick, p.TasksPerS, p.Done = nil, 0.72, 8 }, 0, "    8/4,671 tasks, 0.7/s · 3/4 busy"},
		{"before the tasks", func(p *record.Progress) { *p = record.Progress{Time: p.Time, Trial: p.Trial, Workers: 4} }, 0, "no tasks submitted yet · 4 workers idle"},
		{"tasks that raise", func(p *record.Progress) { p.Sidekick, p.Erred = nil, 2 }, 0, "✗ 2 tasks raised · " + live},
		{"fallbacks", func(p *record.Progress) { p.Sidekick.Fallbacks = 7 }, 0, "! 7 fallbacks · " + live + " · 1,502 decisions/s"},
		{"silence", func(*record.Progress) {}, 12 * time.Second, "! Dask's scheduler is silent for 00:12 · 3,120/4,671 tasks, 1,480/s · 3/4 busy"},
		{"of another trial", func(p *record.Progress) { p.Trial = "other" }, 0, ""},
		{"of an earlier attempt", func(p *record.Progress) { p.Time = p.Time.Add(-time.Hour) }, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opts := demoOptions(demo{repetitions: 7, workers: 4, nodes: 4}.manifest())
			opts.NoColor = true
			m, p := inTrial(t, opts, 8, 2)
			c.change(p)
			events := len(m.log)
			m.Apply(record.Event{Time: p.Time, Kind: record.EventProgress, Progress: p})
			if len(m.log) != events {
				t.Error("the progress is among the events")
			}
			want := c.want
			if want == "" {
				want = "last: "
			}
			have := newScreen(m, Control{}).render(p.Time.Add(c.age))
			checkSize(t, have, 80, 24)
			if !strings.Contains(have, "\n "+want) {
				t.Errorf("want %q in\n%s", want, have)
			}
			if strings.Contains(strings.Split(have, "─ events")[0], "…") {
				t.Errorf("something is cut off:\n%s", have)
			}
		})
	}
}

// TestProgressEndsWithItsTrial also tells it to programs as long as it is true.
func TestProgressEndsWithItsTrial(t *testing.T) {
	t.Parallel()
	m, p := inTrial(t, demoOptions(demo{repetitions: 7, workers: 4, nodes: 4}.manifest()), 8, 2)
	take := func() { m.Apply(record.Event{Time: p.Time, Kind: record.EventProgress, Progress: p}) }
	take()
	f := m.facts(p.Time)
	if f.Progress == nil || f.Progress.Done != 3120 || !strings.Contains(strings.Join(f.Lines(time.UTC), "\n"), "3,120/4,671 tasks, 1,480/s, 3/4 busy") {
		t.Errorf("facts %+v\n%q", f.Progress, f.Lines(time.UTC))
	}
	m.Apply(record.Event{Time: p.Time, Kind: record.EventTrialRetry, Trial: m.trial, Message: "lost"})
	if m.progress != nil {
		t.Error("the progress of the failed attempt stays")
	}
	take()
	r := record.Record{Trial: *m.trial, Status: record.StatusOK, MakespanS: 1}
	m.Apply(record.Event{Time: p.Time.Add(time.Second), Kind: record.EventTrialEnded, Record: &r})
	take()
	if f := m.facts(p.Time); f.Progress != nil || f.Current != nil {
		t.Errorf("after the end: %+v", f)
	}
}

// TestFactsBetweenRecordAndEvent reads a run when the record of a trial is
// written and the event that tells of it is not.
func TestFactsBetweenRecordAndEvent(t *testing.T) {
	t.Parallel()
	d := demo{repetitions: 7, workers: 4, nodes: 4}
	run := &record.Run{Manifest: *d.manifest()}
	for _, e := range d.events() {
		run.Events = append(run.Events, e)
		if e.Kind == record.EventTrialStarted && !e.Trial.Warmup {
			break
		}
	}
	start := run.Events[len(run.Events)-1]
	at := start.Time.Add(3 * time.Second)
	ended := func(begin time.Duration) Facts {
		r := record.Record{Trial: *start.Trial, Status: record.StatusOK, Started: start.Time.Add(begin), RunS: 2, MakespanS: 1.5}
		run.Records = []record.Record{r}
		return FactsOf(run, &record.Progress{Trial: r.ID, Time: at}, true, at)
	}

	f := ended(time.Millisecond)
	if f.Current != nil || f.Progress != nil || f.Phase != "between" || f.Trials[record.StatusOK] != 1 || !f.EstimatedEnd.After(at) {
		t.Errorf("the record is there: %+v", f)
	}
	if f := ended(-time.Hour); f.Current == nil || f.Progress == nil || f.Phase != "trial" {
		t.Errorf("the record of an earlier session is there: %+v", f)
	}
}

// painted counts the bytes that drawing a screen over another one takes: lines
// that differ are written anew, the others stepped over.
func painted(before, now string) int {
	const frame, line = len("\x1b[24;H\x1b[H"), len("\x1b[K\r\n")
	if before == now {
		return 0
	}
	n, old := frame, strings.Split(before, "\n")
	for i, text := range strings.Split(now, "\n") {
		if i < len(old) && old[i] == text {
			n++
			continue
		}
		n += len(text) + line
	}
	return n
}

// TestSlowLink draws a minute of a busy run, four times a second, with colours
// and with news of its trial every second. A line of 9,600 baud takes 960 bytes
// a second.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	d := demo{repetitions: 7, workers: 4, nodes: 4}
	opts := demoOptions(d.manifest())
	m := NewModel(opts)
	s := newScreen(m, Control{StopAfterTrial: func() {}, Cancel: func() {}})
	const seconds = 60
	rest := after(m, d.events(), record.EventTrialStarted, 3)
	begin := m.lastEvent
	screen := s.render(begin)
	bytes, frames := 0, 0
	for i := range seconds * int(time.Second/refresh) {
		now := begin.Add(time.Duration(i+1) * refresh)
		for len(rest) > 0 && !rest[0].Time.After(now) {
			m.Apply(rest[0])
			rest = rest[1:]
		}
		if m.trial != nil && i%4 == 0 {
			m.Apply(record.Event{Time: now, Kind: record.EventProgress, Progress: &record.Progress{
				Time: now, Trial: m.trial.ID, Done: 37 * i, Submitted: 9000, TasksPerS: 1480 + float64(i), Workers: 4, Busy: 4,
				Sidekick: &record.ProgressDecisions{PerS: 1500 + float64(i), BlockedShare: float64(i) / 1000},
			}})
		}
		next := s.render(now)
		if n := painted(screen, next); n > 0 {
			bytes, frames = bytes+n, frames+1
		}
		screen = next
	}
	t.Logf("%d bytes in %d frames, %d bytes/s", bytes, frames, bytes/seconds)
	if have, most := bytes/seconds, 960; have > most || have < 50 || frames > seconds*int(time.Second/refresh) {
		t.Errorf("%d bytes/s in %d frames, want at most %d", have, frames, most)
	}
}
