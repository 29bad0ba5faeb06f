package dashboard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/runners/record"
)

// clusterEvents are those of a run on four nodes of a cluster, from the wait
// for its hours to a trial, with a node that does not answer.
func clusterEvents(plan []record.Planned) []record.Event {
	var all []record.Event
	now := demoStart
	tell := func(after time.Duration, e record.Event) {
		now = now.Add(after)
		e.Time = now
		all = append(all, e)
	}
	minute := time.Minute
	tell(0, record.Event{Kind: record.EventRunStarted, Message: "runs/x", Total: 56})
	tell(time.Second, record.Event{Kind: record.EventReservation, State: "waiting", Message: "claim 1 waits until Sat 2026-11-21 20:00: site's time policy",
		Start: demoStart.Add(10 * time.Hour)})
	tell(10*time.Hour, record.Event{Kind: record.EventReservation, State: "pending", Reservation: "4711", Message: "4711 Resources",
		Start: demoStart.Add(11 * time.Hour)})
	deadline := demoStart.Add(12 * time.Hour)
	tell(30*minute, record.Event{Kind: record.EventReservation, State: "running", Reservation: "4711", Message: "node[001-004]", Deadline: deadline})
	tell(time.Second, record.Event{Kind: record.EventClaim, State: "granted", Order: 1, Total: 3, Deadline: deadline, Message: "until 22:04:12"})
	for n := 1; n <= 4; n++ {
		name := fmt.Sprintf("node%03d", n)
		for i, rung := range rungs[:5] {
			if n == 4 && i == 2 {
				tell(time.Second, record.Event{Kind: record.EventNode, Node: name, State: "failed", Message: "ssh: connection refused"})
				break
			}
			tell(time.Second, record.Event{Kind: record.EventNode, Node: name, State: rung})
		}
	}
	tell(time.Second, record.Event{Kind: record.EventDeployment, State: "starting", Message: "dask, 3 workers"})
	for n := 1; n <= 3; n++ {
		name := fmt.Sprintf("node%03d", n)
		tell(time.Second, record.Event{Kind: record.EventNode, Node: name + "/w0", State: "starting"})
		tell(time.Second, record.Event{Kind: record.EventNode, Node: name + "/w0", State: "process"})
		if n < 3 {
			tell(time.Second, record.Event{Kind: record.EventNode, Node: name + "/w0", State: "registered"})
		}
	}
	at := slices.IndexFunc(plan, func(p record.Planned) bool { return !p.Warmup })
	trial := plan[at].Trial
	tell(time.Second, record.Event{Kind: record.EventTrialStarted, Trial: &trial, Order: 1})
	cut := record.Record{Trial: trial, Status: record.StatusOK, MakespanS: 4, RunS: 5, Tasks: 8000,
		PerWorker: []record.WorkerShare{{BusyS: 3}, {BusyS: 3}, {BusyS: 3}, {BusyS: 3}}}
	tell(5*time.Second, record.Event{Kind: record.EventTrialEnded, Record: &cut, Order: 1})
	other := plan[at+1].Trial
	tell(time.Second, record.Event{Kind: record.EventPostponed, Trial: &other, Order: 2, Message: "needs about 40s, 33s are left: shorter trials of its block go first"})
	tell(time.Second, record.Event{Kind: record.EventPostponed, Message: "3 trial(s) of dask, repetition 1, wait for the next claim"})
	tell(time.Second, record.Event{Kind: record.EventClaim, State: "extended", Order: 1, Total: 3, Deadline: deadline.Add(time.Hour), Message: "until 23:04:12"})
	return all
}

// memory are logs in memory.
type memory map[string][]string

func (m memory) List() []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (m memory) End(name string) ([]string, error) {
	if m[name] == nil {
		return nil, errors.New("permission denied")
	}
	return m[name], nil
}

// watching is the screen of a watched run after the first n events.
func watching(n int, opts Options, given *[]string) *screen {
	d := demo{repetitions: 7, workers: 4, nodes: 4}
	m := d.manifest()
	o := demoOptions(m)
	o.NoColor, o.Width, o.Height, o.Logs = true, opts.Width, opts.Height, opts.Logs
	model := NewModel(o)
	events := clusterEvents(m.Plan)
	for _, e := range events[:min(n, len(events))] {
		model.Apply(e)
	}
	order := func(name string) func() error {
		return func() error {
			*given = append(*given, name)
			if name == "extend" {
				return errors.New("order to run x: no space left on device")
			}
			return nil
		}
	}
	return newScreen(model, Control{Orders: &Orders{Stop: order("stop"), Cancel: order("cancel"), Extend: order("extend")}})
}

