package cmd

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/deploy/tlsca"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
	"github.com/esched/esched/workloads"
)

const (
	// A certificate is valid for so many claims, as one may be extended by its
	// own length while it is in use, and somewhat longer.
	certificateClaims = 2
	certificateSlack  = time.Hour
	// modulesLimit bounds sending the workloads' modules, some kilobytes.
	modulesLimit = 2 * time.Minute
	// clearLimit bounds removing a run's files from a node.
	clearLimit = 30 * time.Second
)

// nodes is what a site knows of how its nodes are used.
type nodes struct {
	cluster clusterOptions
	// home is the user's own directory on each node, scratch that of the run in
	// it, modules the workloads'.
	home, scratch, modules string
	python                 pyenv.Environment // on this machine
	copied                 *pyenv.Copy       // for nodes that do not see it; nil when they do
	authority              *tlsca.Authority  // nil: no encryption

	mu        sync.Mutex
	addresses map[string]string // by node, of the chosen network
	worked    map[string]bool   // nodes that have executed a task in this deployment
}

// environmentLink is the name in a run's directory on a node by which it uses
// one of them.
const environmentLink = "env"

// interpreter is the path of Python on the nodes.
func (n *nodes) interpreter() string {
	if n.copied == nil {
		return n.python.Interpreter
	}
	return path.Join(n.scratch, environmentLink, "bin", "python")
}

// nodes decides where things are on the nodes. scratch is the run's directory
// on this machine. What is sent to nodes is packed before they are reserved.
func (s *session) nodes(ctx context.Context, scratch string, python pyenv.Environment) (*nodes, error) {
	n := &nodes{
		cluster: s.clusterOptions(s.experiment.Cluster), scratch: scratch, python: python,
		addresses: map[string]string{}, worked: map[string]bool{},
	}
	if n.cluster.remote() {
		n.home = s.homeOn(n.cluster)
		// scratch depends on the reservation; see settle.
	}
	n.modules = path.Join(n.scratch, "python")
	if n.cluster.remote() && n.cluster.EnvironmentOn == onNode {
		m := s.manager(func(text string) { s.runner.Tell(record.Event{Kind: record.EventEnvironment, Message: text}) })
		var err error
		if n.copied, err = m.Copy(ctx, python); err != nil {
			return nil, err
		}
		if err := n.copied.Pack(); err != nil {
			return nil, err
		}
	}
	if n.cluster.remote() || n.cluster.TLS {
		authority, err := tlsca.New(s.Now())
		if err != nil {
			return nil, err
		}
		n.authority = authority
	}
	return n, nil
}

// prepareNode brings to a node what all deployments of the run need there and
// describes it. The error is a [deploy.BadHost]; its rung was told.
func (x *site) prepareNode(ctx context.Context, h deploy.Host, tell func(record.Event)) (record.Host, error) {
	reached := func(r deploy.Rung, message string) {
		tell(record.Event{Kind: record.EventNode, Node: h.Name(), State: string(r), Message: message})
	}
	missed := func(r deploy.Rung, err error) error {
		bad := &deploy.BadHost{Host: h.Name(), Rung: r, Err: err}
		step := bad.Step()
		tell(record.Event{Kind: record.EventNode, Node: step.Node, State: step.State, Message: step.Message})
		return bad
	}
	facts, err := describeHost(ctx, h)
	if err != nil {
		tell(record.Event{Kind: record.EventWarning, Message: err.Error()})
	}
	if x.nodes.cluster.remote() {
		if err := x.prepareRemote(ctx, h, &facts, tell); err != nil {
			return facts, missed(deploy.RungEnvironment, err)
		}
		reached(deploy.RungEnvironment, facts.Address)
	}
	bounded, release := context.WithTimeoutCause(ctx, modulesLimit, fmt.Errorf("no end within %v", modulesLimit))
	defer release()
	err = h.Put(bounded, x.files, x.nodes.modules)
	if err == nil {
		err = x.putPrograms(bounded, h)
	}
	if err != nil {
		return facts, missed(deploy.RungFiles, fmt.Errorf("workloads: %w", err))
	}
	return facts, nil
}

