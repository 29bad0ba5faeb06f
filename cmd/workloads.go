package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/workloads"
)

type workloadsOptions struct {
	*globals
	JSON bool
}

func newWorkloads(g *globals) *cobra.Command {
	o := workloadsOptions{globals: g}
	c := &cobra.Command{
		Use:   "workloads",
		Short: "list the workloads and their parameters",
		Long: withExits(`
List the workloads: what each computes, and the parameters that a [[workload]]
table of experiments.toml gives it.`, hint.ExitOK),
		Example: "  esched workloads\n  esched workloads --json",
		Args:    atMost(0),
		RunE:    func(*cobra.Command, []string) error { return runWorkloads(o) },
	}
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

type workloadFact struct {
	Name   string      `json:"name"`
	Doc    string      `json:"doc"`
	Params []paramFact `json:"params"`
}

type paramFact struct {
	Name     string         `json:"name"`
	Type     workloads.Type `json:"type"`
	Doc      string         `json:"doc"`
	Min      float64        `json:"min"`
	Max      float64        `json:"max,omitempty"`
	Choices  []string       `json:"choices,omitempty"`
	Default  any            `json:"default,omitempty"`
	Required bool           `json:"required"`
}

func runWorkloads(o workloadsOptions) error {
	var facts []workloadFact
	for _, w := range o.list {
		f := workloadFact{Name: w.Name, Doc: w.Doc, Params: []paramFact{}}
		for _, p := range w.Params {
			f.Params = append(f.Params, paramFact{p.Name, p.Type, p.Doc, p.Min, p.Max, p.Choices, p.Default, p.Required})
		}
		facts = append(facts, f)
	}
	if o.JSON {
		return printJSON(o.Stdout, facts)
	}
	var b strings.Builder
	for i, f := range facts {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n  %s\n", f.Name, f.Doc)
		for _, p := range f.Params {
			rest := "required"
			if !p.Required {
				rest = fmt.Sprintf("default %v", p.Default)
			}
			if len(p.Choices) > 0 {
				rest = strings.Join(p.Choices, " | ") + ", " + rest
			}
			fmt.Fprintf(&b, "  %-14s %s (%s, %s)\n", p.Name, p.Doc, p.Type, rest)
		}
	}
	_, err := fmt.Fprint(o.Stdout, b.String())
	return err
}
