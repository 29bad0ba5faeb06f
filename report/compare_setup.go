package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/esched/esched/runners/record"
)

// notKnown stands for what a manifest does not say.
const notKnown = "unknown"

// differences lists what is not the same in the set-up of A and B.
func (x *comparer) differences() []SetupDiffers {
	all := []SetupDiffers{}
	add := func(what, a, b string) {
		if a != b {
			all = append(all, SetupDiffers{what, cmp.Or(a, notKnown), cmp.Or(b, notKnown)})
		}
	}
	a, b := x.sides[0].Manifest, x.sides[1].Manifest
	add("esched", a.Esched, b.Esched)
	add("experiment file (SHA-256)", short(a.ExperimentSHA256), short(b.ExperimentSHA256))
	if a.Schema > 0 && b.Schema > 0 {
		add("seed", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed))
	}
	add("cluster", clusterWords(a), clusterWords(b))
	add("hosts", hostWords(a, func(h record.Host) string { return h.Name }), hostWords(b, func(h record.Host) string { return h.Name }))
	for _, of := range []struct {
		what string
		get  func(h record.Host) string
	}{
		{"machines", func(h record.Host) string {
			return fmt.Sprintf("%s, %s, %s", cmp.Or(h.CPU, notKnown+" processor"), plural(h.Cores, "core"), memory(h.MemoryB))
		}},
		{"kernel", func(h record.Host) string { return h.Kernel }},
		{"system", func(h record.Host) string { return h.OS }},
		{"governor", func(h record.Host) string { return h.Governor }},
		{"network interface", func(h record.Host) string { return h.Interface }},
	} {
		add(of.what, hostWords(a, of.get), hostWords(b, of.get))
	}
	for _, d := range environmentDifferences(a.Environments, b.Environments) {
		add(d.What, d.A, d.B)
	}
	for _, d := range x.trialDifferences() {
		add(d.What, d.A, d.B)
	}
	add("notes", strings.Join(a.Notes, "; "), strings.Join(b.Notes, "; "))
	return all
}

func short(hash string) string { return hash[:min(12, len(hash))] }

func clusterWords(m record.Manifest) string {
	if m.Cluster == m.ClusterKind {
		return m.Cluster
	}
	return m.Cluster + " (" + m.ClusterKind + ")"
}

// hostWords lists what hosts have, each thing once, with how many have it when
// they do not agree.
func hostWords(m record.Manifest, get func(record.Host) string) string {
	n := make(map[string]int)
	for _, h := range m.Hosts {
		if v := get(h); v != "" {
			n[v]++
		}
	}
	var words []string
	for _, v := range slices.Sorted(maps.Keys(n)) {
		if len(n) > 1 && n[v] > 1 {
			words = append(words, fmt.Sprintf("%d × %s", n[v], v))
		} else {
			words = append(words, v)
		}
	}
	return strings.Join(words, "; ")
}

// environmentDifferences compares Python environments of the same name, and
// the only ones of both runs whatever they are called.
func environmentDifferences(a, b map[string]record.Environment) []SetupDiffers {
	var all []SetupDiffers
	compare := func(name string, x, y record.Environment) {
		all = append(all, SetupDiffers{"Python (" + name + ")", x.Python, y.Python})
		packages := make(map[string]bool)
		for _, e := range []record.Environment{x, y} {
			for p := range e.Packages {
				packages[p] = true
			}
		}
		for _, p := range slices.Sorted(maps.Keys(packages)) {
			all = append(all, SetupDiffers{p + " (" + name + ")", cmp.Or(x.Packages[p], "none"), cmp.Or(y.Packages[p], "none")})
		}
	}
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(a) == 1 && len(b) == 1 && len(names) == 2 {
		x, y := only(a), only(b)
		all = append(all, SetupDiffers{"environment", x, y})
		compare(x+" / "+y, a[x], b[y])
		return all
	}
	for _, name := range names {
		x, inA := a[name]
		y, inB := b[name]
		if inA && inB {
			compare(name, x, y)
		} else {
			there := map[bool]string{true: "used", false: "not used"}
			all = append(all, SetupDiffers{"environment " + name, there[inA], there[inB]})
		}
	}
	return all
}

func only(m map[string]record.Environment) string {
	for name := range m {
		return name
	}
	return ""
}

// trialDifferences finds schedulers and programs that have the same name in A
// and B and are not the same.
func (x *comparer) trialDifferences() []SetupDiffers {
	found := make(map[string]SetupDiffers)
	for _, name := range x.names {
		a, b := x.cells[name][0], x.cells[name][1]
		if !a.there || !b.there {
			continue
		}
		add := func(what, va, vb string) {
			if va != vb {
				found[what] = SetupDiffers{what, cmp.Or(va, "default"), cmp.Or(vb, "default")}
			}
		}
		add("kind of "+name.Scheduler, a.trial.Kind, b.trial.Kind)
		add("settings of "+name.Scheduler, settings(a.trial), settings(b.trial))
		add("program of "+name.Workload, short(a.trial.Program), short(b.trial.Program))
		add("environment of "+name.Scheduler, a.trial.Environment, b.trial.Environment)
	}
	var all []SetupDiffers
	for _, what := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[what])
	}
	return all
}
