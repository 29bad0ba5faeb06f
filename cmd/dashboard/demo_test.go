package dashboard

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/esched/esched/runners/record"
)

// demo is a made-up run: two sizes, four series, some repetitions, with a
// node that is lost, a trial that is tried again and one that fails. It is a
// pure function of its fields.
type demo struct {
	repetitions int
	workers     int
	nodes       int
}

var demoStart = time.Date(2026, 11, 21, 10, 4, 12, 0, time.UTC)

func (d demo) series() []record.Trial {
	return []record.Trial{
		{Scheduler: "dask", Kind: "dask"},
		{Scheduler: "sidekick", Kind: "sidekick", Policy: "composite"},
		{Scheduler: "sidekick", Kind: "sidekick", Policy: "earliest-start"},
		{Scheduler: "sidekick", Kind: "sidekick", Policy: "random"},
	}
}

// manifest plans one block for each repetition of each scheduler.
func (d demo) manifest() *record.Manifest {
	m := &record.Manifest{
		Schema: record.Schema, ID: "2026-11-21T10-04-12-overhead-laptop", Name: "overhead-laptop",
		Cluster: "local", ClusterKind: "local", Started: demoStart, Sessions: 1,
	}
	order := 0
	for rep := 1; rep <= d.repetitions; rep++ {
		for b, s := range d.series() {
			block := (rep-1)*4 + (b*3+rep)%4
			_ = block
			for _, chunks := range []int{0, 2000, 500} {
				t := s
				t.Workload, t.Size = "montecarlo", fmt.Sprintf("%d chunks", chunks)
				t.Params = map[string]any{"chunks": chunks}
				t.Nodes, t.Workers, t.Threads, t.Environment = d.nodes, d.workers, 1, "current"
				t.Repetition = rep
				if chunks == 0 {
					t.Size, t.Repetition, t.Warmup = "100 chunks", 0, true
				}
				t.ID = t.Identity()
				order++
				m.Plan = append(m.Plan, record.Planned{Trial: t, Block: (rep-1)*4 + b, Order: order})
			}
		}
	}
	return m
}

func makespan(t record.Trial, r *rand.Rand) float64 {
	base := map[string]float64{"dask": 4.71, "sidekick/composite": 4.55, "sidekick/earliest-start": 3.02, "sidekick/random": 5.9}[t.Series()]
	if t.Size == "500 chunks" {
		base /= 3.7
	}
	if t.Warmup {
		base = 0.8
	}
	return base * (0.97 + 0.06*r.Float64())
}

// events tells the whole run; the time between two events is that of the
// first's Time to the second's.
func (d demo) events() []record.Event {
	r := rand.New(rand.NewPCG(1, 2))
	now := demoStart
	var out []record.Event
	emit := func(after time.Duration, e record.Event) {
		now = now.Add(after)
		e.Time = now
		out = append(out, e)
	}
	m := d.manifest()
	measured := 0
	for _, p := range m.Plan {
		if !p.Warmup {
			measured++
		}
	}
	emit(0, record.Event{Kind: record.EventRunStarted, Message: "runs/" + m.ID, Total: measured})
	emit(time.Second, record.Event{Kind: record.EventEnvironment, Message: "installing 38 packages from the lock"})
	emit(9*time.Second, record.Event{Kind: record.EventReservation, State: "requested", Message: "job 4711"})
	emit(time.Second, record.Event{Kind: record.EventReservation, State: "pending", Message: "Resources, estimated start 10:04:30"})
	emit(12*time.Second, record.Event{Kind: record.EventReservation, State: "running", Message: fmt.Sprintf("%d nodes until 10:34:30", d.nodes)})
	block := -1
	done := 0
	for i, p := range m.Plan {
		if p.Block != block {
			if block >= 0 {
				emit(time.Second/2, record.Event{Kind: record.EventDeployment, State: "stopped"})
			}
			block = p.Block
			d.deploy(emit, p)
		}
		t := p.Trial
		emit(time.Second/4, record.Event{Kind: record.EventTrialStarted, Trial: &t, Order: done + 1, Total: measured})
		rec := d.record(p, r, now)
		took := time.Duration((rec.RunS) * float64(time.Second))
		switch {
		case i == 7:
			emit(took/3, record.Event{Kind: record.EventTrialRetry, Trial: &t, Message: "worker node002/worker-1 lost: exit status 137"})
		case i == 17:
			rec.Status, rec.Error, rec.MakespanS = record.StatusTimeout, "no result after 60 s; 1,993 of 2,000 tasks finished", 0
			emit(0, record.Event{Kind: record.EventNode, Node: "node002/worker-1", State: "lost", Message: "no heartbeat for 30 s"})
		case i == 19:
			emit(0, record.Event{Kind: record.EventWarning, Message: "load of this machine was 3.1 before the trial; times may be noisy"})
		}
		emit(took, record.Event{Kind: record.EventTrialEnded, Record: rec})
		if !p.Warmup {
			done++
		}
	}
	emit(time.Second, record.Event{Kind: record.EventDeployment, State: "stopped"})
	emit(time.Second, record.Event{Kind: record.EventReservation, State: "released", Message: "job 4711"})
	emit(time.Second, record.Event{Kind: record.EventReport, Message: "runs/" + m.ID + "/report.html"})
	emit(0, record.Event{Kind: record.EventRunEnded, Message: fmt.Sprintf("%d trials, 1 not ok", measured), ExitCode: 3})
	return out
}

func (d demo) deploy(emit func(time.Duration, record.Event), p record.Planned) {
	emit(time.Second/4, record.Event{Kind: record.EventDeployment, State: "starting", Message: p.Scheduler + " on " + plural(d.nodes, "node")})
	for _, state := range []string{"starting", "process", "registered"} {
		for w := range d.workers {
			host := fmt.Sprintf("node%03d", w%d.nodes+1)
			emit(time.Second/8, record.Event{Kind: record.EventNode, Node: fmt.Sprintf("%s/worker-%d", host, w/d.nodes+1), State: state})
		}
	}
	emit(time.Second/4, record.Event{Kind: record.EventDeployment, State: "ready", Message: plural(d.workers, "worker")})
}

func (d demo) record(p record.Planned, r *rand.Rand, now time.Time) *record.Record {
	s := makespan(p.Trial, r)
	rec := &record.Record{
		Schema: record.Schema, Trial: p.Trial, Status: record.StatusOK, Block: p.Block, Order: p.Order,
		MakespanS: s, SubmitS: s / 50, Tasks: 4671, Started: now, QueueS: 12, DeployS: 2.1, WarmupS: 1.3, RunS: s + 0.4,
	}
	if p.Kind == "sidekick" {
		rec.Decisions = 4671
		rec.DecisionUS = &record.Quantiles{P50: 0.41, P95: 1.2, P99: 2.13, Max: 41}
		if p.Policy == "random" {
			rec.Fallbacks = 3
		}
	}
	return rec
}

// demoOptions are those of a golden screen: a fixed clock and time zone.
func demoOptions(m *record.Manifest) Options {
	return Options{Manifest: m, Location: time.UTC, Now: func() time.Time { return demoStart }}
}
