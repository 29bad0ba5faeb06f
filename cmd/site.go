package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/local"
	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	queue "github.com/esched/esched/reserve/local"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// logsDir is the directory of a run with the logs of all processes.
const logsDir = "logs"

// queueLimit bounds the wait for nodes: a queue that grants nothing for half a
// day is a matter for people.
const queueLimit = 12 * time.Hour

// site puts queue, nodes, environment and workloads of a run together: the
// [runners.Site] of real runs.
type site struct {
	*session
	python      pyenv.Environment
	reserver    reserve.Reserver
	reservation reserve.Reservation
	hosts       []deploy.Host
	scratch     string
	modules     string // the workloads' modules on the nodes
	deployed    int    // deployments so far
}

// site prepares what the run needs before nodes are reserved, so that they
// do not wait for it.
func (s *session) site(ctx context.Context) (*site, error) {
	x := &site{session: s}
	var err error
	if x.python, err = s.preparePython(ctx); err != nil {
		return nil, err
	}
	if err := s.mkdirAll(filepath.Join(s.dir, logsDir), 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", runners.ErrStore, err)
	}
	if x.scratch, err = s.makeScratch(s.dir); err != nil {
		return nil, hint.With(err, "set TMPDIR to a directory with a short path that you can write to")
	}
	x.modules = filepath.Join(x.scratch, "python")
	x.reserver = s.newReserver(s.experiment.Cluster.Kind, s.experiment.Cluster.Name)
	return x, nil
}

// newReserver returns the queue of a kind of cluster.
func (p Process) newReserver(_, cluster string) reserve.Reserver {
	return queue.New(queue.Config{Ledger: p.ledger(), Now: p.Now, Cluster: cluster})
}

// ledger is where this user's reservations are noted.
func (p Process) ledger() *reserve.Ledger {
	return reserve.OpenLedger(filepath.Join(p.stateDir(), "ledger"))
}

// Close removes what the run has no further use for.
func (x *site) Close() error { return x.removeScratch(x.dir) }

// preparePython makes or verifies the environment and notes it.
func (s *session) preparePython(ctx context.Context) (pyenv.Environment, error) {
	name := s.experiment.Environment
	s.runner.Tell(record.Event{Kind: record.EventEnvironment, Message: name + ": checking"})
	e, err := s.environment(ctx, name, func(text string) {
		s.runner.Tell(record.Event{Kind: record.EventEnvironment, Message: text})
	})
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
	request := reserve.Request{Run: x.path(x.dir), Nodes: x.plan.Nodes(), Claim: x.experiment.ClaimTime, Poll: x.experiment.PollInterval}
	if err := x.reserver.Check(ctx, request); err != nil {
		return runners.Grant{}, err
	}
	asked := x.Now()
	r, err := x.reserver.Reserve(ctx, request)
	if err != nil {
		return runners.Grant{}, err
	}
	x.reservation = r
	status, err := x.await(ctx, tell, request.Poll)
	if err != nil {
		return runners.Grant{}, err
	}
	grant := runners.Grant{Deadline: status.Deadline, Queue: x.Now().Sub(asked)}
	for _, name := range status.Hosts {
		h, err := x.newHost(name)
		if err != nil {
			return runners.Grant{}, err
		}
		x.hosts = append(x.hosts, h)
		if err := h.Put(ctx, x.files, x.modules); err != nil {
			return runners.Grant{}, fmt.Errorf("workloads on %s: %w", name, err)
		}
		facts, err := describeHost(ctx, h)
		if err != nil {
			tell(record.Event{Kind: record.EventWarning, Message: err.Error()})
		}
		grant.Hosts = append(grant.Hosts, facts)
	}
	return grant, nil
}

// await asks the queue until the nodes are there.
func (x *site) await(ctx context.Context, tell func(record.Event), poll time.Duration) (reserve.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, queueLimit)
	defer cancel()
	var last string
	for {
		status, err := x.reservation.Status(ctx)
		if err != nil {
			return status, fmt.Errorf("%s: %w", x.reservation.ID(), err)
		}
		if news := string(status.State) + status.Reason; news != last {
			last = news
			tell(record.Event{Kind: record.EventReservation, State: string(status.State), Message: evidence(status)})
		}
		switch status.State {
		case reserve.Running:
			return status, nil
		case reserve.Failed, reserve.Gone, reserve.Released:
			return status, hint.WithExit(fmt.Errorf("%s is %s: %s", x.reservation.ID(), status.State, status.Reason), hint.ExitNoNodes)
		}
		timer := time.NewTimer(max(poll, 100*time.Millisecond))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return status, hint.WithExit(fmt.Errorf("%s: no nodes within %s (%s)", x.reservation.ID(), queueLimit, status.Reason), hint.ExitNoNodes)
			}
			return status, context.Cause(ctx)
		}
	}
}

// evidence says what the queue said.
func evidence(s reserve.Status) string {
	text := s.Reason
	if len(s.Hosts) > 0 {
		text = strings.TrimSpace(strings.Join(s.Hosts, " ") + " " + text)
	}
	if s.State == reserve.Pending && !s.Start.IsZero() {
		text += ", estimated start " + s.Start.Format(time.TimeOnly)
	}
	if !s.Deadline.IsZero() {
		text += ", until " + s.Deadline.Format(time.TimeOnly)
	}
	return strings.TrimPrefix(text, ", ")
}

// Release implements runners.Site.
func (x *site) Release(ctx context.Context, tell func(record.Event)) error {
	var errs []error
	for _, h := range x.hosts {
		errs = append(errs, h.Close())
	}
	x.hosts = nil
	if x.reservation != nil {
		errs = append(errs, x.reservation.Release(ctx))
		x.reservation = nil
		if errors.Join(errs...) == nil {
			tell(record.Event{Kind: record.EventReservation, State: string(reserve.Released)})
		}
	}
	return errors.Join(errs...)
}

// newHost returns a node of the cluster by its name.
func (x *site) newHost(name string) (deploy.Host, error) {
	return local.New(local.Config{
		Guard: []string{x.Executable, "guard"}, Name: name, Env: x.Environ(),
		Records: x.path(filepath.Join(x.dir, deploy.ProcessesDir)),
	})
}
