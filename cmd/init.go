package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/workloads/presets"
)

// defaultFile is the experiment that commands take when none is named.
const defaultFile = "experiments.toml"

type initOptions struct {
	*globals
	File    string
	Preset  string
	Cluster string
	Force   bool
	List    bool
	JSON    bool
}

func newInit(g *globals) *cobra.Command {
	o := initOptions{globals: g}
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "write a commented experiments.toml to start from",
		Long: withExits(`
Write an experiment file that explains itself and runs as it is, to FILE
(default: experiments.toml). A file that is there already is kept unless --force
is given.

Presets are ready-made experiments. They need not be written to a file to be
run: "esched run @NAME" and "esched plan @NAME" take them as they are.

With --cluster the experiment runs on that cluster of the preset, whose table
comes first among the clusters.`, hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched init\n  esched init my.toml\n  esched init --cluster das6\n  esched init --force\n  esched init --list\n  esched init --preset montecarlo-nodes nodes.toml",
		Args:    atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.List {
				return runPresets(o)
			}
			o.File = defaultFile
			if len(args) > 0 {
				o.File = args[0]
			}
			return runInit(o)
		},
	}
	c.Flags().StringVar(&o.Preset, "preset", presets.DefaultName, "ready-made experiment, one of --list")
	c.Flags().StringVar(&o.Cluster, "cluster", "", "cluster on which the experiment is to run, one of the preset's")
	c.Flags().BoolVar(&o.List, "list", false, "list the ready-made experiments, write nothing")
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	c.Flags().BoolVar(&o.Force, "force", false, "replace a file that is there")
	return c
}

// writtenExperiment is what init --json prints; Cluster is "" for the preset's own.
type writtenExperiment struct {
	File    string `json:"file"`
	Preset  string `json:"preset"`
	Cluster string `json:"cluster,omitempty"`
}

// presetFact is a preset in init --list --json.
type presetFact struct {
	Name    string `json:"name"`
	Figures string `json:"figures,omitempty"`
	Doc     string `json:"doc"`
}

func runInit(o initOptions) error {
	text, err := presets.Get(o.Preset)
	if err != nil {
		return err
	}
	if o.Cluster != "" {
		if text, err = o.putFirst(text, o.Cluster); err != nil {
			return err
		}
	}
	if o.Force {
		err = o.replaceFile(o.File, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	} else {
		err = o.createFile(o.File, text)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return usageError("name another file, or replace this one with --force", "%s exists already", o.File)
	case err != nil:
		return hint.With(fmt.Errorf("experiment file: %w", err), "name a file in a directory that you can write to")
	}
	if o.JSON {
		return printJSON(o.Stdout, writtenExperiment{o.File, o.Preset, o.Cluster})
	}
	file := ""
	if o.File != defaultFile {
		file = " " + o.File
	}
	_, err = fmt.Fprintf(o.Stdout, "wrote %s\nnext: esched plan%s shows what it will run, esched run%s runs it\n", o.File, file, file)
	return err
}

// runPresets lists the presets.
func runPresets(o initOptions) error {
	if o.JSON {
		var all []presetFact
		for _, p := range presets.All() {
			all = append(all, presetFact{p.Name, p.Figures, p.Doc})
		}
		return printJSON(o.Stdout, all)
	}
	t := table{head: []string{"NAME", "FIGURES", "WHAT"}}
	for _, p := range presets.All() {
		figures := p.Figures
		if figures == "" {
			figures = "-"
		}
		t.add(p.Name, figures, p.Doc)
	}
	if err := t.print(o.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprint(o.Stdout, "\nFIGURES are those of the lab report that a preset repeats.\n")
	return err
}
