package cmd

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/scheduler/policies"
	"github.com/esched/esched/workloads"
)

// The kinds of schedulers.
const (
	kindDask     = "dask"
	kindSidekick = "sidekick"
)

// programs are the workloads with the Python modules and the data that they
// need, and the module for Dask's scheduler.
type programs struct {
	list    []workloads.Workload
	files   fs.FS
	data    []workloads.Provider
	preload func() []byte
}

// builtin are the workloads in this binary.
func builtin() programs {
	return programs{workloads.All(), workloads.Files(), workloads.Providers(), preloadText}
}

func (p programs) workload(name string) (workloads.Workload, bool) {
	i := slices.IndexFunc(p.list, func(w workloads.Workload) bool { return w.Name == name })
	if i < 0 {
		return workloads.Workload{}, false
	}
	return p.list[i], true
}

// catalog tells the reader of an experiment file what there is in this binary.
func (g *globals) catalog(experiment string) runners.Catalog {
	c := runners.Catalog{
		Policies: policies.Names(),
		Kinds: []runners.KindEntry{
			{Name: kindDask},
			{Name: kindSidekick, Policies: true, Options: []runners.Parameter{
				{Name: "slots", Type: runners.String, Choices: []string{slotsAdaptive, slotsStock}},
			}},
		},
		Environments:     pyenv.Names(),
		CheckEnvironment: g.checkEnvironment,
		Clusters:         clusterKinds(),
	}
	for _, w := range g.list {
		c.Workloads = append(c.Workloads, entry(w, g.located(w, experiment)))
	}
	return c
}

// located returns a function that makes the names of files among a workload's
// parameters absolute. They may be relative to the experiment file.
func (p Process) located(w workloads.Workload, experiment string) func(map[string]any) map[string]any {
	beside := filepath.Dir(p.path(experiment))
	return func(params map[string]any) map[string]any {
		for _, param := range w.Params {
			if name, ok := params[param.Name].(string); ok && param.File {
				params = maps.Clone(params)
				params[param.Name] = p.beside(beside, name)
			}
		}
		return params
	}
}

// entry translates a workload for the experiment file's reader. Its functions
// get the parameters that located returns, what is recorded are those written.
func entry(w workloads.Workload, located func(map[string]any) map[string]any) runners.WorkloadEntry {
	types := map[workloads.Type]runners.Type{
		workloads.Int: runners.Int, workloads.Float: runners.Float, workloads.String: runners.String,
	}
	e := runners.WorkloadEntry{Name: w.Name, Instant: w.Instant, Warmup: w.Warmup}
	if w.Check != nil {
		e.Check = func(params map[string]any) error { return w.Check(located(params)) }
	}
	if w.Size != nil {
		e.Size = func(params map[string]any) string { return w.Size(located(params)) }
	}
	if w.RoughSeconds != nil {
		e.Seconds = func(params map[string]any, workers int) float64 { return w.RoughSeconds(located(params), workers) }
	}
	if w.Text != nil {
		e.Text = func(params map[string]any) string { return w.Text(located(params)) }
	}
	for _, p := range w.Params {
		e.Params = append(e.Params, runners.Parameter{
			Name: p.Name, Type: types[p.Type], Min: p.Min, Max: p.Max, Choices: p.Choices, Default: p.Default, Required: p.Required,
		})
	}
	return e
}