func TestClusterScreens(t *testing.T) {
	t.Parallel()
	logs := memory{"001-dask/scheduler.log": {"distributed.scheduler - INFO - Clear task state", "\x1b[31mworker\tregistered\x1b[0m " + strings.Repeat("x", 100)},
		"001-dask/w0.log": {"line"}, "none.log": nil}
	tests := []struct {
		name   string
		events int
		keys   []string
		want   []string // in the screen of 80x24
	}{
		{"hours", 2, nil, []string{"waiting for nodes", "claim 1 waits until", "nodes in about 9:59:59"}},
		{"pending", 3, nil, []string{"waiting for nodes", "pending · 4711 Resources", "nodes in about 59:59"}},
		{"granted", 5, nil, []string{"claim 1/3 ends in 1:29:58"}},
		{"nodes", 100, []string{"n"}, []string{"nodes reservation 4711 running", "node004   ●●✗○○○○○  not ready: ssh: connection refused",
			"node001   ●●●●●●●○  registered", "node003   ●●●●●●○○  process", "from left: requested"}},
		{"trial", 100, nil, []string{"2,000 tasks/s", "workers 75 % busy", "claim 1/3 ends in 2:2", "postponed"}},
		{"log", 100, []string{"L"}, []string{"001-dask/scheduler.log 1 of 3", "worker registered", "other logs"}},
		{"other log", 100, []string{"L", "right"}, []string{"001-dask/w0.log 2 of 3", " line"}},
		{"log that cannot be read", 100, []string{"L", "right", "right"}, []string{"none.log 3 of 3", "permission denied"}},
		{"question", 100, []string{"s"}, []string{"stop the run after this trial?", "any other key: no"}},
		{"watched keys", 100, nil, []string{"leave (the run goes on)", "s stop", "c cancel", "L logs"}},
	}
	for _, test := range tests {
		for _, size := range []struct{ w, h int }{{80, 24}, {40, 12}, {200, 60}} {
			t.Run(fmt.Sprintf("%s %dx%d", test.name, size.w, size.h), func(t *testing.T) {
				t.Parallel()
				var given []string
				s := watching(test.events, Options{Width: size.w, Height: size.h, Logs: logs}, &given)
				p := &program{feed: &feed{model: s.Model}, screen: s}
				for _, k := range test.keys {
					s.press(k)
					p.readLogs()
				}
				have := s.render(s.lastEvent)
				checkSize(t, have, size.w, size.h)
				if strings.Contains(have, "\x1b") {
					t.Error("an escape code")
				}
				for _, want := range test.want {
					if size.w == 80 && !strings.Contains(have, want) {
						t.Errorf("want %q in\n%s", want, have)
					}
				}
			})
		}
	}
}

func TestOrdersAskBack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		keys  string
		given string
		says  string
	}{
		{"s y", "stop", "asked"},
		{"s n", "", "leave"},
		{"s s", "", "leave"},
		{"c y", "cancel", "asked"},
		{"Q y", "cancel", "asked"},
		{"e y", "extend", "no space left on device"},
		{"e y x", "extend", "leave"},
		{"y", "", "leave"},
		{"c y c y", "cancel cancel", "asked"},
	}
	for _, test := range tests {
		t.Run(test.keys, func(t *testing.T) {
			t.Parallel()
			var given []string
			s := watching(100, Options{Width: 80, Height: 24}, &given)
			for _, k := range strings.Fields(test.keys) {
				if ask, leave := s.press(k); leave {
					t.Error("left")
				} else if ask != nil {
					ask()
				}
			}
			if have := strings.Join(given, " "); have != test.given {
				t.Errorf("given %q, want %q", have, test.given)
			}
			screen := s.render(s.lastEvent)
			if last := screen[strings.LastIndex(screen, "\n")+1:]; !strings.Contains(last, test.says) {
				t.Errorf("last line %q, want %q in it", last, test.says)
			}
		})
	}
}

// TestResumedInTheMiddle folds the events of two sessions, as who watches reads
// them: what was not ok runs again and is counted once.
func TestResumedInTheMiddle(t *testing.T) {
	t.Parallel()
	m := demo{repetitions: 1, workers: 2, nodes: 1}.manifest()
	model := NewModel(demoOptions(m))
	var trials []record.Trial
	for _, p := range m.Plan {
		if !p.Warmup {
			trials = append(trials, p.Trial)
		}
	}
	now := demoStart
	tell := func(e record.Event) {
		now = now.Add(time.Second)
		e.Time = now
		model.Apply(e)
	}
	end := func(i int, s record.Status) {
		tell(record.Event{Kind: record.EventTrialEnded, Record: &record.Record{Trial: trials[i], Status: s, MakespanS: 1, RunS: 1}})
	}
	tell(record.Event{Kind: record.EventRunStarted, Total: len(trials)})
	end(0, record.StatusOK)
	end(1, record.StatusFailed)
	end(2, record.StatusSkipped)
	tell(record.Event{Kind: record.EventRunEnded, ExitCode: 3})
	if !model.over || model.schedule.done != 3 {
		t.Fatalf("after the first session: over %t, %d done", model.over, model.schedule.done)
	}
	tell(record.Event{Kind: record.EventRunResumed, Total: len(trials), Done: 1})
	if model.over || model.schedule.done != 1 || model.counts[record.StatusFailed] != 0 || !model.started.Equal(now) {
		t.Errorf("resumed: over %t, %d done, counts %v", model.over, model.schedule.done, model.counts)
	}
	end(1, record.StatusOK)
	end(2, record.StatusTimeout)
	end(2, record.StatusOK) // an order that only damage explains
	if have := model.counts; have[record.StatusOK] != 3 || have[record.StatusTimeout] != 0 || model.schedule.done != 3 {
		t.Errorf("counts %v, %d done", have, model.schedule.done)
	}
	f := model.facts(now)
	if f.Phase != "between" || f.EstimatedEnd.IsZero() || f.Nodes == nil || f.Reservation != nil {
		t.Errorf("facts %+v", f)
	}
}

// TestLauncher calls the rung of nodes that answer by what reaches them.
func TestLauncher(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ state, want string }{{"granted", "granted"}, {"ssh", "ssh"}, {"srun", "srun"}, {"prun", "prun"}} {
		var l ladder
		l.take("node001", c.state, "")
		if have := l.facts()[0].Rung; have != c.want {
			t.Errorf("%s: want %q, have %q", c.state, c.want, have)
		}
		l.take("node001", "environment", "")
		if words := l.words(); l.nodes[0].rung != 3 || c.state != "granted" && words[2] != c.want {
			t.Errorf("%s: rung %d of %q", c.state, l.nodes[0].rung, words)
		}
	}
}
