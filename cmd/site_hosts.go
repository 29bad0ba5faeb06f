package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/launch"
	"github.com/esched/esched/deploy/local"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/slurm"
	"github.com/esched/esched/runners/record"
)

const (
	// maxContacts is how many nodes are contacted at the same time: what a head
	// node and a network file system bear.
	maxContacts = 8
	// contactLimit bounds getting one node ready, its copy of esched and of the
	// environment included.
	contactLimit = 10 * time.Minute
)

// contact connects to the granted nodes, as many at a time as is decent, and
// gets them ready. Bad ones are left out or end the run, as the profile says;
// the others are the site's hosts, in the order of their names, and described
// in the result.
func (x *site) contact(ctx context.Context, names []string, tell func(record.Event)) ([]record.Host, error) {
	if err := x.settle(); err != nil {
		return nil, err
	}
	type node struct {
		host  deploy.Host
		facts record.Host
		err   error
	}
	nodes := make([]node, len(names))
	places := make(chan struct{}, maxContacts)
	var all sync.WaitGroup
	for i, name := range names {
		tell(record.Event{Kind: record.EventNode, Node: name, State: string(deploy.RungGranted)})
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			bounded, release := context.WithTimeoutCause(ctx, contactLimit, fmt.Errorf("not ready within %v", contactLimit))
			defer release()
			n := &nodes[i]
			if n.host, n.err = x.connect(bounded, name, tell); n.err == nil {
				n.facts, n.err = x.prepareNode(bounded, n.host, tell)
			}
		})
	}
	all.Wait()
	var facts []record.Host
	var errs []error
	for _, n := range nodes {
		if n.host != nil {
			x.hosts = append(x.hosts, n.host)
		}
		if n.err == nil {
			facts = append(facts, n.facts)
		}
		errs = append(errs, n.err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	err := x.goOnWithout(ctx, errors.Join(errs...), tell)
	if usable := len(x.hosts); err == nil && usable < len(names) {
		tell(record.Event{Kind: record.EventWarning, Message: fmt.Sprintf("%d of %d node(s) are usable", usable, len(names))})
	}
	return facts, err
}

// goOnWithout leaves bad nodes out, if the profile allows that and others
// remain, and otherwise returns why the run cannot go on.
func (x *site) goOnWithout(ctx context.Context, err error, tell func(record.Event)) error {
	bad := deploy.BadHosts(err)
	if len(bad) == 0 || !x.nodes.cluster.remote() {
		return err
	}
	if x.nodes.cluster.BadNodes == badStop {
		if hint.Of(err) == "" {
			err = hint.With(err, `mend the node, or set bad_nodes = "exclude" to go on without it`)
		}
		return err
	}
	closing := x.exclude(ctx, bad, tell)
	if len(x.hosts) == 0 {
		return fmt.Errorf("no node of reservation %s is usable: %w", x.reservation.ID(), err)
	}
	if closing != nil {
		tell(record.Event{Kind: record.EventWarning, Message: closing.Error()})
	}
	return nil
}

// connect returns a node of the cluster by its name, with the rung of the
// ladder told.
func (x *site) connect(ctx context.Context, name string, tell func(record.Event)) (deploy.Host, error) {
	h, err := x.newHost(ctx, name)
	if err != nil {
		bad := &deploy.BadHost{Host: name, Rung: x.nodes.cluster.contact(), Err: err}
		step := bad.Step()
		tell(record.Event{Kind: record.EventNode, Node: step.Node, State: step.State, Message: step.Message})
		return nil, bad
	}
	if x.nodes.cluster.remote() {
		tell(record.Event{Kind: record.EventNode, Node: name, State: string(x.nodes.cluster.contact())})
	}
	return h, nil
}

func (x *site) newHost(ctx context.Context, name string) (deploy.Host, error) {
	if !x.nodes.cluster.remote() {
		return local.New(local.Config{
			Guard: []string{x.Executable, "guard"}, Name: name, Env: x.Environ(),
			Records: x.path(filepath.Join(x.dir, deploy.ProcessesDir)),
		})
	}
	h, err := x.way().host(ctx, name)
	if err != nil {
		return nil, err
	}
	if x.earlier != nil { // what a killed session left ends by itself, but only in a while
		if _, err := h.Clean(ctx, x.nodes.scratch); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// remoteHost is a node that is another machine.
type remoteHost interface {
	deploy.Host
	Clean(ctx context.Context, runDir string) ([]deploy.Ended, error)
	Remove(ctx context.Context, dir string) error
	Tidy(ctx context.Context, t deploy.Tidying) (deploy.Tidied, error)
}

// way is how the nodes of a reservation are reached.
type way struct {
	Process
	options     clusterOptions
	client      *ssh.Client // nil with another launcher
	reservation *holding    // nil for nodes that are reached without, by ssh only
	dir         string      // of the run on the nodes
}

// way is how the site's nodes are reached.
func (x *site) way() way {
	return way{x.Process, x.nodes.cluster, x.client, x.reservation, x.nodes.scratch}
}

// host connects to a node.
func (w way) host(ctx context.Context, name string) (remoteHost, error) {
	switch w.options.Launcher {
	case launcherSrun:
		return w.launched(ctx, name, launch.SLURM(w.reservation.ID()))
	case launcherPrun:
		return w.launched(ctx, name, launch.DAS(w.reservation.ID()))
	}
	h, err := w.client.Dial(ctx, name)
	if err != nil {
		return nil, err // not a nil *ssh.Host in an interface
	}
	if err := w.noteCopies(ctx, h, w.options, false); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// launched returns a node that the queue's own launcher reaches.
func (w way) launched(ctx context.Context, name string, argv []string) (remoteHost, error) {
	program, err := w.LookPath(argv[0])
	if err != nil {
		return nil, hint.With(err, `load the module that has it, or set launcher = "ssh"`)
	}
	h, err := launch.New(launch.Config{
		Node: name, Argv: append([]string{program}, argv[1:]...), Guard: []string{w.Executable, "guard"},
		Records: recordsIn(w.dir), Env: slurm.Environment(w.Environ()), Lease: w.options.Silence,
		Until: w.reservation.deadline,
	})
	if err != nil {
		return nil, err
	}
	if _, err := h.Run(ctx, deploy.Command{Name: "hello", Argv: []string{"true"}}); err != nil {
		err = hint.With(err, "put esched on a file system that the nodes share: "+w.Executable+" must be there, too")
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// settle decides where the run's files are on the nodes of the reservation,
// and how these are reached.
func (x *site) settle() error {
	o := x.nodes.cluster
	if !o.remote() {
		return nil
	}
	dir, err := x.nodeDir(o, reserve.Entry{Run: x.path(x.dir), Kind: x.reserver.Kind(), ID: x.reservation.ID()})
	if err != nil {
		return err
	}
	x.nodes.scratch, x.nodes.modules = dir, path.Join(dir, "python")
	if o.Launcher == launcherSSH {
		if x.client, err = x.newClient(o, dir, x.reservation); err != nil {
			return err
		}
	}
	return x.learnRemains()
}

// nodeDir is the directory of a run on the nodes of one reservation: short, as
// sockets are in it, and known again by "esched clean".
func (p Process) nodeDir(o clusterOptions, e reserve.Entry) (string, error) {
	sum := sha256.Sum256([]byte(e.Run + "\x00" + e.Kind + "\x00" + e.ID))
	dir := path.Join(p.homeOn(o), "r"+hex.EncodeToString(sum[:5]))
	if len(dir) > maxSocketDir {
		err := fmt.Errorf("scratch directory %s: too long for sockets (limit %d bytes)", dir, maxSocketDir)
		return "", hint.WithExit(hint.With(err, "set scratch to a shorter path"), hint.ExitUsage)
	}
	return dir, nil
}

// recordsIn is where processes are recorded on the nodes of a run, whose
// directory there is dir; "" for both keeps no records.
func recordsIn(dir string) string {
	if dir == "" {
		return ""
	}
	return path.Join(dir, deploy.ProcessesDir)
}

// newClient returns what connects to the nodes of a cluster. dir is that of
// nodeDir, or "" for commands that are not worth a record. Nodes of a reservation
// are contacted only while it lasts, and what runs on them ends with it.
func (p Process) newClient(o clusterOptions, dir string, reservation *holding) (*ssh.Client, error) {
	c := ssh.Config{
		Home: p.Home, User: p.login(o.User), AgentSocket: p.env("SSH_AUTH_SOCK"), Env: p.Environ(), File: o.SSHConfig,
		Binary: p.Executable, Scratch: o.Scratch, Records: recordsIn(dir), Lease: o.Silence,
	}
	if reservation != nil {
		c.Permit, c.Until = reservation.permit, reservation.deadline
	}
	if o.User != "" {
		c.Options = []string{"User=" + o.User}
	}
	return ssh.New(c)
}

// letGo removes the run's directory from the nodes and closes them. On nodes
// that may be somebody else's by now nothing is done but to end what is ours.
//
// When ctx is done, as when the run is killed, it waits for no orderly end any
// more, and what still runs on this machine is ended by its record.
func (x *site) letGo(ctx context.Context) error {
	hosts, client := x.hosts, x.client
	x.hosts, x.client = nil, nil
	held := x.reservation != nil && x.reservation.held()
	done := make(chan error, 1)
	go func() { done <- x.closeHosts(ctx, hosts, client, held) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(killGrace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	_, err := deploy.Clean(x.path(x.dir))
	return err
}

// killGrace is how long the guards of killed processes may take to say so.
const killGrace = time.Second

func (x *site) closeHosts(ctx context.Context, hosts []deploy.Host, client *ssh.Client, held bool) error {
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			if held {
				errs[i] = x.clearNode(ctx, h)
			}
			errs[i] = errors.Join(errs[i], h.Close())
		})
	}
	all.Wait()
	if client != nil {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}
