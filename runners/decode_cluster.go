package runners

import (
	"maps"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// clusters reads the tables [clusters.NAME] and the key that chooses one.
func (l *loader) clusters(e *Experiment, t *table) {
	e.Clusters = map[string]Cluster{}
	tables := l.named(t, "clusters")
	if _, described := tables["local"]; !described {
		c := Cluster{Name: "local", Kind: "local"}
		if entry, ok := l.cat.cluster("local"); ok {
			c.Options = l.table("", "", nil).options(entry.Options)
			c.maxNodes = entry.nodes(c.Options)
		}
		e.Clusters["local"] = c
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		c := l.cluster(name, tables[name])
		c.File = e.Path
		e.Clusters[name] = c
	}
	if sub, ok := t.values["cluster"].(map[string]any); ok {
		t.known = append(t.known, "cluster")
		l.wrongKey(child("", "cluster"), "describe clusters in tables [clusters.NAME]; the key cluster names the one to use",
			"cluster is a table (%s), not a name", strings.Join(slices.Sorted(maps.Keys(sub)), ", "))
		return
	}
	e.Cluster = e.Clusters[t.oneOf("cluster", "cluster", "local", slices.Sorted(maps.Keys(e.Clusters)))]
	if l.cat.Cluster != "" {
		e.Cluster = e.Clusters[l.cat.Cluster]
	}
}

func (l *loader) cluster(name string, sub subtable) Cluster {
	t := l.table(sub.path, label("[clusters.%s]", name), sub.values)
	var kinds []string
	for _, k := range l.cat.Clusters {
		kinds = append(kinds, k.Name)
	}
	c := Cluster{Name: name, Kind: t.oneOf("kind", "kind", "", kinds)}
	if _, given := sub.values["kind"]; !given {
		l.wrongKey(sub.path, "add a line with kind = one of: "+strings.Join(kinds, ", "), "%skind is missing", t.label)
	}
	entry, ok := l.cat.cluster(c.Kind)
	if !ok {
		return c // its keys cannot be judged
	}
	if name == "local" && c.Kind != "local" {
		l.wrongValue(child(sub.path, "kind"), "give the cluster another name",
			"%sthe cluster named local is this machine, its kind cannot be %q", t.label, c.Kind)
	}
	before := len(l.mistakes)
	c.Options = t.options(entry.Options)
	c.maxNodes = entry.nodes(c.Options)
	t.finish()
	if entry.Check == nil || len(l.mistakes) > before {
		return c // what they mean together is told when each is right
	}
	if option, err := entry.Check(c.Options); err != nil {
		if _, given := sub.values[option]; given {
			l.wrongValue(child(sub.path, option), hint.Of(err), "%s%v", t.label, err)
		} else {
			l.wrongKey(sub.path, hint.Of(err), "%s%v", t.label, err)
		}
	}
	return c
}

// nodes is the largest number of nodes that execute tasks, 0 for no limit.
func (e ClusterEntry) nodes(options map[string]any) int {
	if e.Limit == nil {
		return e.MaxNodes
	}
	return e.Limit(options)
}
