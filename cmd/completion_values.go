package cmd

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/scheduler/policies"
	"github.com/esched/esched/workloads/presets"
)

// values returns what a shell offers for a flag; nil leaves it to file names.
// A flag of one name means the same in every command that has it, so that a
// new command completes without doing anything for it.
func (g *globals) values(flag string) func(args []string) []string {
	fixed := func(names []string) func([]string) []string {
		return func([]string) []string { return names }
	}
	switch flag {
	case "policy":
		return fixed(policies.Names())
	case "slots":
		return fixed([]string{slotsAdaptive, slotsStock})
	case "env":
		return fixed(pyenv.Names())
	case "preset":
		return fixed(presets.Names())
	case "cluster":
		return g.clusterNames
	case "resume":
		return func([]string) []string {
			runs, _ := g.runDirs("runs") // completion has nobody to complain to
			slices.Reverse(runs)         // the latest is the likeliest
			return runs
		}
	}
	return nil
}

// clusterNames are the clusters of the experiment on the command line, and
// the kinds of clusters when there is no experiment that can be read.
func (g *globals) clusterNames(args []string) []string {
	s := selection{}
	if len(args) > 0 {
		s.File = args[0]
	}
	if e, _, err := s.load(g); err == nil {
		return slices.Sorted(maps.Keys(e.Clusters))
	}
	var kinds []string
	for _, k := range g.catalog("").Clusters {
		kinds = append(kinds, k.Name)
	}
	return kinds
}

// completeValues teaches the command and those below it to complete the
// values of their flags.
func (g *globals) completeValues(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		offer := g.values(f.Name)
		if _, own := c.GetFlagCompletionFunc(f.Name); offer == nil || own {
			return
		}
		// The error is about a flag that is not there or has a function already.
		_ = c.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveKeepOrder // file names follow when no name fits
			if f.Name == "cluster" || f.Name == "preset" { // never a path
				directive |= cobra.ShellCompDirectiveNoFileComp
			}
			return offer(args), directive
		})
	})
	for _, sub := range c.Commands() {
		g.completeValues(sub)
	}
}
