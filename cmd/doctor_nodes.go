package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

const (
	// checkupClaim is how long nodes are reserved to be looked at, which takes
	// seconds; Python from a cold file system takes a minute.
	checkupClaim = 5 * time.Minute
	// checkupWait bounds the wait for them: somebody sits and waits.
	checkupWait = 3 * time.Minute
	// checkupPoll is the least time between questions to the queue meanwhile.
	checkupPoll = 2 * time.Second
)

// chooseHosts reads --nodes.
func (c *checkup) chooseHosts() error {
	hosts, err := expandAll([]string{c.Nodes})
	if err != nil {
		return usageError("--nodes 'node[001-002]'", "--nodes: %w", err)
	}
	for i, h := range hosts {
		if !slices.Contains(c.cluster.Hosts, h) {
			return usageError("add it to hosts of the cluster, or choose another host", "--nodes: %s is not a host of cluster %s", h, c.cluster.Name)
		}
		if slices.Contains(hosts[:i], h) {
			return usageError("name each host once", "--nodes: %s is there twice", h)
		}
	}
	c.chosen = hosts
	return nil
}

// checkNodes looks at nodes of a reservation of the user's own, or says why it
// did not.
func (c *checkup) checkNodes(ctx context.Context) []finding {
	const check = "nodes"
	if c.Reserve || c.Nodes != "" {
		return c.checkReserved(ctx)
	}
	h, entry, busy, err := c.ownReservation(ctx)
	if err != nil {
		return []finding{wrong(check, err, "esched clean")}
	}
	if h != nil {
		entry.Run += "/doctor" // the run's own files stay as they are
		return c.visitAll(ctx, h, entry)
	}
	mend := fmt.Sprintf("esched doctor --cluster %s --reserve", c.cluster.Name)
	if c.cluster.Kind == clusterStatic {
		mend = fmt.Sprintf("esched doctor --cluster %s --nodes %s", c.cluster.Name, c.cluster.Hosts[0])
	}
	if c.File != "" {
		mend = strings.Replace(mend, "doctor", "doctor "+c.File, 1)
	}
	why := "no reservation of yours runs"
	if busy != "" {
		why = "a measuring run must not be disturbed: " + busy
	}
	return []finding{noted(check, mend, "none was looked at (%s): login, scratch space, Python, network and clock there were not checked", why)}
}

// ownReservation finds a running reservation of this cluster that an earlier
// run left. Those on which a run works are only told of.
func (c *checkup) ownReservation(ctx context.Context) (h *holding, e reserve.Entry, busy string, err error) {
	entries, err := c.ledger().Entries()
	if err != nil {
		return nil, e, "", err
	}
	reserver, err := c.newReserver(c.cluster)
	if err != nil {
		return nil, e, "", err
	}
	for _, e := range entries {
		if e.Cluster != c.cluster.Name || e.Kind != c.cluster.Kind {
			continue
		}
		if used, err := record.InUse(e.Run); err == nil && used {
			busy = e.Run
			continue
		}
		r, err := reserver.Attach(e)
		if err != nil {
			return nil, e, busy, err
		}
		h := &holding{Reservation: r, now: c.Now}
		if s, err := h.ask(ctx, 0); err == nil && s.State == reserve.Running {
			return h, e, busy, nil
		}
	}
	return nil, e, busy, nil
}

