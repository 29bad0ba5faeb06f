package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/workloads"
)

type dataOptions struct {
	*globals
	Dir    string
	Env    string
	Status bool
	JSON   bool
}

func newData(g *globals) *cobra.Command {
	o := &dataOptions{globals: g}
	c := &cobra.Command{
		Use:   "data",
		Short: "obtain the data that workloads read",
		Long: withExits(`
List the data sets that workloads read, and what of each is there. With the name
of a data set, obtain it: download, copy or generate what is missing. Each has
options of its own: "esched data NAME --help" tells them.

Data sets are kept below one directory, by default esched/data in the cache
directory, where "esched run" looks for them. The key data of an experiment file
names another one. On a cluster it must be the same on all nodes.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitInterrupted),
		Example: "  esched data\n  esched data --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownData(g, args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error { return runDataList(c.Context(), o) },
	}
	o.addFlags(c.PersistentFlags())
	c.AddGroup(&cobra.Group{ID: groupParts, Title: "Data sets:"})
	for _, p := range g.data {
		c.AddCommand(newDataSet(o, p))
	}
	return c
}

func (o *dataOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Dir, "dir", "", "directory with the data sets, instead of the one in the cache directory")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
}

func unknownData(g *globals, name string) error {
	var names []string
	for _, p := range g.data {
		names = append(names, p.Name)
	}
	mend := "esched data lists the data sets"
	if near := nearest(name, names); near != "" {
		mend = "esched data " + near
	}
	return usageError(mend, "unknown data set %q", name)
}

// newDataSet is the command that obtains one data set; the provider's options
// are its flags.
func newDataSet(o *dataOptions, p workloads.Provider) *cobra.Command {
	values := map[string]func() (any, bool){}
	c := &cobra.Command{
		Use:     p.Name,
		Short:   p.Doc,
		Long:    withExits("\n"+strings.TrimSpace(p.Describe), hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitInterrupted),
		Example: fmt.Sprintf("  esched data %s\n  esched data %s --status", p.Name, p.Name),
		GroupID: groupParts,
		Args:    atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			options := map[string]any{}
			for _, param := range p.Params {
				value, given := values[param.Name]()
				if !given {
					continue
				}
				if err := param.Accept(value); err != nil {
					return usageError("esched data "+p.Name+" --help", "--%s: %w", flagName(param), err)
				}
				if text, ok := value.(string); ok && param.File && value != param.Default && text != "" && !strings.Contains(text, "://") {
					value = o.path(text)
				}
				options[param.Name] = value
			}
			return runData(c.Context(), o, p, options)
		},
	}
	c.Flags().BoolVar(&o.Status, "status", false, "only tell whether it is there")
	c.Flags().StringVar(&o.Env, "env", "default", "Python environment that generates data, a name or a path")
	for _, param := range p.Params {
		values[param.Name] = paramFlag(c.Flags(), param)
	}
	return c
}

// flagName is the flag of an option: "task_ms" is --task-ms.
func flagName(p workloads.Param) string { return strings.ReplaceAll(p.Name, "_", "-") }

// paramFlag makes a flag of an option and returns what reads it: the value, or
// false when there is neither a flag nor a default.
func paramFlag(f *pflag.FlagSet, p workloads.Param) func() (any, bool) {
	name := flagName(p)
	doc := p.Doc
	if len(p.Choices) > 0 {
		doc += ": " + strings.Join(p.Choices, ", ")
	}
	given := func() bool { return p.Default != nil || f.Changed(name) }
	switch p.Type {
	case workloads.Int:
		fallback, _ := p.Default.(int64) // 0 without a default
		v := f.Int64(name, fallback, doc)
		return func() (any, bool) { return *v, given() }
	case workloads.Float:
		fallback, _ := p.Default.(float64)
		v := f.Float64(name, fallback, doc)
		return func() (any, bool) { return *v, given() }
	}
	fallback, _ := p.Default.(string)
	v := f.String(name, fallback, doc)
	return func() (any, bool) { return *v, given() }
}

// dataRoot is the directory with the data sets: the one named, or the one in
// the cache directory.
func (p Process) dataRoot(named string) string {
	if rest, ok := strings.CutPrefix(named, "~/"); ok && p.Home != "" {
		return filepath.Join(p.Home, rest)
	}
	if named != "" {
		return p.path(named)
	}
	return filepath.Join(p.cacheDir(), "esched", "data")
}

// dataFact is what data --json prints of a data set.
type dataFact struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	workloads.DataStatus
}

func runDataList(ctx context.Context, o *dataOptions) error {
	ctx, stop := o.interruptible(ctx)
	defer stop()
	root := o.dataRoot(o.Dir)
	facts := []dataFact{}
	for _, p := range o.data {
		status, err := p.Status(ctx, filepath.Join(root, p.Name), p.Defaults())
		if err != nil {
			return interruptedOr(ctx, fmt.Errorf("data set %s: %w", p.Name, err))
		}
		facts = append(facts, dataFact{p.Name, p.Doc, status})
	}
	if o.JSON {
		return printJSON(o.Stdout, facts)
	}
	t := table{head: []string{"NAME", "THERE", "WHAT", "DETAIL"}}
	for _, f := range facts {
		t.add(f.Name, yesNo(f.Present), f.Doc, f.Detail)
	}
	if err := t.print(o.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.Stdout, "\nin %s\n", root)
	return err
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func runData(ctx context.Context, o *dataOptions, p workloads.Provider, options map[string]any) error {
	ctx, stop := o.interruptible(ctx)
	defer stop()
	dir := filepath.Join(o.dataRoot(o.Dir), p.Name)
	if !o.Status {
		lines := &progressLines{w: o.Stderr, redraw: o.StderrTerminal && !o.NoInput}
		err := o.obtain(ctx, p, dir, options, o.Env, lines.show)
		lines.end()
		if err != nil {
			return interruptedOr(ctx, err)
		}
	}
	status, err := p.Status(ctx, dir, options)
	if err != nil {
		return interruptedOr(ctx, fmt.Errorf("data set %s: %w", p.Name, err))
	}
	if o.JSON {
		err = printJSON(o.Stdout, dataFact{p.Name, p.Doc, status})
	} else {
		state := "there"
		if !status.Present {
			state = "not there"
		}
		_, err = fmt.Fprintf(o.Stdout, "%s is %s: %s\n%s\n", p.Name, state, status.Detail, status.Path)
	}
	if err == nil && !status.Present && o.Status {
		return exitQuietly(hint.ExitError, p.Name+" is not there")
	}
	return err
}
