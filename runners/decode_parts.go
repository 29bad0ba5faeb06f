package runners

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/esched/esched/runners/record"
)

// schedulers reads the tables [scheduler.NAME] and the list of those to run.
// It returns all that exist.
func (l *loader) schedulers(e *Experiment, t *table) map[string]SchedulerSpec {
	all := map[string]SchedulerSpec{}
	var kinds []string
	for _, k := range l.cat.Kinds {
		kinds = append(kinds, k.Name)
		all[k.Name] = SchedulerSpec{Name: k.Name, Kind: k.Name}
	}
	tables := l.named(t, "scheduler")
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if _, builtin := all[name]; builtin {
			l.wrongKey(tables[name].path, "give it a name of its own, such as [scheduler."+name+"-tuned]",
				"scheduler %q is built in and cannot be changed", name)
			continue
		}
		if !fitsDirectory(name) {
			l.wrongKey(tables[name].path, "use up to 64 letters, digits, '-', '_' and '.'", "scheduler name %q is not allowed", name)
		}
		all[name] = l.scheduler(name, tables[name], kinds)
	}
	names := slices.Concat(kinds, slices.DeleteFunc(slices.Sorted(maps.Keys(tables)), func(n string) bool { return slices.Contains(kinds, n) }))
	chosen := list(t, "schedulers", func(path, what string, value any) (string, bool) {
		s, ok := t.checkText(path, what, value)
		if _, exists := all[s]; ok && !exists {
			l.wrongValue(path, chooseOne(s, names), "unknown scheduler %q", s)
			return "", false
		}
		return s, ok
	})
	for _, name := range chosen {
		e.Schedulers = append(e.Schedulers, all[name])
	}
	_, given := t.values["schedulers"]
	_, grid := t.values["workload"]
	if _, trials := t.values["trial"]; !given && (grid || !trials) {
		l.mistakeInFile(`add a line such as: schedulers = ["`+strings.Join(kinds, `", "`)+`"]`, "schedulers is missing: who is to decide?")
	}
	return all
}

func (l *loader) scheduler(name string, sub subtable, kinds []string) SchedulerSpec {
	t := l.table(sub.path, label("[scheduler.%s]", name), sub.values)
	s := SchedulerSpec{Name: name, Kind: t.oneOf("kind", "kind", "", kinds)}
	if _, given := sub.values["kind"]; !given {
		l.wrongKey(sub.path, "add a line with kind = one of: "+strings.Join(kinds, ", "), "%skind is missing", t.label)
	}
	s.Dask = l.daskSettings(t)
	entry, ok := l.cat.kind(s.Kind)
	if !ok {
		return s
	}
	s.Options = t.options(entry.Options)
	for _, p := range entry.Options {
		if p.Default != nil && s.Options[p.Name] == p.Default {
			delete(s.Options, p.Name)
		}
	}
	t.finish()
	return s
}

// daskSettings reads Dask configuration values; nested tables and dotted keys
// mean the same.
func (l *loader) daskSettings(t *table) map[string]any {
	value, path, ok := t.take("dask")
	if !ok {
		return nil
	}
	nested, ok := value.(map[string]any)
	if !ok {
		l.wrongValue(path, `write: dask = { "distributed.scheduler.worker-saturation" = 1.1 }`, "%sdask is %s, not a table", t.label, typeName(value))
		return nil
	}
	out := map[string]any{}
	var flatten func(prefix, path string, m map[string]any)
	flatten = func(prefix, path string, m map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			full, at := prefix+key, child(path, key)
			if sub, ok := m[key].(map[string]any); ok {
				flatten(full+".", at, sub)
				continue
			}
			if _, twice := out[full]; twice {
				l.wrongKey(at, "remove one of them", "%sDask setting %q is given twice", t.label, full)
			}
			if !plainJSON(m[key]) {
				l.wrongValue(at, "use text, a finite number, true, false or a list of them", "%sDask setting %q is %s", t.label, full, typeName(m[key]))
				continue
			}
			out[full] = m[key]
		}
	}
	flatten("", path, nested)
	return out
}

