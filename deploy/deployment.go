package deploy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/deploy/tlsca"
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
	dir        string
	addr       string
	identities map[string]tlsca.Identity // by host
	client     *tls.Config               // esched's own; nil without TLS
	cancel     context.CancelCauseFunc
	lost       chan Loss
	watchers   sync.WaitGroup
	stop       func(context.Context) error

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
// nothing of the deployment is left; [BadHosts] finds in it the hosts without
// which another start may succeed.
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
	ready, release := spec.timed(life)
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

// timed is a context that ends, as not ready, when the time of Ready is over.
func (s Spec) timed(life context.Context) (context.Context, context.CancelFunc) {
	ctx, release := context.WithTimeoutCause(life, s.Ready, errNotReady)
	if s.over == nil {
		return ctx, release
	}
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.over:
			end(errNotReady)
		case <-ctx.Done():
		}
	}()
	return ctx, release
}

// workerHosts are the hosts that have workers.
func (d *Deployment) workerHosts() []Host {
	if d.spec.Apart {
		return d.hosts[1:]
	}
	return d.hosts
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

// starts starts a member that is the only one of its role. The error is the
// host's.
func (d *Deployment) starts(life context.Context, h Host, role, name string, c Command) error {
	if _, err := d.start(life, h, role, name, c); err != nil {
		bad := &BadHost{h.Name(), RungProcess, err}
		d.tell(bad.Step())
		return bad
	}
	return nil
}

// start starts a member, enters it in the deployment and watches it.
func (d *Deployment) start(life context.Context, host Host, role, name string, c Command) (*Member, error) {
	m := &Member{Role: role, Name: name, Host: host.Name(), Log: c.Log}
	d.observe(m, StateStarting, "")
	p, err := host.Start(life, c)
	if err != nil {
		d.observe(m, StateLost, err.Error())
		return nil, err
	}
	m.Process = p
	d.mu.Lock()
	d.members = append(d.members, m)
	d.mu.Unlock()
	d.observe(m, string(RungProcess), fmt.Sprintf("pid %d", p.PID()))
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
	d.observe(m, StateLost, err.Error())
	d.lost <- Loss{m, err} // has room for every member
}

func (d *Deployment) observe(m *Member, state, message string) {
	d.tell(Step{Node: m.node(), State: state, Message: message})
}

// Addr is the address of Dask's scheduler, "tcp://host:port" or, with TLS,
// "tls://host:port".
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

// HostOf is the name of the host of a worker, by the worker's name as Dask knows
// it, also of one that shares its process with others; "" when there is none.
func (d *Deployment) HostOf(worker string) string {
	if m := d.expected()[worker]; m != nil {
		return m.Host
	}
	return ""
}

// Lost tells of processes that ended before Stop. It is never closed.
func (d *Deployment) Lost() <-chan Loss { return d.lost }

// AddressFile is the path, on the scheduler's host, of the file that gets the
// scheduler's address when it runs: JSON with a key "address".
func (d *Deployment) AddressFile() string { return d.path(addressFile) }

// Driver starts a program on the scheduler's host with the environment of the
// deployment: the workloads' modules, the Dask settings, one thread for each
// numerical library. It does not end with the deployment's other processes; the
// caller stops it before them.
func (d *Deployment) Driver(ctx context.Context, c Command) (Process, error) {
	c.Env = append(d.env(d.hosts[0]), c.Env...)
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
