package cmd

import (
	"io/fs"
	"slices"

	"github.com/esched/esched/deploy/pyenv"
	queue "github.com/esched/esched/reserve/local"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/scheduler/policies"
	"github.com/esched/esched/workloads"
)

// The kinds of schedulers.
const (
	kindDask     = "dask"
	kindSidekick = "sidekick"
)

// programs are the workloads with the Python modules that they need.
type programs struct {
	list  []workloads.Workload
	files fs.FS
}

// builtin are the workloads in this binary.
func builtin() programs { return programs{workloads.All(), workloads.Files()} }

func (p programs) workload(name string) (workloads.Workload, bool) {
	i := slices.IndexFunc(p.list, func(w workloads.Workload) bool { return w.Name == name })
	if i < 0 {
		return workloads.Workload{}, false
	}
	return p.list[i], true
}

// catalog tells the experiment file's reader what there is in this binary.
func (g *globals) catalog() runners.Catalog {
	c := runners.Catalog{
		Policies: policies.Names(),
		Kinds: []runners.KindEntry{
			{Name: kindDask},
			{Name: kindSidekick, Policies: true, Options: []runners.Parameter{
				{Name: "slots", Type: runners.String, Choices: []string{"adaptive", "stock"}},
			}},
		},
		Environments:     pyenv.Names(),
		CheckEnvironment: g.checkEnvironment,
		Clusters:         []runners.ClusterEntry{{Name: queue.Kind, MaxNodes: queue.Nodes}},
	}
	for _, w := range g.list {
		c.Workloads = append(c.Workloads, entry(w))
	}
	return c
}

// entry translates a workload for the experiment file's reader.
func entry(w workloads.Workload) runners.WorkloadEntry {
	types := map[workloads.Type]runners.Type{
		workloads.Int: runners.Int, workloads.Float: runners.Float, workloads.String: runners.String,
	}
	e := runners.WorkloadEntry{Name: w.Name, Instant: w.Instant, Check: w.Check, Size: w.Size, Warmup: w.Warmup, Seconds: w.RoughSeconds}
	for _, p := range w.Params {
		e.Params = append(e.Params, runners.Parameter{
			Name: p.Name, Type: types[p.Type], Min: p.Min, Max: p.Max, Choices: p.Choices, Default: p.Default, Required: p.Required,
		})
	}
	return e
}
