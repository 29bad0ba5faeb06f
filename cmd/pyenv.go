package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/internal/hint"
)

type envOptions struct {
	*globals
	List bool
	JSON bool
}

func newEnv(g *globals) *cobra.Command {
	o := envOptions{globals: g}
	c := &cobra.Command{
		Use:   "env [NAME|PATH]",
		Short: "create or verify a Python environment",
		Long: withExits(`
Make sure that a Python environment is there and complete. A NAME (default:
"default") is one of the pinned environments, created in the cache directory
when it is missing; a PATH is an environment of your own, which is only looked
at. "esched run" does the same before it starts.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitInterrupted),
		Example: "  esched env\n  esched env dask-2024.5\n  esched env ~/venvs/mine\n  esched env --list",
		Args:    atMost(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return pyenv.Names(), cobra.ShellCompDirectiveKeepOrder
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.List {
				return runEnvList(c.Context(), o)
			}
			name := "default"
			if len(args) > 0 {
				name = args[0]
			}
			return runEnv(c.Context(), o, name)
		},
	}
	c.Flags().BoolVar(&o.List, "list", false, "list the pinned environments and their state, change nothing")
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

// manager returns the keeper of Python environments.
func (g *globals) manager(progress func(string)) *pyenv.Manager {
	return &pyenv.Manager{CacheDir: g.cacheDir(), Env: g.Environ(), Progress: progress}
}

// environment finds the environment that a name or path means, and creates it
// when it is a pinned one that is missing.
func (g *globals) environment(ctx context.Context, name string, progress func(string)) (pyenv.Environment, error) {
	m := g.manager(progress)
	if strings.ContainsRune(name, '/') {
		if rest, ok := strings.CutPrefix(name, "~/"); ok && g.Home != "" {
			name = g.Home + "/" + rest
		}
		return m.Own(ctx, g.path(name))
	}
	return m.Ensure(ctx, name)
}

func runEnv(ctx context.Context, o envOptions, name string) error {
	ctx, stop := o.interruptible(ctx)
	defer stop()
	e, err := o.environment(ctx, name, func(text string) { fmt.Fprintln(o.Stderr, text) })
	if err != nil {
		return interruptedOr(ctx, err)
	}
	if o.JSON {
		return printJSON(o.Stdout, e.Environment)
	}
	_, err = fmt.Fprintf(o.Stdout, "%s ready: Python %s, Dask %s, %d packages\n%s\n",
		e.Name, e.Python, e.Packages["dask"], len(e.Packages), e.Interpreter)
	return err
}

func runEnvList(ctx context.Context, o envOptions) error {
	all, err := o.manager(nil).Status(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return printJSON(o.Stdout, all)
	}
	t := table{head: []string{"NAME", "STATE", "PATH"}}
	for _, s := range all {
		path := s.Path
		if path == "" {
			path = "-"
		}
		t.add(s.Name, string(s.State), path)
	}
	return t.print(o.Stdout)
}

// interruptible returns a context that the first request to stop cancels.
func (g *globals) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, release := g.Signals()
	done := make(chan struct{})
	go func() {
		select {
		case name := <-signals:
			cancel(stoppedBy(name))
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		release()
		cancel(nil)
	}
}

// stoppedBy is the error of a command that a signal ended.
func stoppedBy(signal string) error {
	return hint.WithExit(fmt.Errorf("interrupted by %s", signal), hint.ExitInterrupted)
}

// interruptedOr returns the cause of ctx when it is done, err otherwise.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
