package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/scheduler/policies"
)

type policiesOptions struct {
	*globals
	JSON bool
}

func newPolicies(g *globals) *cobra.Command {
	o := policiesOptions{globals: g}
	c := &cobra.Command{
		Use:   "policies",
		Short: "list the scheduling policies",
		Long: withExits(`
List the built-in policies: what each does, what it minimises, where it comes
from. Use the names in experiments.toml (policies = ["random"]) and with
"esched serve --policy NAME".`, hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched policies\n  esched policies --json",
		Args:    atMost(0),
		RunE:    func(*cobra.Command, []string) error { return runPolicies(o) },
	}
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

type policyFact struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Formula string `json:"formula,omitempty"`
	Source  string `json:"source"`
	Seeded  bool   `json:"seeded"`
}

func runPolicies(o policiesOptions) error {
	var facts []policyFact
	for _, i := range policies.All() {
		facts = append(facts, policyFact{i.Name, i.Doc, i.Formula, i.Source, i.Seeded})
	}
	if o.JSON {
		return printJSON(o.Stdout, facts)
	}
	for i, f := range facts {
		if i > 0 {
			fmt.Fprintln(o.Stdout)
		}
		fmt.Fprintf(o.Stdout, "%s\n  %s\n", f.Name, f.Doc)
		if f.Formula != "" {
			fmt.Fprintf(o.Stdout, "  minimises: %s\n", f.Formula)
		}
		seeded := ""
		if f.Seeded {
			seeded = "; depends on the seed"
		}
		if _, err := fmt.Fprintf(o.Stdout, "  source: %s%s\n", f.Source, seeded); err != nil {
			return err
		}
	}
	return nil
}