// plainJSON tells whether a value can be recorded and handed to Dask.
func plainJSON(value any) bool {
	switch v := value.(type) {
	case string, int64, bool:
		return true
	case float64:
		return v-v == 0 // neither infinite nor NaN
	case []any:
		for _, item := range v {
			if !plainJSON(item) {
				return false
			}
		}
		return true
	}
	return false
}

// policies reads the list of policies of the grid and returns the check of a
// policy's name.
func (l *loader) policies(e *Experiment, t *table) func(path, what string, value any) (string, bool) {
	check := func(path, what string, value any) (string, bool) {
		s, ok := t.checkText(path, what, value)
		if !ok || slices.Contains(l.cat.Policies, s) {
			return s, ok
		}
		reason := fmt.Errorf("unknown policy %q", s)
		if l.cat.CheckPolicy != nil {
			err := l.cat.CheckPolicy(s)
			if err == nil {
				return s, true
			}
			if strings.ContainsAny(s, "./") {
				reason = fmt.Errorf("policy %q: %w", s, err)
			}
		}
		l.wrongValue(path, chooseOne(s, l.cat.Policies), "%v", reason)
		return "", false
	}
	e.Policies = list(t, "policies", check)
	return check
}

// checkPairing holds policies against the schedulers that use them.
func (l *loader) checkPairing(e *Experiment, t *table) {
	_, given := t.values["policies"]
	var by string
	for _, s := range e.Schedulers {
		if k, ok := l.cat.kind(s.Kind); ok && k.Policies {
			by = s.Name
		}
	}
	var able []string
	for _, k := range l.cat.Kinds {
		if k.Policies {
			able = append(able, k.Name)
		}
	}
	switch {
	case by != "" && !given:
		l.wrongValue(child("", "schedulers"), "add a line policies = [...] with some of: "+strings.Join(l.cat.Policies, ", "),
			"scheduler %q decides by a policy, but policies is missing", by)
	case by == "" && given && len(e.Schedulers) > 0 && !l.refused("schedulers"):
		l.wrongKey(child("", "policies"), "add one of these to schedulers: "+strings.Join(able, ", ")+"; or remove the line",
			"policies are given, but no scheduler uses them")
	}
}

// workload reads one [[workload]] table.
func (l *loader) workload(e *Experiment, index int, sub subtable) {
	t := l.table(sub.path, label("[[workload]] %d", index+1), sub.values)
	entry, ok := l.workloadEntry(t, "name")
	if !ok {
		return
	}
	t.label = label("[[workload]] %s", entry.Name)
	w := Workload{Name: entry.Name, Grid: map[string][]any{}, entry: entry, path: sub.path}
	for _, p := range entry.Params {
		if values := t.grid(p); len(values) > 0 {
			w.Grid[p.Name] = values
		}
	}
	if entry.Open {
		w.Grid, w.entry.Params = t.open()
	}
	t.finish()
	e.Workloads = append(e.Workloads, w)
}

// workloadEntry reads the name of a workload.
func (l *loader) workloadEntry(t *table, key string) (WorkloadEntry, bool) {
	name := t.oneOf(key, "workload", "", l.workloadNames())
	if _, given := t.values[key]; !given {
		l.wrongKey(t.path, "add a line with "+key+" = one of: "+strings.Join(l.workloadNames(), ", "), "%s%s is missing", t.label, key)
	}
	return l.cat.workload(name)
}

// grid reads the values of a parameter.
func (t *table) grid(p Parameter) []any {
	value, path, ok := t.take(p.Name)
	if ok {
		return listOf(t, p.Name, value, path, func(path, _ string, value any) (any, bool) { return t.parameter(p, path, value) })
	}
	if p.Required {
		t.wrongKey(t.path, "add a line: "+p.Name+" = ...", "%s%s is missing", t.label, p.Name)
	} else if p.Default != nil {
		return []any{p.Default}
	}
	return nil
}