// checkReserved reserves nodes, looks at them and gives them back. What is
// needed to clean up after a kill is on disk meanwhile, as that of a run is.
func (c *checkup) checkReserved(ctx context.Context) []finding {
	const check = "nodes"
	dir, err := c.makeDoctorDir()
	if err != nil {
		return []finding{wrong(check, err, "set XDG_STATE_HOME to a directory that you can write to")}
	}
	store, err := record.Create(dir, record.Manifest{
		Name: "doctor", Command: append([]string{"esched"}, c.Args...), Esched: readVersion().String(), Started: c.Now(),
		Experiment: string(c.experiment.Source), ExperimentPath: c.pathOf(c.experiment),
		Cluster: c.cluster.Name, ClusterKind: c.cluster.Kind,
	})
	if err != nil {
		return []finding{wrong(check, errors.Join(err, c.removeAll(dir)), "set XDG_STATE_HOME to a directory with room")}
	}
	all, err := c.reserved(ctx, dir)
	if err = errors.Join(err, store.Close()); err != nil {
		return append(all, wrong("release", err, "esched clean")) // which needs the directory
	}
	if err := c.removeAll(dir); err != nil {
		all = append(all, noted("release", "rm -r "+dir, "%v", err))
	}
	return all
}

// reserved makes the reservation and gives it back; an error says that it may
// still be there.
func (c *checkup) reserved(ctx context.Context, dir string) ([]finding, error) {
	const check = "nodes"
	o, q := c.cluster, reserve.Request{Run: dir, Nodes: 1, Claim: checkupClaim, Poll: checkupPoll}
	if c.chosen != nil {
		o.Hosts, q.Nodes = c.chosen, len(c.chosen)
	}
	reserver, err := c.newReserver(o)
	if err != nil {
		return []finding{wrong(check, err, "")}, nil
	}
	if _, err := rehearse(ctx, reserver, q); err != nil { // a job that never starts helps nobody
		return []finding{wrong(check, err, "ask the administrators of the cluster")}, nil
	}
	r, err := reserver.Reserve(ctx, q)
	if err != nil {
		return []finding{wrong(check, err, "esched clean")}, nil
	}
	h := &holding{Reservation: r, now: c.Now}
	w := &wait{holding: h, tell: c.tellWait, poll: q.Poll, bound: checkupWait, resume: "esched doctor"}
	_, err = w.await(ctx)
	var all []finding
	switch {
	case hint.Exit(err) == hint.ExitNoNodes:
		all = []finding{noted(check, "try again when nodes are free", "none was looked at: %v", err)}
	case err != nil:
		all = []finding{wrong(check, err, "")}
	default:
		all = c.visitAll(ctx, h, reserve.Entry{Run: dir, Kind: reserver.Kind(), ID: r.ID()})
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	return all, r.Release(bounded)
}

// tellWait tells people who wait what for.
func (c *checkup) tellWait(e record.Event) {
	if e.State != string(reserve.Running) {
		fmt.Fprintf(c.Stderr, "reservation %s: %s\n", e.State, e.Message)
	}
	c.Failpoints.Reach(failpoint.Told(string(e.Kind), e.State))
}

// visitAll looks at the nodes of a running reservation, several at a time.
func (c *checkup) visitAll(ctx context.Context, h *holding, e reserve.Entry) []finding {
	const check = "nodes"
	dir, err := c.nodeDir(c.cluster, e)
	if err != nil {
		return []finding{wrong(check, err, "set scratch to a shorter path")}
	}
	hosts := h.last.Hosts
	// Nothing is recorded on the nodes: where their disks are full, too, there
	// is to be an answer, and what is started there ends within seconds.
	v := &visit{checkup: c, way: way{Process: c.Process, options: c.cluster, reservation: h}, dir: dir}
	if c.cluster.Launcher == launcherSSH {
		if v.way.client, err = c.newClient(c.cluster, "", h); err != nil {
			return []finding{wrong(check, err, "set HOME")}
		}
		defer v.way.client.Close()
	}
	v.prepare(ctx)
	found := make([][]finding, len(hosts))
	places := make(chan struct{}, maxContacts)
	var all sync.WaitGroup
	for i, name := range hosts {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found[i] = v.node(ctx, name)
			for k := range found[i] {
				found[i][k].Node = name
			}
		})
	}
	all.Wait()
	return append([]finding{fine(check, "%s, of reservation %s", strings.Join(hosts, ", "), e.ID)}, slices.Concat(found...)...)
}
