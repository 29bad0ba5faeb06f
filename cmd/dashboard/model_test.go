package dashboard

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/esched/esched/runners/record"
)

// TestProgress feeds events in any order, also ones that no run would send:
// progress never decreases, never exceeds 1, and the estimate is never
// negative.
func TestProgress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := demo{repetitions: rapid.IntRange(0, 3).Draw(t, "repetitions"), workers: 2, nodes: 1}
		opts := demoOptions(d.manifest())
		if rapid.Bool().Draw(t, "without manifest") {
			opts.Manifest = nil
		}
		all := demo{repetitions: 2, workers: 2, nodes: 1}.events()
		m := NewModel(opts)
		s := newScreen(m, Control{})
		last := m.schedule.fraction()
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			e := all[rapid.IntRange(0, len(all)-1).Draw(t, "event")]
			if rapid.IntRange(0, 20).Draw(t, "resumed") == 0 {
				e = record.Event{Kind: record.EventRunResumed, Done: rapid.IntRange(-1, 40).Draw(t, "done"), Time: e.Time}
			}
			m.Apply(e)
			f := m.schedule.fraction()
			if f < last || f > 1 {
				t.Fatalf("progress went from %v to %v", last, f)
			}
			last = f
			if left, _ := m.schedule.remaining(m.trial, time.Hour); left < 0 {
				t.Fatalf("%v left", left)
			}
			s.render(e.Time)
		}
	})
}

func TestWholeRun(t *testing.T) {
	t.Parallel()
	d := demo{repetitions: 3, workers: 4, nodes: 2}
	m := NewModel(demoOptions(d.manifest()))
	events := d.events()
	end := events[len(events)-1].Time
	for _, e := range events {
		m.Apply(e)
		left, ok := m.schedule.remaining(nil, 0)
		want := end.Sub(e.Time)
		// From the second block on, the estimate is as good as the run is steady.
		if m.schedule.done >= 8 && ok && m.trial == nil && (left-want).Abs() > want/4+8*time.Second {
			t.Errorf("%s after %v: estimate %v, have %v left", e.Kind, e.Time.Sub(demoStart), left, want)
		}
	}
	if m.schedule.fraction() != 1 || m.schedule.done != 24 {
		t.Errorf("have %d trials, fraction %v, want 24 and 1", m.schedule.done, m.schedule.fraction())
	}
	if left, ok := m.schedule.remaining(nil, 0); left != 0 || !ok {
		t.Errorf("have %v left (%v) at the end, want 0", left, ok)
	}
	if !m.over || m.exitCode != 3 || m.counts[record.StatusTimeout] != 1 || m.counts[record.StatusOK] != 23 {
		t.Errorf("have over %v, exit code %d, counts %v", m.over, m.exitCode, m.counts)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	d := demo{repetitions: 2, workers: 4, nodes: 2}
	var earlier []record.Record
	for _, e := range d.events() {
		if e.Record != nil && len(earlier) < 5 {
			earlier = append(earlier, *e.Record)
		}
	}
	opts := demoOptions(d.manifest())
	opts.Records = earlier // a warm-up, two trials, a warm-up, a trial
	m := NewModel(opts)
	m.Apply(record.Event{Kind: record.EventRunResumed, Done: 3, Time: demoStart})
	if m.schedule.done != 3 || m.schedule.total != 16 {
		t.Errorf("have %d of %d trials, want 3 of 16", m.schedule.done, m.schedule.total)
	}
	if next := m.schedule.next(); next == nil || next.Policy != "composite" || next.Size != "500 chunks" {
		t.Errorf("have next trial %v", next)
	}
	before, ok := m.schedule.remaining(nil, 0)
	if !ok || before == 0 {
		t.Errorf("have %v left (%v), want an estimate from the earlier records", before, ok)
	}
}

// TestEstimateUsesCells checks the arithmetic on a plan small enough for it.
func TestEstimateUsesCells(t *testing.T) {
	t.Parallel()
	trial := func(id, size string) record.Trial {
		return record.Trial{ID: id, Workload: "w", Size: size, Workers: 1, Repetition: 1}
	}
	warmup := record.Trial{ID: "w", Workload: "w", Size: "a", Workers: 1, Warmup: true}
	plan := []record.Planned{
		{Trial: warmup, Block: 0}, {Trial: trial("1", "a"), Block: 0}, {Trial: trial("2", "b"), Block: 0},
		{Trial: warmup, Block: 1}, {Trial: trial("3", "a"), Block: 1}, {Trial: trial("4", "c"), Block: 1},
	}
	s := newSchedule(plan)
	end := func(t record.Trial, runS float64) {
		s.end(&record.Record{Trial: t, Status: record.StatusOK, RunS: runS, DeployS: 7, Block: 0})
	}
	if _, ok := s.remaining(nil, 0); ok {
		t.Error("an estimate from nothing")
	}
	s.start(warmup)
	end(warmup, 1)
	end(trial("1", "a"), 10)
	end(trial("2", "b"), 30)
	// Deployment 7, warm-up 1, trial of size a 10, c the mean of 10 and 30.
	if have, _ := s.remaining(nil, 0); have != 38*time.Second {
		t.Errorf("have %v, want 38s", have)
	}
	s.start(warmup)
	if have, _ := s.remaining(&warmup, 500*time.Millisecond); have != 30500*time.Millisecond {
		t.Errorf("during the second warm-up: have %v, want 30.5s", have)
	}
	three := trial("3", "a")
	end(warmup, 1)
	s.start(three)
	if have, _ := s.remaining(&three, time.Hour); have != 20*time.Second {
		t.Errorf("during an overdue trial: have %v, want 20s", have)
	}
}

func TestProblemsAreCounted(t *testing.T) {
	t.Parallel()
	m := NewModel(demoOptions(nil))
	for i := range 1000 {
		m.Apply(record.Event{Kind: record.EventWarning, Message: "noisy", Time: demoStart.Add(time.Duration(i))})
		m.Apply(record.Event{Kind: record.EventWarning, Message: "warning " + count(i), Time: demoStart})
	}
	if len(m.problems) != maxProblems || m.problems[0].text != "noisy" || m.problems[0].times != 1000 {
		t.Errorf("have %d problems, the first %+v", len(m.problems), m.problems[0])
	}
	if len(m.log) != maxLog {
		t.Errorf("have %d events, want %d", len(m.log), maxLog)
	}
}
