package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// logsDir is the directory of a run with the logs of all processes.
const logsDir = "logs"

// site puts queue, nodes, environment and workloads of a run together: the
// [runners.Site] of real runs.
type site struct {
	*session
	python      pyenv.Environment
	reserver    reserve.Reserver
	reservation *holding      // nil while there is none
	client      *ssh.Client   // to the nodes of the reservation; nil on the local cluster
	unwatch     func()        // ends looking after the reservation; nil before the first
	take        func(error)   // tells the runner that the queue took the nodes back; likewise
	hosts       []deploy.Host // those that are usable, in the reservation's order
	nodes       *nodes
	left        []remains // what earlier runs left on nodes of any cluster
	deployed    int       // deployments so far
}

// site prepares what the run needs before nodes are reserved, so that they
// do not wait for it.
func (s *session) site(ctx context.Context) (*site, error) {
	x := &site{session: s}
	var err error
	if x.reserver, err = s.newReserver(s.clusterOptions(s.experiment.Cluster)); err != nil {
		return nil, err
	}
	if x.python, err = s.preparePython(ctx); err != nil {
		return nil, err
	}
	if err := s.prepareData(ctx); err != nil {
		return nil, err
	}
	if err := s.keepPrograms(); err != nil {
		return nil, err
	}
	if err := s.keepInputs(); err != nil {
		return nil, err
	}
	if err := s.mkdirAll(filepath.Join(s.dir, logsDir), 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", runners.ErrStore, err)
	}
	scratch, err := s.makeScratch(s.dir)
	if err != nil {
		return nil, hint.With(err, "set TMPDIR to a directory with a short path that you can write to")
	}
	if x.nodes, err = s.nodes(ctx, scratch, x.python); err != nil {
		return nil, err
	}
	return x, nil
}

// Close removes what the run has no further use for.
func (x *site) Close() error { return x.removeScratch(x.dir) }

// lookAtOwn checks an environment of the user's before anything is written: one
// that does not fit is a mistake of the experiment, and leaves no run behind.
func (s *session) lookAtOwn(ctx context.Context) error {
	if !strings.ContainsRune(s.experiment.Environment, '/') {
		return nil // made when it is missing, which takes time and is part of the run
	}
	ctx, stop := s.interruptible(ctx)
	defer stop()
	e, err := s.environment(ctx, s.experiment.Environment, func(string) {})
	if err != nil {
		return interruptedOr(ctx, err)
	}
	s.own = &e
	return nil
}

// preparePython makes or verifies the environment and notes it.
func (s *session) preparePython(ctx context.Context) (pyenv.Environment, error) {
	name := s.experiment.Environment
	s.runner.Tell(record.Event{Kind: record.EventEnvironment, Message: name + ": checking"})
	var e pyenv.Environment
	var err error
	if s.own != nil {
		e = *s.own
	} else {
		e, err = s.environment(ctx, name, func(text string) {
			s.runner.Tell(record.Event{Kind: record.EventEnvironment, Message: text})
		})
	}
	if err != nil {
		return e, err
	}
	s.runner.Tell(record.Event{Kind: record.EventEnvironment,
		Message: fmt.Sprintf("%s: Python %s, Dask %s", name, e.Python, e.Packages["dask"])})
	now := map[string]record.Environment{name: e.Environment}
	if s.earlier != nil {
		before := record.Manifest{Environments: s.earlier.Manifest.Environments}
		for _, change := range runners.Changes(before, record.Manifest{Environments: now}) {
			s.warn(change)
		}
	}
	return e, s.store.UpdateManifest(func(m *record.Manifest) { m.Environments = now })
}

// Reserve implements runners.Site.
func (x *site) Reserve(ctx context.Context, tell func(record.Event)) (runners.Grant, error) {
	o := x.nodes.cluster
	request := o.request(x.experiment, x.plan, x.path(x.dir))
	if err := x.reserver.Check(ctx, request); err != nil {
		return runners.Grant{}, err
	}
	asked := x.Now()
	r, err := x.obtain(ctx, request, tell)
	if err != nil {
		return runners.Grant{}, err
	}
	x.reservation = &holding{Reservation: r, now: x.Now}
	w := &wait{
		holding: x.reservation, tell: tell, poll: request.Poll, bound: o.QueueWait, resume: "esched run --resume " + x.dir,
	}
	status, err := w.await(ctx)
	if err != nil {
		return runners.Grant{}, err
	}
	grant := runners.Grant{Deadline: status.Deadline, Queue: x.Now().Sub(asked)}
	if grant.Hosts, err = x.contact(ctx, status.Hosts, tell); err != nil {
		return grant, err
	}
	grant.Taken = x.watch(request.Poll, status.Hosts, tell)
	return grant, nil
}

// watch looks after the reservation until Release. The context that it returns
// is done when the queue takes the nodes back early.
func (x *site) watch(pause time.Duration, hosts []string, tell func(record.Event)) context.Context {
	if !x.nodes.cluster.remote() {
		return nil // nobody takes this machine from itself
	}
	taken, cancel := context.WithCancelCause(context.Background())
	watching, end := context.WithCancel(taken)
	x.unwatch = end
	var once sync.Once
	x.take = func(reason error) {
		once.Do(func() {
			tell(record.Event{Kind: record.EventReservation, State: string(reserve.Gone), Message: reason.Error()})
			cancel(reason)
		})
	}
	go x.reservation.watch(watching, pause, hosts, func(host string) {
		tell(record.Event{Kind: record.EventNode, Node: host, State: deploy.StateLost, Message: "the queue took it out of the reservation"})
	}, x.take)
	return taken
}

// Release implements runners.Site.
func (x *site) Release(ctx context.Context, tell func(record.Event)) error {
	if x.unwatch != nil {
		x.unwatch()
	}
	errs := []error{x.letGo(ctx)}
	if x.reservation != nil {
		errs = append(errs, x.giveNodesBack(ctx, tell))
		x.reservation = nil
		if errors.Join(errs...) == nil {
			tell(record.Event{Kind: record.EventReservation, State: string(reserve.Released)})
		}
	}
	return errors.Join(errs...)
}

// releasePause is the time until nodes are tried to be given back again.
const releasePause = 2 * time.Second

// giveNodesBack releases the reservation. A queue that does not answer, as when
// its controller restarts, is asked again until ctx ends: nodes that nobody
// uses cost others.
func (x *site) giveNodesBack(ctx context.Context, tell func(record.Event)) error {
	for told := false; ; told = true {
		err := x.reservation.Release(ctx)
		if err == nil || ctx.Err() != nil || !x.nodes.cluster.remote() {
			return err
		}
		if !told {
			tell(record.Event{Kind: record.EventWarning, Message: fmt.Sprintf("the queue does not take the nodes back (%v); trying again", err)})
		}
		select {
		case <-time.After(releasePause):
		case <-ctx.Done():
			return err
		}
	}
}
