package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/workloads/presets"
)

// defaultFile is the experiment that commands take when none is named.
const defaultFile = "experiments.toml"

type initOptions struct {
	*globals
	File   string
	Preset string
	Force  bool
}

func newInit(g *globals) *cobra.Command {
	o := initOptions{globals: g}
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "write a commented experiments.toml to start from",
		Long: withExits(`
Write an experiment file that explains itself and runs as it is, to FILE
(default: experiments.toml). A file that is there already is kept unless --force
is given.`, hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched init\n  esched init my.toml\n  esched init --force",
		Args:    atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.File = defaultFile
			if len(args) > 0 {
				o.File = args[0]
			}
			return runInit(o)
		},
	}
	c.Flags().StringVar(&o.Preset, "preset", presets.DefaultName, "ready-made experiment: "+strings.Join(presets.Names(), ", "))
	c.Flags().BoolVar(&o.Force, "force", false, "replace a file that is there")
	return c
}

func runInit(o initOptions) error {
	text, err := presets.Get(o.Preset)
	if err != nil {
		return err
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
	file := ""
	if o.File != defaultFile {
		file = " " + o.File
	}
	_, err = fmt.Fprintf(o.Stdout, "wrote %s\nnext: esched plan%s shows what it will run, esched run%s runs it\n", o.File, file, file)
	return err
}
