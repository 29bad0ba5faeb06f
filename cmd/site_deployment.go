package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
	"github.com/esched/esched/scheduler/policies"
	"github.com/esched/esched/workloads"
)

const (
	// readyLimit bounds the start of a deployment. Python and Dask come from a
	// cold network file system in the worst case.
	readyLimit = 2 * time.Minute
	// readyEach is added to it for each process of workers: all of them load
	// Python from one file system, and one scheduler greets them.
	readyEach = time.Second
	// driverGrace is what a driver gets to close its client.
	driverGrace = 2 * time.Second
)

// running is a deployment with the driver that executes trials on it: the
// [runners.Deployment] of real runs.
type running struct {
	*deploy.Deployment
	observer *deploy.Observer
	site     *site
	driver   *workloads.Driver
	process  deploy.Process     // the driver's
	broken   bool               // the driver does not listen any more
	end      context.CancelFunc // of the processes' lives
	logs     string
	seed     int64
	options  map[string]any // of the scheduler's kind
	tell     func(record.Event)
	marks    int // trials so far, also failed ones

	mu   sync.Mutex
	lost error
}

// Deploy implements runners.Site.
func (x *site) Deploy(ctx context.Context, b runners.Block, tell func(record.Event)) (runners.Deployment, error) {
	x.deployed++
	name := fmt.Sprintf("%03d-%s-%dw-rep%d", x.deployed, b.Scheduler.Name, b.Nodes*b.WorkersPerNode, b.Repetition)
	tell(record.Event{Kind: record.EventDeployment, State: "starting",
		Message: fmt.Sprintf("%s, %d worker(s), repetition %d", b.Scheduler.Name, b.Nodes*b.WorkersPerNode, b.Repetition)})
	spec := x.spec(b, filepath.Join(x.path(x.dir), logsDir, name))
	spec.Observe = func(s deploy.Step) {
		tell(record.Event{Kind: record.EventNode, Node: s.Node, State: s.State, Message: s.Message})
	}
	// A stop of the run ends the start at once, but not, without more ado, the
	// processes that run: they are stopped in order.
	life, end := context.WithCancel(x.runner.Kill)
	giveUp := context.AfterFunc(ctx, end)
	r := &running{site: x, end: end, logs: spec.Logs, seed: x.plan.Seed, options: b.Scheduler.Options, tell: tell}
	spec.Beside = func(ctx context.Context, d *deploy.Deployment) error {
		return errors.Join(r.dropDriver(), x.startDriver(ctx, r, d, spec)) // there is one when nodes were left out
	}
	d, err := x.start(life, b.Nodes, spec, tell)
	if err != nil {
		end()
		x.afterLoss(ctx)
		return nil, x.orFull(errors.Join(err, r.dropDriver()))
	}
	r.Deployment, r.observer = d, d.Observer()
	if !giveUp() {
		bounded, release := context.WithTimeout(x.runner.Kill, readyLimit)
		defer release()
		return nil, x.orFull(errors.Join(context.Cause(ctx), r.Stop(bounded)))
	}
	tell(record.Event{Kind: record.EventDeployment, State: "ready", Message: d.Addr()})
	return r, nil
}

// orFull returns err, unless the run directory has no room: then no other
// deployment would fare better, and the run has to end before it fails them all.
func (x *site) orFull(err error) error {
	if full := x.roomy(x.dir); isFull(full) {
		err = fmt.Errorf("%w: %w (%w)", runners.ErrStore, full, err)
		return hint.With(err, "free space (or quota) for "+x.dir+", then continue with --resume "+x.dir)
	}
	return err
}

// processes is how many processes the workers of a block are.
func processes(b runners.Block) int {
	if b.Worker == record.WorkerInstant {
		return b.Nodes
	}
	return b.Nodes * b.WorkersPerNode
}

// spec says what to start for a block.
func (x *site) spec(b runners.Block, logs string) deploy.Spec {
	s := deploy.Spec{
		Python: x.nodes.interpreter(), PythonPath: x.nodes.modules,
		WorkersPerNode: b.WorkersPerNode, Threads: b.Threads, MemoryLimit: b.WorkerMemoryB, Instant: b.Worker == record.WorkerInstant,
		Settings: b.Scheduler.Dask, Dir: x.nodes.scratch, Logs: logs, Ready: readyLimit + time.Duration(processes(b))*readyEach,
		Apart: x.nodes.cluster.SchedulerNode == schedulerOwn, Addresses: x.nodes.addresses,
	}
	if x.nodes.authority != nil {
		s.TLS = &deploy.TLS{Authority: x.nodes.authority, Life: certificateClaims*x.experiment.ClaimTime + certificateSlack}
	}
	if b.Scheduler.Kind == kindSidekick {
		// Each trial chooses its policy; this one only decides before the first.
		s.Service = []string{"{esched}", "serve", "--socket", "{socket}",
			"--policy", policies.Names()[0], "--seed", strconv.FormatInt(x.plan.Seed, 10)}
		s.Preload = x.preload()
	}
	return s
}

// Run implements runners.Deployment.
func (r *running) Run(ctx context.Context, t record.Trial) (record.Record, error) {
	scheduler, service := r.cpu()
	r.marks++
	stop := r.observe(t)
	rec, err := r.trial(ctx, t)
	stop()
	if err != nil && (r.broken || r.Check() != nil) {
		r.site.afterLoss(ctx)
	}
	r.site.Failpoints.Reach(failpoint.Result)
	after, serviceAfter := r.cpu()
	rec.SchedulerCPUS, rec.ServiceCPUS = (after - scheduler).Seconds(), (serviceAfter - service).Seconds()
	return rec, err
}

// cpu returns the CPU time that scheduler and service used so far; 0 for a
// process that cannot be asked.
func (r *running) cpu() (scheduler, service time.Duration) {
	if m := r.Scheduler(); m != nil {
		scheduler, _ = m.CPU()
	}
	if m := r.Service(); m != nil {
		service, _ = m.CPU()
	}
	return scheduler, service
}

// Check implements runners.Deployment.
func (r *running) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		select {
		case loss := <-r.Lost():
			r.lost = errors.Join(r.lost, fmt.Errorf("%s lost: %w", loss.Member.Name, loss.Err))
		default:
			return r.lost
		}
	}
}

// Stop implements runners.Deployment.
func (r *running) Stop(ctx context.Context) error {
	defer r.end()
	r.observer.Close()
	return errors.Join(r.closeDriver(ctx), r.Deployment.Stop(ctx))
}
