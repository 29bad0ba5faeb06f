package cmd

import (
	"fmt"
	"maps"
	"slices"
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
		Use:   "workloads [NAME]",
		Short: "list the workloads, or tell all about one",
		Long: withExits(`
List the workloads: what each computes, its sizes, and the data that it reads.
With a NAME, tell all about one: the parameters that a [[workload]] table of an
experiment file gives it, the sizes to start from, what it returns and how that
is checked, and where it comes from.

A workload of your own is described in the experiment file, by a table
[program.NAME] with the key script (a Python file with a function run(client,
params)) or command. Both run in a process of their own, in an empty directory.
A command finds in its environment ESCHED_PARAMS, a file with the parameters as
JSON; ESCHED_SEED; ESCHED_SCHEDULER, the address of Dask's scheduler, and with
encryption ESCHED_TLS_CA and ESCHED_TLS_CERT; and writes its result, any JSON
value, to the file ESCHED_RESULT. An object with a text "digest" says by that
what is compared between schedulers; of any other value it is the whole.`, hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched workloads\n  esched workloads montecarlo\n  esched workloads --json",
		Args:    atMost(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return g.workloadNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return runWorkload(o, args[0])
			}
			return runWorkloads(o)
		},
	}
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

type workloadFact struct {
	Name       string      `json:"name"`
	Doc        string      `json:"doc"`
	About      string      `json:"about,omitempty"`
	Params     []paramFact `json:"params"`
	Sizes      []sizeFact  `json:"sizes"`
	Result     string      `json:"result"`
	References []string    `json:"references"`
	Data       string      `json:"data,omitempty"`
	Instant    bool        `json:"instant"`
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

type sizeFact struct {
	Name   string         `json:"name"`
	Doc    string         `json:"doc"`
	Params map[string]any `json:"params"`
}

func factOf(w workloads.Workload) workloadFact {
	f := workloadFact{
		Name: w.Name, Doc: w.Doc, About: w.About, Result: w.Result, Data: w.Data, Instant: w.Instant,
		Params: []paramFact{}, Sizes: []sizeFact{}, References: append([]string{}, w.References...),
	}
	for _, p := range w.Params {
		f.Params = append(f.Params, paramFact{p.Name, p.Type, p.Doc, p.Min, p.Max, p.Choices, p.Default, p.Required})
	}
	for _, s := range w.Sizes {
		f.Sizes = append(f.Sizes, sizeFact(s))
	}
	return f
}

func runWorkloads(o workloadsOptions) error {
	facts := []workloadFact{}
	for _, w := range o.list {
		facts = append(facts, factOf(w))
	}
	if o.JSON {
		return printJSON(o.Stdout, facts)
	}
	t := table{head: []string{"NAME", "SIZES", "DATA", "WHAT"}}
	for _, f := range facts {
		var sizes []string
		for _, s := range f.Sizes {
			sizes = append(sizes, s.Name)
		}
		t.add(f.Name, orDash(strings.Join(sizes, ", ")), orDash(f.Data), f.Doc)
	}
	if err := t.print(o.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprint(o.Stdout, "\n\"esched workloads NAME\" tells all about one.\n")
	return err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (g *globals) workloadNames() []string {
	var names []string
	for _, w := range g.list {
		names = append(names, w.Name)
	}
	return names
}

func runWorkload(o workloadsOptions, name string) error {
	w, ok := o.workload(name)
	if !ok {
		mend := "choose one of: " + strings.Join(o.workloadNames(), ", ")
		if near := nearest(name, o.workloadNames()); near != "" {
			mend = "esched workloads " + near
		}
		return usageError(mend, "unknown workload %q", name)
	}
	f := factOf(w)
	if o.JSON {
		return printJSON(o.Stdout, f)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n", f.Name, hanging(f.Doc, 2))
	for line := range strings.Lines(f.About) {
		if b.WriteString("\n"); line != "\n" {
			b.WriteString("  " + strings.TrimSuffix(line, "\n"))
		}
	}
	if f.About != "" {
		b.WriteString("\n")
	}
	if len(f.Params) > 0 {
		b.WriteString("\nparameters\n")
	}
	for _, p := range f.Params {
		fmt.Fprintf(&b, "  %-14s %s\n", p.Name, hanging(fmt.Sprintf("%s (%s)", p.Doc, strings.Join(p.terms(), ", ")), 17))
	}
	if len(f.Sizes) > 0 {
		b.WriteString("\nsizes to start from\n")
	}
	for _, s := range f.Sizes {
		fmt.Fprintf(&b, "  %-14s %s\n", s.Name, hanging(s.Doc+": "+s.values(), 17))
	}
	if f.Data != "" {
		fmt.Fprintf(&b, "\ndata\n  the data set %s: esched data %s\n", f.Data, f.Data)
	}
	if f.Result != "" {
		fmt.Fprintf(&b, "\nresult\n  %s\n", hanging(f.Result, 2))
	}
	if len(f.References) > 0 {
		b.WriteString("\nreferences\n")
	}
	for _, r := range f.References {
		fmt.Fprintf(&b, "  %s\n", hanging(r, 4))
	}
	_, err := fmt.Fprint(o.Stdout, b.String())
	return err
}

// textWidth is how wide running text is: as wide as most terminals.
const textWidth = 80

// hanging breaks a text that begins at a column into lines that fit, the
// others indented to that column.
func hanging(text string, column int) string {
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(text) {
		switch width := len([]rune(word)); {
		case i > 0 && at+1+width > textWidth:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		case i > 0:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len([]rune(word))
	}
	return b.String()
}

// terms say which values a parameter may have.
func (p paramFact) terms() []string {
	terms := []string{string(p.Type)}
	switch {
	case len(p.Choices) > 0:
		terms = append(terms, strings.Join(p.Choices, " | "))
	case p.Type != workloads.String && p.Max != 0:
		terms = append(terms, fmt.Sprintf("%s to %s", plainNumber(p.Min), plainNumber(p.Max)))
	case p.Type != workloads.String:
		terms = append(terms, "at least "+plainNumber(p.Min))
	}
	switch {
	case p.Required:
		return append(terms, "required")
	case p.Default != nil && p.Default != "":
		return append(terms, fmt.Sprintf("default %v", p.Default))
	}
	return append(terms, "optional")
}

// plainNumber writes a bound without an exponent.
func plainNumber(x float64) string {
	text := fmt.Sprintf("%f", x)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// values are written as an experiment file would have them.
func (s sizeFact) values() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		value := fmt.Sprint(s.Params[name])
		if text, ok := s.Params[name].(string); ok {
			value = fmt.Sprintf("%q", text)
		}
		all = append(all, name+" = "+value)
	}
	return strings.Join(all, ", ")
}
