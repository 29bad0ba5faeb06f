package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/term"
)

// globals are the options that every command has.
type globals struct {
	Process
	programs
	NoInput bool
	NoColor bool
}

// interactive tells whether a person sits in front of this command and can be
// shown a full-screen dashboard.
func (g *globals) interactive() bool {
	return g.StdinTerminal && g.StdoutTerminal && !g.NoInput && !term.Dumb(g.LookupEnv)
}

// colored tells whether standard output may carry colours.
func (g *globals) colored() bool {
	return g.StdoutTerminal && !g.NoColor && term.Color(g.LookupEnv)
}

// quiet is an exit code for a reason that was shown already.
type quiet struct{ reason string }

func (q quiet) Error() string { return q.reason }

// exitQuietly returns an error that sets the exit code and prints nothing.
func exitQuietly(code int, reason string) error {
	return hint.WithExit(quiet{reason}, code)
}

// usageError is a mistake on the command line.
func usageError(mend, format string, args ...any) error {
	return hint.Usage(fmt.Errorf(format, args...), mend)
}

// Main executes the command line of p and returns the exit code. It prints an
// error once, to standard error.
func Main(p Process) int { return execute(p, builtin()) }

func execute(p Process, w programs) int {
	root := newRoot(&globals{Process: p, programs: w})
	root.SetArgs(p.Args)
	err := mendOutput(root.ExecuteContext(context.Background()))
	if err != nil {
		printError(p, err)
	}
	return hint.Exit(err)
}

// mendOutput adds what to do when standard output took no more: no command knows
// where it goes.
func mendOutput(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "write" && e.Path == stdoutName && hint.Of(err) == "" {
		return hint.With(err, "free space where standard output goes, or send it elsewhere")
	}
	return err
}

func printError(p Process, err error) {
	if _, ok := errors.AsType[quiet](err); ok {
		return
	}
	fmt.Fprintf(p.Stderr, "esched: %s\n", strings.TrimRight(err.Error(), "\n"))
	if mend := hint.Of(err); mend != "" {
		fmt.Fprintf(p.Stderr, "Try: %s\n", mend)
	}
}

// The groups of commands, in the order in which --help shows them.
const (
	groupRun   = "run"
	groupSetup = "setup"
	groupParts = "parts"
)

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "esched",
		Short: "run scheduling experiments on Dask clusters",
		Long: withExits(`
esched runs workloads on Dask under different schedulers and policies, and
reports what each of them costs and gains.

Write experiments.toml (esched init), look at the plan (esched plan), run it
(esched run), open the report.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitTrials, hint.ExitNoNodes, hint.ExitThreshold, hint.ExitInterrupted),
		Example: `  esched init
  esched plan
  esched run
  esched report runs/2026-01-31T10-04-12-overhead --markdown`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return c.Help()
		},
	}
	root.SetIn(g.Stdin)
	root.SetOut(g.Stdout)
	root.SetErr(g.Stderr)
	root.PersistentFlags().BoolVar(&g.NoInput, "no-input", false, "never ask, never read the keyboard")
	root.PersistentFlags().BoolVar(&g.NoColor, "no-color", false, "no colours (as does NO_COLOR)")
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Experiments:"},
		&cobra.Group{ID: groupSetup, Title: "Setting up and mending:"},
		&cobra.Group{ID: groupParts, Title: "Parts on their own:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupSetup, newDoctor(g), newEnv(g), newClean(g), newCompletion(g), newVersion(g))
	add(groupRun, newInit(g), newPlan(g), newRun(g), newWatch(g), newStatus(g), newReport(g), newCompare(g), newBundle(g))
	add(groupParts, newPolicies(g), newWorkloads(g), newData(g), newServe(g), newPreload(g))
	root.AddCommand(newGuard(g))
	g.completeValues(root)
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true}) // --help is enough
	root.CompletionOptions.DisableDefaultCmd = true                   // we have our own
	root.SetFlagErrorFunc(unknownFlag)
	root.SetUsageTemplate(usageTemplate)
	return root
}

func unknownCommand(root *cobra.Command, name string) error {
	mend := "esched --help"
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if near := nearest(name, names); near != "" {
		mend = "esched " + near
	}
	return usageError(mend, "unknown command %q", name)
}

// unknownFlag turns pflag's messages into ours, with the nearest flag.
func unknownFlag(c *cobra.Command, err error) error {
	mend := c.CommandPath() + " --help"
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok && len(missing.GetSpecifiedName()) > 1 {
		if missing.GetSpecifiedName() == "version" {
			mend = "esched version"
		} else if near := nearest(missing.GetSpecifiedName(), flagNames(c)); near != "" {
			mend = c.CommandPath() + " --" + near
		}
	}
	return usageError(mend, "%w", err)
}

func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// atMost and exactly check the number of arguments of a command.
func atMost(n int) cobra.PositionalArgs { return between(0, n) }

func between(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(c.CommandPath()+" --help", "%s: %d argument(s) given, at least %d needed (%s)",
				c.CommandPath(), len(args), least, c.Use)
		case len(args) > most:
			return usageError(c.CommandPath()+" --help", "%s: unexpected argument %q", c.CommandPath(), args[most])
		}
		return nil
	}
}