// exclude reads one [[exclude]] table.
func (l *loader) exclude(e *Experiment, index int, sub subtable) {
	t := l.table(sub.path, label("[[exclude]] %d", index+1), sub.values)
	x := exclusion{path: sub.path}
	keys := slices.Clone(cellKeys)
	for _, w := range e.Workloads {
		for _, name := range slices.Sorted(maps.Keys(w.Grid)) {
			if !slices.Contains(keys, name) {
				keys = append(keys, name)
			}
		}
	}
	for _, key := range keys {
		values := list(t, key, func(path, what string, value any) (any, bool) {
			switch value.(type) {
			case string, int64, float64:
				if plainJSON(value) {
					return value, true
				}
			}
			l.wrongValue(path, "use text or a number", "%s%s is %s", t.label, what, typeName(value))
			return nil, false
		})
		if len(values) > 0 {
			x.conditions = append(x.conditions, condition{key: key, op: "=", values: values})
		}
	}
	if len(sub.values) == 0 {
		l.wrongKey(sub.path, `add lines such as scheduler = "dask" and workers = 1`, "%sempty: it would leave out everything", t.label)
		return
	}
	t.finish()
	e.excludes = append(e.excludes, x)
}

// trial reads one [[trial]] table: a cell given by all its coordinates.
func (l *loader) trial(e *Experiment, index int, sub subtable, schedulers map[string]SchedulerSpec,
	checkPolicy func(path, what string, value any) (string, bool)) {
	t := l.table(sub.path, label("[[trial]] %d", index+1), sub.values)
	c := cell{path: sub.path}
	name := t.oneOf("scheduler", "scheduler", "", slices.Sorted(maps.Keys(schedulers)))
	c.scheduler = schedulers[name]
	for _, key := range []string{"scheduler", "workers_per_node"} {
		if _, given := sub.values[key]; !given {
			l.wrongKey(sub.path, "add a line: "+key+" = ...", "%s%s is missing", t.label, key)
		}
	}
	kind, known := l.cat.kind(c.scheduler.Kind)
	policy, path, given := t.take("policy")
	switch {
	case given && known && !kind.Policies:
		l.wrongKey(path, "remove the line", "%sscheduler %q has no policy", t.label, name)
	case given:
		c.policy, _ = checkPolicy(path, "policy", policy)
	case kind.Policies:
		l.wrongKey(sub.path, "add a line with policy = one of: "+strings.Join(l.cat.Policies, ", "), "%spolicy is missing", t.label)
	}
	c.nodes = int(t.integer("nodes", 1, 1, maxNodes))
	c.workersPerNode = int(t.integer("workers_per_node", 1, 1, maxWorkersPerNode))
	c.threads = int(t.integer("threads", int64(e.Threads), 1, maxThreads))
	entry, ok := l.workloadEntry(t, "workload")
	if !ok {
		return
	}
	c.params = t.options(entry.Params)
	if entry.Open {
		c.params = map[string]any{}
		grid, _ := t.open()
		for name, values := range grid {
			if len(values) > 1 {
				l.wrongValue(child(sub.path, name), "write one value", "%s%s is a list", t.label, name)
			}
			c.params[name] = values[0]
		}
	}
	t.finish()
	c.entry = entry
	e.extra = append(e.extra, c)
}

// cellKeys are the coordinates of a trial beside the workload's parameters
// that [[exclude]] and --only understand.
var cellKeys = []string{"workload", "scheduler", "kind", "policy", "nodes", "workers", "workers_per_node", "threads"}

// coordinate returns the value of a key of a trial: a text, an int64 or a
// float64, or nil when the trial has no such key. A trial without a policy has
// the policy "none".
func coordinate(t *record.Trial, key string) any {
	switch key {
	case "workload":
		return t.Workload
	case "scheduler":
		return t.Scheduler
	case "kind":
		return t.Kind
	case "policy":
		if t.Policy == "" {
			return "none"
		}
		return t.Policy
	case "nodes":
		return int64(t.Nodes)
	case "workers":
		return int64(t.Workers)
	case "workers_per_node":
		return int64(t.Workers / max(t.Nodes, 1))
	case "threads":
		return int64(t.Threads)
	case "repetition":
		return int64(t.Repetition)
	}
	return t.Params[key]
}
