package runners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/esched/esched/runners/record"
)

// act is what happens in one attempt of a trial.
type act string

const (
	succeed act = "succeed"
	raise   act = "raise"   // the workload fails, the deployment is sound
	hang    act = "hang"    // it ends only when it is cancelled
	deaf    act = "deaf"    // it does not even end then
	die     act = "die"     // the driver process dies
	lose    act = "lose"    // it succeeds, but a worker was lost meanwhile
	differ  act = "differ"  // it returns a wrong result
	stop    act = "stop"    // the user stops the run after it
	cancel  act = "cancel"  // the user presses Ctrl-C while it runs
	unknown act = "unknown" // it returns no digest
)

// world is a site in memory. Acts and deployment errors are consumed in
// order; when a list is empty, all goes well.
type world struct {
	t       *testing.T
	acts    map[string][]act // by "workload/repetition"
	deploys []error
	reserve error
	claim   time.Duration // 0: no deadline
	onStop  func()
	onCtrlC func()

	mu          sync.Mutex
	log         []string // deploy, run, stop, release, in order
	events      []record.Event
	records     []record.Record
	full        int // records after which the disk is full; 0: never
	deployments int // alive
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) AppendRecord(r record.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full > 0 && len(w.records) >= w.full {
		return errors.New("no space left on device")
	}
	w.records = append(w.records, r)
	return nil
}

func (w *world) AppendEvent(e record.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	return nil
}

func (w *world) Reserve(context.Context, func(record.Event)) (Grant, error) {
	if w.reserve != nil {
		return Grant{}, w.reserve
	}
	g := Grant{Hosts: []record.Host{{Name: "here"}}, Queue: 2 * time.Second}
	if w.claim > 0 {
		g.Deadline = time.Now().Add(w.claim)
	}
	return g, nil
}

func (w *world) Release(context.Context, func(record.Event)) error {
	w.note("release")
	return nil
}

func (w *world) Deploy(_ context.Context, b Block, _ func(record.Event)) (Deployment, error) {
	w.note("deploy %s", b.Scheduler.Name)
	time.Sleep(3 * time.Second) // fake time
	if len(w.deploys) > 0 {
		err := w.deploys[0]
		w.deploys = w.deploys[1:]
		if err != nil {
			return nil, err
		}
	}
	w.deployments++
	return &inMemory{world: w}, nil
}

type inMemory struct {
	*world
	lost error
}

func (d *inMemory) Hosts() []string { return []string{"here"} }
func (d *inMemory) Check() error    { return d.lost }
func (d *inMemory) Stop(context.Context) error {
	d.deployments--
	d.note("stop")
	return nil
}

func (d *inMemory) Run(ctx context.Context, t record.Trial) (record.Record, error) {
	name := fmt.Sprintf("%s/%d", t.Workload, t.Repetition)
	d.note("run %s", name)
	d.mu.Lock()
	what := succeed
	if list := d.acts[name]; len(list) > 0 {
		what, d.acts[name] = list[0], list[1:]
	}
	d.mu.Unlock()
	good := record.Record{MakespanS: 1, ResultDigest: "abc"}
	time.Sleep(time.Second)
	switch what {
	case raise:
		return record.Record{}, errors.New("ValueError: no")
	case hang:
		<-ctx.Done()
		return record.Record{}, ctx.Err()
	case deaf:
		time.Sleep(time.Hour)
		return record.Record{}, ctx.Err()
	case die:
		return record.Record{}, fmt.Errorf("driver: exit status 9: %w", ErrBroken)
	case lose:
		d.lost = errors.New("worker-1 lost")
	case differ:
		good.ResultDigest = "xyz"
	case unknown:
		good.ResultDigest = ""
	case stop:
		d.onStop()
	case cancel:
		d.onCtrlC()
		<-ctx.Done()
		return record.Record{}, ctx.Err()
	}
	return good, nil
}

// statuses renders the measured records: "a/1 ok, b/1 failed".
func (w *world) statuses() []string {
	var s []string
	for _, r := range w.records {
		if !r.Warmup {
			s = append(s, fmt.Sprintf("%s/%d %s", r.Workload, r.Repetition, r.Status))
		}
	}
	return s
}

func (w *world) count(entry string) int {
	n := 0
	for _, l := range w.log {
		if l == entry {
			n++
		}
	}
	return n
}

// trial is a trial of the plan below.
func trial(workload, scheduler string, repetition int) record.Trial {
	t := record.Trial{Workload: workload, Size: "small", Params: map[string]any{"n": int64(3)}, Scheduler: scheduler,
		Kind: scheduler, Nodes: 1, Workers: 2, Threads: 1, Environment: "default", Repetition: repetition}
	t.ID = t.Identity()
	return t
}

// twoBlocks is a plan of four trials: a and b under dask, then under sidekick
// (repetition 2, so that names differ), each block with a warm-up of a.
func twoBlocks() *Plan {
	block := func(scheduler string, repetition int) Block {
		warmup := trial("a", scheduler, 0)
		warmup.Warmup = true
		return Block{Scheduler: SchedulerSpec{Name: scheduler, Kind: scheduler}, Nodes: 1, WorkersPerNode: 2, Threads: 1,
			Repetition: repetition, Warmups: []record.Trial{warmup},
			Trials: []record.Trial{trial("a", scheduler, repetition), trial("b", scheduler, repetition)}}
	}
	return &Plan{Blocks: []Block{block("dask", 1), block("sidekick", 2)}}
}

func newRunner(w *world, p *Plan) *Runner {
	return &Runner{Plan: p, Site: w, Journal: w, Now: time.Now, Kill: context.Background(),
		Limit: func(record.Trial) time.Duration { return time.Minute }}
}

func equalStrings(t *testing.T, what string, want, have []string) {
	t.Helper()
	if !slices.Equal(want, have) {
		t.Errorf("%s:\nwant %q\nhave %q", what, want, have)
	}
}

// disturbed returns what the records say of lost processes.
func (w *world) disturbed() string {
	var all []string
	for _, r := range w.records {
		if r.Disturbed != "" {
			all = append(all, r.Disturbed)
		}
	}
	return strings.Join(all, "; ")
}
