package cmd

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

type planOptions struct {
	*globals
	selection
	Output string
	JSON   bool
}

func newPlan(g *globals) *cobra.Command {
	o := planOptions{globals: g}
	c := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "show what a run will do, and for how long",
		Long: withExits(`
List the trials of the experiment in FILE (default: experiments.toml) in the
order in which they will run, their number, the time and the node-seconds they
will take, and whether that fits the claim, or how many claims in a row it will
take; also what stands against it, as far as that is known without the queue:
the site's hours and the most nodes. Nothing is reserved or started. Times come
from earlier runs of the same experiment where there are some.

--only takes conditions that must all hold, separated by commas. A condition is
a key, an operator (= != < <= > >=) and values, with | between alternatives:
'scheduler=dask,chunk=100|200,workers>=2'. Keys are workload, scheduler, kind,
policy, nodes, workers, workers_per_node, threads, repetition, and the
parameters of workloads.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched plan\n  esched plan overhead.toml --only 'scheduler=sidekick,workers>=2'\n  esched plan --json",
		Args:    atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.given = c.Flags()
			if len(args) > 0 {
				o.File = args[0]
			}
			return runPlan(c.Context(), o)
		},
	}
	o.selection.addFlags(c.Flags())
	c.Flags().StringVar(&o.Output, "output", "runs", "directory with earlier runs, to learn times from")
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

// plannedRun is what plan --json prints.
type plannedRun struct {
	Name     string           `json:"name"`
	Cluster  runners.Cluster  `json:"cluster"`
	Seed     int64            `json:"seed"`
	Estimate runners.Estimate `json:"estimate"`
	Claim    outlook          `json:"claim"`
	Trials   []record.Planned `json:"trials"`
}

func runPlan(ctx context.Context, o planOptions) error {
	e, plan, err := o.load(o.globals)
	if err != nil {
		return err
	}
	claim, err := o.outlookOf(ctx, e, plan, o.Output)
	if err != nil {
		return err
	}
	p := plannedRun{e.Name, e.Cluster, plan.Seed, runners.EstimatePlan(plan, e, o.learnTimes(o.Output)), claim, plan.Planned()}
	if o.JSON {
		return printJSON(o.Stdout, p)
	}
	t := table{head: []string{"#", "BLOCK", "WORKLOAD", "SIZE", "SERIES", "NODES", "WORKERS", "REP", "TRIAL"}}
	for _, x := range p.Trials {
		if x.Warmup {
			continue
		}
		t.add(fmt.Sprint(x.Order), fmt.Sprint(x.Block+1), x.Workload, x.Size, x.Series(),
			fmt.Sprint(x.Nodes), fmt.Sprint(x.Workers), fmt.Sprint(x.Repetition), x.ID)
	}
	if err := t.print(o.Stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "\n%s on cluster %s: %d trials\n%s\n%s%s", p.Name, p.Cluster.Name, p.Estimate.Trials, p.Estimate.Arithmetic(),
		o.claimsNote(p), p.Claim.words())
	return err
}

// claimsNote says whether a run may make the claims that a plan takes; "" when
// one is enough.
func (o planOptions) claimsNote(p plannedRun) string {
	allowed := o.clusterOptions(p.Cluster).Claims
	switch {
	case p.Estimate.Claims <= 1:
		return ""
	case p.Estimate.Claims <= allowed:
		return fmt.Sprintf("cluster %s allows %d claims for one run\n", p.Cluster.Name, allowed)
	}
	return fmt.Sprintf("cluster %s allows %d for one run (its option claims): what does not fit is skipped, and run by --resume\n", p.Cluster.Name, allowed)
}

// learnedRuns bounds how many earlier runs are read for their times.
const learnedRuns = 5

// learnTimes takes times from the latest runs in dir; what cannot be read
// teaches nothing.
func (p Process) learnTimes(dir string) runners.TimeModel {
	runs, err := p.runDirs(dir)
	if err != nil {
		return runners.TimeModel{}
	}
	var records []record.Record
	for _, run := range runs[max(0, len(runs)-learnedRuns):] {
		if earlier, err := record.Read(p.path(filepath.Clean(run))); err == nil {
			records = append(records, earlier.Records...)
		}
	}
	return runners.LearnTimes(records)
}
