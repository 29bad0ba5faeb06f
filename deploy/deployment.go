package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stopGrace is the time that the processes of a deployment get between
// SIGTERM and SIGKILL. They hold nothing that must be saved, so it is short.
const stopGrace = 500 * time.Millisecond

// The roles in a deployment.
const (
	RoleService   = "service"   // esched's decision service
	RoleScheduler = "scheduler" // Dask's scheduler
	RoleWorker    = "worker"
)

// Deployment is one Dask scheduler, the decision service beside it when the
// scheduler is external, and workers, all running. Its methods may be called
// from several goroutines.
type Deployment struct {
	spec  Spec
	hosts []Host
	// dir is a directory below Spec.Dir that belongs to this deployment only.
	dir      string
	addr     string
	cancel   context.CancelCauseFunc
	lost     chan Loss
	watchers sync.WaitGroup
	stop     func(context.Context) error

	mu       sync.Mutex
	members  []*Member // in the order in which they were started
	stopping bool
}

// Member is a process of a deployment.
type Member struct {
	Process
	Role string // RoleService, RoleScheduler or RoleWorker
	// Name is the role, or a worker's name as Dask knows it; Host the name of
	// its host; Log the path of its log file on this machine.
	Name string
	Host string
	Log  string
}

// node is what events call the member.
func (m *Member) node() string { return m.Host + "/" + m.Name }

// Loss tells of a process of a deployment that ended before Stop.
type Loss struct {
	Member *Member
	Err    error
}

// Fatal tells whether the deployment is of no use without what was lost: Dask
// goes on without a worker, but not without its scheduler. Without the decision
// service it goes on too, but no longer measures what it was started for.
func (l Loss) Fatal() bool { return l.Member.Role != RoleWorker }

// Start starts what spec describes on the hosts, the scheduler on the first,
// and returns when every worker has registered with the scheduler. The
// processes live until Stop, or until ctx is done. When Start returns an error,
// nothing of the deployment is left.
func Start(ctx context.Context, hosts []Host, spec Spec) (*Deployment, error) {
	if err := spec.check(hosts); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(spec.Logs, 0o755); err != nil {
		return nil, fmt.Errorf("deployment: logs: %w", err)
	}
	life, cancel := context.WithCancelCause(ctx)
	d := &Deployment{
		spec: spec, hosts: hosts, dir: spec.ownDir(), cancel: cancel,
		lost: make(chan Loss, 2+len(hosts)*spec.WorkersPerNode),
	}
	d.stop = once(d.end)
	ready, release := context.WithTimeoutCause(life, spec.Ready, errNotReady)
	defer release()
	if err := d.begin(life, ready); err != nil {
		// With a context of its own: what was started must end even if ctx is
		// why the start was given up.
		bounded, release := context.WithTimeout(context.WithoutCancel(ctx), 2*endBound)
		defer release()
		return nil, errors.Join(fmt.Errorf("deployment: %w", err), d.Stop(bounded))
	}
	return d, nil
}

// errNotReady is the cause of contexts that end because Spec.Ready is over.
var errNotReady = errors.New("not ready in time")

// begin starts all processes, which live as long as life, and waits for them
// as long as ready.
//
// Starting Python is what a deployment's start costs, about 1.5 s of CPU time
// a process. So the scheduler and all workers start at once, and the workers
// wait for the file in which the scheduler writes its address.
func (d *Deployment) begin(life, ready context.Context) error {
	if err := d.prepare(ready); err != nil {
		return err
	}
	if len(d.spec.Service) > 0 {
		if err := d.startService(life, ready); err != nil {
			return err
		}
	}
	first := d.hosts[0]
	if _, err := d.start(life, first, RoleScheduler, RoleScheduler, d.schedulerCommand()); err != nil {
		return err
	}
	if err := d.startWorkers(life); err != nil {
		return err
	}
	file, err := d.schedulerFile(ready)
	if err != nil {
		return err
	}
	d.addr = file.Address
	return d.awaitWorkers(ready, file)
}

func (d *Deployment) startService(life, ready context.Context) error {
	out, err := newReadyWriter(filepath.Join(d.spec.Logs, RoleService+".log"))
	if err != nil {
		return err
	}
	c := d.serviceCommand()
	c.Stdout = out
	m, err := d.start(life, d.hosts[0], RoleService, RoleService, c)
	if err != nil {
		out.Close()
		return err
	}
	go func() {
		<-m.Done()
		out.Close()
	}()
	select {
	case <-out.ready:
		d.observe(m, "registered", "")
		return nil
	case <-m.Done():
		return d.early(m)
	case <-ready.Done():
		return fmt.Errorf("%s on %s: no line that begins with %q: %w%s", m.Name, m.Host, readyLine, context.Cause(ready), quoteLog(m.Log))
	}
}

