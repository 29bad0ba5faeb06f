package cmd

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

// over returns the notes of runs' directories whose reservations are not in the
// ledger any more: nobody needs what is noted.
func over(notes []remains, entries []reserve.Entry) []remains {
	type claim struct{ run, kind, id string }
	held := map[claim]bool{}
	for _, e := range entries {
		held[claim{e.Run, e.Kind, e.ID}] = true
	}
	var all []remains
	for _, r := range notes {
		if r.Dir != "" && !held[claim{r.Run, r.Cluster.Kind, r.Reservation}] {
			all = append(all, r)
		}
	}
	return all
}

// overOn returns those of the notes that are about a host of a cluster.
func overOn(notes []remains, o clusterOptions, host string) (all []remains) {
	for _, r := range notes {
		if r.Host == host && r.Cluster.Kind == o.Kind && r.Cluster.Name == o.Name {
			all = append(all, r)
		}
	}
	return all
}

// dirsBelow are the directories of notes below a user's directory.
func dirsBelow(home string, notes []remains) (all []string) {
	for _, r := range notes {
		if r.Home == home {
			all = append(all, r.Dir)
		}
	}
	return all
}

// learnRemains finds out what earlier runs may have left on nodes.
func (x *site) learnRemains() error {
	notes, err := x.allRemains()
	if err != nil {
		return err
	}
	entries, err := x.ledger().Entries()
	if err != nil {
		return err
	}
	x.left = over(notes, entries)
	return nil
}

// ours is the note of the run's directory on a node.
func (x *site) ours(host string) remains {
	n := x.nodes
	return remains{
		Host: host, Cluster: n.cluster, Home: n.home, Dir: n.scratch,
		Run: x.path(x.dir), Reservation: x.reservation.ID(), Until: x.reservation.deadline(),
	}
}

// moveIn makes the run's directory on a node, where a later run or "esched
// clean" finds it, and removes those of earlier runs of the user that are over.
func (x *site) moveIn(ctx context.Context, h deploy.Host, tell func(record.Event)) error {
	mine := x.ours(h.Name())
	if err := x.note(mine); err != nil {
		return err
	}
	left := overOn(x.left, mine.Cluster, mine.Host)
	tidied, err := deploy.Tidy(ctx, h, deploy.Tidying{
		Home: mine.Home, Dir: mine.Dir, Now: x.Now(), Over: dirsBelow(mine.Home, left),
		Stay: deploy.Stay{Run: mine.Run, Reservation: mine.Cluster.Kind + " " + mine.Reservation, Until: mine.Until},
	})
	if err != nil {
		return err
	}
	for dir, reason := range tidied.Left {
		tell(record.Event{Kind: record.EventWarning, Message: fmt.Sprintf("%s: %s of an earlier run was not removed: %s", mine.Host, dir, reason)})
	}
	return x.forgetRemoved(mine, tidied)
}

// forgetRemoved removes the notes of directories that a node has no longer. at
// is any note of that node.
func (p Process) forgetRemoved(at remains, t deploy.Tidied) error {
	for _, dir := range t.Removed {
		at.Dir = dir
		if err := p.forget(at); err != nil {
			return err
		}
	}
	return nil
}

// noteCopies notes that a node has copies for later runs: of esched when the
// host put it there, of an environment when one will be.
func (p Process) noteCopies(ctx context.Context, h deploy.Host, o clusterOptions, environment bool) error {
	home := p.homeOn(o)
	if !environment {
		carrier, ok := h.(deploy.Carrier)
		if !ok {
			return nil
		}
		binary, err := carrier.Binary(ctx)
		if err != nil || !strings.HasPrefix(binary, home+"/") {
			return err
		}
	}
	return p.note(remains{Host: h.Name(), Cluster: o, Home: home})
}

// homeOn is the user's own directory on the nodes of a cluster.
func (p Process) homeOn(o clusterOptions) string {
	return path.Join(o.Scratch, "esched-"+p.login(o.User))
}
