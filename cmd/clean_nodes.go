package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// visitLimit bounds cleaning the nodes of one reservation.
const visitLimit = 3 * time.Minute

// cleanNodes ends what a run left on the nodes of a reservation that still
// runs, and removes the run's directory there, as well as those of runs that
// are over and, if asked to, copies. Nodes of any other reservation are not
// visited: they may be somebody else's. What runs there ends by itself when its
// guards no longer hear from esched.
func (g *globals) cleanNodes(ctx context.Context, e reserve.Entry, left []remains, copies bool) []leftover {
	if e.Kind == clusterLocal {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, visitLimit, fmt.Errorf("no end within %v", visitLimit))
	defer cancel()
	hosts, w, err := g.wayTo(ctx, e)
	if err != nil {
		return []leftover{{Run: e.Run, Kind: "process", What: "nodes of " + e.Kind + " " + e.ID, Error: err.Error()}}
	}
	if w.client != nil {
		defer w.client.Close()
	}
	found := make([][]leftover, len(hosts))
	places := make(chan struct{}, maxContacts)
	var all sync.WaitGroup
	for i, name := range hosts {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found[i] = w.visit(ctx, e.Run, name, overOn(left, w.options, name), copies)
		})
	}
	all.Wait()
	var flat []leftover
	for _, some := range found {
		flat = append(flat, some...)
	}
	return together(flat)
}

// wayTo returns the nodes of a reservation that runs, and the way to them; no
// nodes when it does not run.
func (g *globals) wayTo(ctx context.Context, e reserve.Entry) ([]string, way, error) {
	o, err := g.profileOf(e)
	if err != nil {
		return nil, way{}, err
	}
	reserver, err := g.newReserver(o)
	if err != nil {
		return nil, way{}, err
	}
	r, err := reserver.Attach(e)
	if err != nil {
		return nil, way{}, err
	}
	h := &holding{Reservation: r, now: g.Now}
	status, err := h.ask(ctx, 0)
	if err != nil || status.State != reserve.Running {
		return nil, way{}, err
	}
	dir, err := g.nodeDir(o, e)
	if err != nil {
		return nil, way{}, err
	}
	w := way{Process: g.Process, options: o, reservation: h, dir: dir}
	if o.Launcher == launcherSSH {
		w.client, err = g.newClient(o, dir, h)
	}
	return status.Hosts, w, err
}

// profileOf reads the options of a reservation's cluster from the experiment
// that the run keeps.
func (g *globals) profileOf(e reserve.Entry) (clusterOptions, error) {
	run, err := record.Read(e.Run)
	if err != nil {
		return clusterOptions{}, err
	}
	catalog := g.catalog(run.Manifest.ExperimentPath)
	catalog.Cluster = e.Cluster
	// Nothing is executed; scripts and files need not be there any more.
	for i := range catalog.Workloads {
		catalog.Workloads[i].Check = nil
	}
	catalog.FindProgram = func(script string, command []string) (runners.Program, error) {
		return runners.Program{Script: script, Command: command}, nil
	}
	x, err := runners.Load(run.Manifest.ExperimentPath, []byte(run.Manifest.Experiment), catalog)
	if err != nil {
		return clusterOptions{}, err
	}
	c, ok := x.Clusters[e.Cluster]
	if !ok || c.Kind != e.Kind {
		return clusterOptions{}, fmt.Errorf("cluster %q of kind %s: not in the experiment of %s", e.Cluster, e.Kind, e.Run)
	}
	return g.clusterOptions(c), nil
}

// visit cleans one node of the reservation.
func (w way) visit(ctx context.Context, run, name string, left []remains, copies bool) []leftover {
	h, err := w.host(ctx, name)
	if err != nil {
		return []leftover{{Run: run, Kind: "process", What: "node " + name, Error: err.Error()}}
	}
	ended, err := h.Clean(ctx, w.dir)
	if err = errors.Join(err, deploy.Remove(ctx, h, w.dir)); err == nil {
		err = w.forget(remains{Host: name, Cluster: w.options, Home: w.homeOn(w.options), Dir: w.dir})
	}
	tidied := w.tidy(ctx, h, left, copies)
	err = errors.Join(err, h.Close())
	var found []leftover
	for _, p := range ended {
		found = append(found, leftover{Run: run, Kind: "process", What: fmt.Sprintf("%s on %s (process %d)", p.Name, name, p.PID), Done: true})
	}
	if err != nil {
		found = append(found, leftover{Run: run, Kind: "process", What: "node " + name, Error: err.Error()})
	}
	return append(found, tidied...)
}
