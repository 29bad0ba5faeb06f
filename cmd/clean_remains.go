package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

// Kinds of leftovers on nodes.
const (
	kindFiles  = "files"
	kindCopies = "copies"
)

// cleanRemains removes what runs that are over left on nodes without a
// reservation: from hosts of static clusters, which can be visited at any time.
// Of others, and of copies that are to stay, it tells.
func (o cleanOptions) cleanRemains(ctx context.Context) ([]leftover, error) {
	notes, err := o.allRemains()
	if err != nil {
		return nil, err
	}
	entries, err := o.ledger().Entries()
	if err != nil {
		return nil, err
	}
	type host struct{ kind, cluster, name string }
	byHost := map[host][]remains{}
	var order []host
	left := over(notes, entries)
	for _, r := range notes {
		h := host{r.Cluster.Kind, r.Cluster.Name, r.Host}
		if r.Dir != "" && !slices.ContainsFunc(left, func(x remains) bool { return x.file() == r.file() }) {
			continue // of a reservation that was dealt with, or on which a run works
		}
		if byHost[h] == nil {
			order = append(order, h)
		}
		byHost[h] = append(byHost[h], r)
	}
	busy := busyHosts(entries)
	found := make([][]leftover, len(order))
	places := make(chan struct{}, maxContacts)
	var all sync.WaitGroup
	for i, h := range order {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found[i] = o.cleanHost(ctx, byHost[h], busy[h.name])
		})
	}
	all.Wait()
	return together(slices.Concat(found...)), nil
}

// busyHosts names the run that works on each host whose grant is in the ledger.
func busyHosts(entries []reserve.Entry) map[string]string {
	busy := map[string]string{}
	for _, e := range entries {
		if used, err := record.InUse(e.Run); err != nil || used {
			for _, h := range e.Hosts {
				busy[h] = e.Run
			}
		}
	}
	return busy
}

// cleanHost deals with the notes of one host.
func (o cleanOptions) cleanHost(ctx context.Context, notes []remains, busy string) []leftover {
	var all []leftover
	var todo []remains
	for _, r := range notes {
		l := r.leftover()
		switch {
		case r.Dir == "" && !o.Copies:
			l.Stays = "later runs use them; esched clean --copies removes them"
		case r.Cluster.Kind != clusterStatic:
			l.Stays = "no reservation of yours runs there"
			if r.Dir != "" {
				l.Stays += "; your next run there removes it"
			}
		case busy != "":
			l.Stays = busy + " must not be disturbed there"
		case o.DryRun:
		default:
			todo = append(todo, r)
			continue
		}
		all = append(all, l)
	}
	if len(todo) == 0 {
		return all
	}
	ctx, cancel := context.WithTimeoutCause(ctx, visitLimit, fmt.Errorf("no end within %v", visitLimit))
	defer cancel()
	return append(all, o.visitAgain(ctx, todo)...)
}

// visitAgain cleans a host that no reservation is needed for.
func (g *globals) visitAgain(ctx context.Context, notes []remains) []leftover {
	latest := slices.MaxFunc(notes, func(a, b remains) int { return a.Until.Compare(b.Until) })
	w := way{Process: g.Process, options: latest.Cluster}
	var h remoteHost
	var err error
	if w.client, err = g.newClient(w.options, "", nil); err == nil {
		defer w.client.Close()
		h, err = w.host(ctx, latest.Host)
	}
	if err == nil {
		copies := slices.ContainsFunc(notes, func(r remains) bool { return r.Dir == "" })
		all := w.tidy(ctx, h, slices.DeleteFunc(slices.Clone(notes), func(r remains) bool { return r.Dir == "" }), copies)
		if err = h.Close(); err == nil || len(all) > 0 {
			return all
		}
	}
	var all []leftover
	for _, r := range notes {
		l := r.leftover()
		l.Error = err.Error()
		all = append(all, l)
	}
	return all
}

// tidy removes from a node what is noted of it, and copies if asked to. With
// copies the node needs a new connection afterwards.
func (w way) tidy(ctx context.Context, h remoteHost, notes []remains, copies bool) []leftover {
	own := w.homeOn(w.options)
	var homes []string
	for _, r := range notes {
		if !slices.Contains(homes, r.Home) && r.Home != own {
			homes = append(homes, r.Home)
		}
	}
	if copies || slices.ContainsFunc(notes, func(r remains) bool { return r.Home == own }) {
		homes = append(homes, own) // last: the guards are there
	}
	var all []leftover
	for _, home := range homes {
		tidied, err := deploy.Tidy(ctx, h, deploy.Tidying{
			Home: home, Now: w.Now(), Over: dirsBelow(home, notes), Copies: copies && home == own,
		})
		if copies && home == own {
			notes = append(slices.Clone(notes), remains{Host: h.Name(), Cluster: w.options, Home: home})
		}
		for _, r := range notes {
			if r.Home == home {
				all = append(all, w.told(r, tidied, err))
			}
		}
	}
	return all
}

// told is what came of a note.
func (p Process) told(r remains, t deploy.Tidied, err error) leftover {
	l := r.leftover()
	reason := t.Left[cmp.Or(r.Dir, r.Home)]
	switch {
	case err != nil:
		l.Error = err.Error()
	case reason != "" && r.Dir == "":
		l.Stays = reason
	case reason != "":
		l.Error = reason
	default:
		l.note(p.forget(r))
	}
	return l
}

// leftover is what "esched clean" shows of a note.
func (r remains) leftover() leftover {
	if r.Dir == "" {
		return leftover{Kind: kindCopies, What: "of esched and environments in " + r.Home, hosts: []string{r.Host}}
	}
	return leftover{Run: r.Run, Kind: kindFiles, What: path.Base(r.Home) + "/" + path.Base(r.Dir), hosts: []string{r.Host}}
}

// together makes one of leftovers that differ in their hosts only.
func together(all []leftover) []leftover {
	var merged []leftover
	for _, l := range all {
		same := func(m leftover) bool {
			return m.Run == l.Run && m.Kind == l.Kind && m.What == l.What && m.Done == l.Done && m.Error == l.Error && m.Stays == l.Stays
		}
		if i := slices.IndexFunc(merged, same); i >= 0 {
			merged[i].hosts = append(merged[i].hosts, l.hosts...)
			continue
		}
		merged = append(merged, l)
	}
	for i := range merged {
		if hosts := merged[i].hosts; len(hosts) > 0 {
			merged[i].What += " on " + someOf(hosts)
		}
	}
	return merged
}

// someOf lists hosts, but not more than people read.
func someOf(hosts []string) string {
	const most = 8
	slices.Sort(hosts)
	if n := len(hosts); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(hosts[:most], ", "), n-most)
	}
	return strings.Join(hosts, ", ")
}

// dropCheckups removes the directories of checkups ("esched doctor") that were
// killed and hold no reservation any more.
func (o cleanOptions) dropCheckups() error {
	dirs, err := o.runDirs(o.stateDir())
	if err != nil {
		return err
	}
	entries, err := o.ledger().Entries()
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		if !strings.HasPrefix(filepath.Base(dir), checkupPrefix) ||
			slices.ContainsFunc(entries, func(e reserve.Entry) bool { return e.Run == dir }) {
			continue
		}
		if used, err := record.InUse(dir); err == nil && !used {
			errs = append(errs, o.removeAll(dir))
		}
	}
	return errors.Join(errs...)
}