func (d *Deployment) startWorkers(life context.Context) error {
	var wait sync.WaitGroup
	var errs []error
	var mu sync.Mutex
	for _, host := range d.hosts {
		for _, name := range d.spec.workerProcesses(host.Name()) {
			wait.Go(func() {
				_, err := d.start(life, host, RoleWorker, name, d.workerCommand(host, name))
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
	}
	wait.Wait()
	return errors.Join(errs...)
}

// workerProcesses names the processes that stand for the workers of a host.
func (s Spec) workerProcesses(host string) []string {
	if s.Instant {
		return []string{instantName(host)}
	}
	return s.workerNames(host)
}

// workerNames names the workers of a host as Dask knows them.
func (s Spec) workerNames(host string) []string {
	names := make([]string, s.WorkersPerNode)
	for i := range names {
		names[i] = WorkerName(host, i)
	}
	return names
}

// instantName is the name of the process of a host's instant workers.
func instantName(host string) string { return host + "-instant" }

// WorkerName is the name of worker i, from 0, on a host.
func WorkerName(host string, i int) string { return fmt.Sprintf("%s-w%d", host, i) }

// start starts a member, enters it in the deployment and watches it.
func (d *Deployment) start(life context.Context, host Host, role, name string, c Command) (*Member, error) {
	m := &Member{Role: role, Name: name, Host: host.Name(), Log: c.Log}
	d.observe(m, "starting", "")
	p, err := host.Start(life, c)
	if err != nil {
		d.observe(m, "lost", err.Error())
		return nil, err
	}
	m.Process = p
	d.mu.Lock()
	d.members = append(d.members, m)
	d.mu.Unlock()
	d.observe(m, "process", fmt.Sprintf("pid %d", p.PID()))
	d.watchers.Go(func() { d.watch(life, m) })
	return m, nil
}

// watch reports the end of a member that was not asked to end.
func (d *Deployment) watch(life context.Context, m *Member) {
	<-m.Done()
	d.mu.Lock()
	stopping := d.stopping || life.Err() != nil
	d.mu.Unlock()
	if stopping {
		return
	}
	err := m.Err()
	if err == nil {
		err = fmt.Errorf("%s on %s: ended by itself", m.Name, m.Host)
	}
	d.observe(m, "lost", err.Error())
	d.lost <- Loss{m, err} // has room for every member
}

func (d *Deployment) observe(m *Member, state, message string) {
	if d.spec.Observe != nil {
		d.spec.Observe(Step{Node: m.node(), State: state, Message: message})
	}
}

// Addr is the address of Dask's scheduler, "tcp://host:port".
func (d *Deployment) Addr() string { return d.addr }

// Hosts are the names of the hosts, the scheduler's first.
func (d *Deployment) Hosts() []string {
	names := make([]string, len(d.hosts))
	for i, h := range d.hosts {
		names[i] = h.Name()
	}
	return names
}

// Scheduler is Dask's scheduler.
func (d *Deployment) Scheduler() *Member { return d.member(RoleScheduler) }

// Service is the decision service, nil for unmodified Dask.
func (d *Deployment) Service() *Member { return d.member(RoleService) }

func (d *Deployment) member(role string) *Member {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.members {
		if m.Role == role {
			return m
		}
	}
	return nil
}

// Workers are the processes of the workers that were started, by host and then
// by number.
func (d *Deployment) Workers() []*Member {
	d.mu.Lock()
	defer d.mu.Unlock()
	byName := map[string]*Member{}
	for _, m := range d.members {
		if m.Role == RoleWorker {
			byName[m.Name] = m
		}
	}
	var workers []*Member
	for _, h := range d.hosts {
		for _, name := range d.spec.workerProcesses(h.Name()) {
			if m := byName[name]; m != nil {
				workers = append(workers, m)
			}
		}
	}
	return workers
}

// Lost tells of processes that ended before Stop. It is never closed.
func (d *Deployment) Lost() <-chan Loss { return d.lost }

// Driver starts a program on the scheduler's host with the environment of the
// deployment: the workloads' modules, the Dask settings, one thread for each
// numerical library. It does not end with the deployment's other processes; the
// caller stops it before them.
func (d *Deployment) Driver(ctx context.Context, c Command) (Process, error) {
	c.Env = append(d.env(), c.Env...)
	return d.hosts[0].Start(ctx, c)
}

// Stop ends all processes and removes the deployment's files on the nodes. It
// is bounded, also without ctx, and idempotent. An error names what may be
// left.
func (d *Deployment) Stop(ctx context.Context) error { return d.stop(ctx) }

func (d *Deployment) end(ctx context.Context) error {
	d.mu.Lock()
	d.stopping = true
	members := append([]*Member{}, d.members...)
	d.mu.Unlock()
	results := make(chan error, len(members))
	for _, m := range members {
		go func() { results <- m.Stop(stopGrace) }()
	}
	var errs []error
	for range members {
		select {
		case err := <-results:
			errs = append(errs, err)
		case <-ctx.Done():
			d.cancel(context.Canceled)
			return fmt.Errorf("stop of the deployment: %w; maybe still there: %s",
				context.Cause(ctx), strings.Join(alive(members), ", "))
		}
	}
	errs = append(errs, d.sweep(ctx))
	d.cancel(context.Canceled)
	d.watchers.Wait()
	return errors.Join(errs...)
}

func alive(members []*Member) []string {
	var names []string
	for _, m := range members {
		select {
		case <-m.Done():
		default:
			names = append(names, fmt.Sprintf("%s (pid %d)", m.node(), m.PID()))
		}
	}
	return names
}

// once makes f run only once; later calls return the first one's error.
func once(f func(context.Context) error) func(context.Context) error {
	var o sync.Once
	var err error
	return func(ctx context.Context) error {
		o.Do(func() { err = f(ctx) })
		return err
	}
}