// prepareRemote makes the run's directory on a node, sees to the environment,
// and completes the facts by what its Python and its clock say.
func (x *site) prepareRemote(ctx context.Context, h deploy.Host, facts *record.Host, tell func(record.Event)) error {
	n := x.nodes
	if err := x.moveIn(ctx, h, tell); err != nil {
		return err
	}
	skew, err := deploy.MeasureSkew(ctx, h, x.Now)
	if err != nil {
		tell(record.Event{Kind: record.EventWarning, Message: err.Error()})
	}
	facts.ClockAheadS, facts.ClockErrorS = skew.Ahead.Seconds(), skew.Error.Seconds()
	if n.copied != nil {
		if err := x.noteCopies(ctx, h, n.cluster, true); err != nil {
			return err
		}
		err := n.copied.Stage(ctx, h, path.Join(n.home, deploy.CopiesDir), path.Join(n.scratch, environmentLink))
		if err != nil {
			return err
		}
	}
	seen, err := deploy.Examine(ctx, h, n.interpreter())
	if err != nil {
		if hint.Of(err) == "" {
			err = hint.With(err, `put the environment where all nodes see it, or set environment_on = "node"`)
		}
		return err
	}
	for name, have := range seen.Packages {
		if want := n.python.Packages[name]; want != "" && have != want {
			err := fmt.Errorf("interpreter %s: %s %s there, %s here", n.interpreter(), name, have, want)
			return hint.With(err, `put one environment where all nodes see it, or set environment_on = "node"`)
		}
	}
	if n.cluster.Interface == "" {
		return nil
	}
	facts.Address, facts.Interface, err = seen.Address(n.cluster.Interface)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses[h.Name()] = facts.Address
	return nil
}

// clearNode removes the run's directory from a node. On the local cluster it
// is that of the run itself, which goes later.
func (x *site) clearNode(ctx context.Context, h deploy.Host) error {
	if !x.nodes.cluster.remote() {
		return nil
	}
	ctx, release := context.WithTimeoutCause(ctx, clearLimit, fmt.Errorf("no end within %v", clearLimit))
	defer release()
	if err := deploy.Remove(ctx, h, x.nodes.scratch); err != nil {
		return fmt.Errorf("files of the run on %s: %w", h.Name(), err)
	}
	n := x.nodes
	return x.forget(remains{Host: h.Name(), Cluster: n.cluster, Home: n.home, Dir: n.scratch})
}

// start starts a deployment on as many nodes as the block asks for. Nodes that
// turn out bad make room for others, as long as there are others and the
// cluster's options allow it.
func (x *site) start(ctx context.Context, wanted int, spec deploy.Spec, tell func(record.Event)) (*deploy.Deployment, error) {
	x.nodes.mu.Lock()
	clear(x.nodes.worked) // the nodes climb again
	x.nodes.mu.Unlock()
	for {
		needed := x.nodes.cluster.reserved(wanted)
		if needed > len(x.hosts) {
			text := fmt.Sprintf("asks for %d node(s)", wanted)
			if needed > wanted {
				text += " and one for the scheduler"
			}
			return nil, fmt.Errorf("%w: %s, %d are usable", runners.ErrTooFewNodes, text, len(x.hosts))
		}
		d, err := deploy.Start(ctx, x.hosts[:needed], spec)
		bad := deploy.BadHosts(err)
		if err == nil || ctx.Err() != nil || len(bad) == 0 || x.nodes.cluster.BadNodes != badExclude {
			return d, err
		}
		if err := x.goOnWithout(ctx, err, tell); err != nil {
			return nil, err
		}
	}
}

// exclude takes bad nodes out of the run.
func (x *site) exclude(ctx context.Context, bad []*deploy.BadHost, tell func(record.Event)) error {
	var errs []error
	for _, b := range bad {
		i := slices.IndexFunc(x.hosts, func(h deploy.Host) bool { return h.Name() == b.Host })
		if i < 0 {
			continue // named twice
		}
		h := x.hosts[i]
		x.hosts = slices.Delete(slices.Clone(x.hosts), i, i+1)
		tell(record.Event{Kind: record.EventWarning, Message: fmt.Sprintf("%s is not used any more (%s), %d node(s) left", b.Host, b.Step().Message, len(x.hosts))})
		_ = x.clearNode(ctx, h) // it is bad already
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// tellFirstTasks tells of nodes that have executed their first task.
func (r *running) tellFirstTasks(m workloads.Response) {
	worked := slices.Clone(m.Worked)
	for _, share := range m.PerWorker {
		if share.Tasks > 0 {
			worked = append(worked, share.Worker)
		}
	}
	n := r.site.nodes
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, worker := range worked {
		node := r.HostOf(worker)
		if node == "" || n.worked[node] {
			continue
		}
		n.worked[node] = true
		r.tell(record.Event{Kind: record.EventNode, Node: node, State: string(deploy.RungFirstTask)})
	}
}
