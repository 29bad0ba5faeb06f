package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
)

type doctorOptions struct {
	*globals
	selection
	Output  string
	Nodes   string
	Reserve bool
	JSON    bool
}

func newDoctor(g *globals) *cobra.Command {
	o := doctorOptions{globals: g}
	c := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "check what a run needs, and say how to mend it",
		Long: withExits(`
Check everything that a run on this machine needs: Python, environments,
directories, disk space, file locks, sockets, ports, what earlier runs left,
the terminal. Nothing is changed. A line begins with ok, note (works, but worth
knowing) or broken; what is not ok has a line that says what to do about it.

If the experiment in FILE (default: experiments.toml, if it is there) runs on
another cluster than this machine, or --cluster names one of its clusters, that
is checked, too: the queue's commands and its answers, the site's hours, whether
the reservation of the experiment would be accepted, the configuration, keys and
known hosts for ssh, and start-up files of the shell that print something.

Nodes are only looked at within a reservation of your own: one that an earlier
run left and that still runs, or one that --reserve makes for some minutes and
gives back. Of a cluster without a queue --nodes names them. There the login,
esched's binary, scratch space, the environment's Python, the network and the
clock are checked; otherwise the last line says that they were not.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage, hint.ExitInterrupted),
		Example: "  esched doctor\n  esched doctor --json\n  esched doctor --cluster das6\n  esched doctor --cluster slurm --reserve\n" +
			"  esched doctor mine.toml --cluster static --nodes node[001-002]",
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.File = args[0]
			}
			return runDoctor(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Cluster, "cluster", "", "cluster to check, one of the experiment's")
	f.StringVar(&o.Env, "env", "", "Python environment, a name or a path, instead of the experiment's")
	f.BoolVar(&o.Reserve, "reserve", false, "reserve a node of the cluster for some minutes and look at it")
	f.StringVar(&o.Nodes, "nodes", "", "look at these hosts of a static cluster: 'node[001-002]'")
	f.StringVar(&o.Output, "output", "runs", "directory where runs are to be written")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

// finding is the result of one check, of a node when Node is not empty.
type finding struct {
	Node  string `json:"node,omitempty"`
	Check string `json:"check"`
	State string `json:"state"` // "ok", "note", "broken"
	Found string `json:"found"`
	Mend  string `json:"mend,omitempty"`
}

const (
	stateOK     = "ok"
	stateNote   = "note"
	stateBroken = "broken"
)

func fine(check, format string, values ...any) finding {
	return finding{Check: check, State: stateOK, Found: oneLine(fmt.Sprintf(format, values...))}
}

func noted(check, mend, format string, values ...any) finding {
	return finding{Check: check, State: stateNote, Found: oneLine(fmt.Sprintf(format, values...)), Mend: mend}
}

func broken(check, mend, format string, values ...any) finding {
	return finding{Check: check, State: stateBroken, Found: oneLine(fmt.Sprintf(format, values...)), Mend: mend}
}

// wrong is the finding of an error, which may carry its own mend.
func wrong(check string, err error, otherwise string) finding {
	mend := hint.Of(err)
	if mend == "" {
		mend = otherwise
	}
	return broken(check, mend, "%v", err)
}

// oneLine fits text, such as the error of a process with its log, into a line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func runDoctor(ctx context.Context, o doctorOptions) error {
	ctx, stop := o.interruptible(ctx)
	defer stop()
	var all []finding
	cluster, err := o.clusterToCheck()
	switch {
	case err != nil && o.File+o.Cluster+o.Nodes == "" && !o.Reserve: // the machine can be checked all the same
		all = append(all, wrong("experiment", err, "esched plan"))
	case err != nil:
		return err
	case cluster != nil && cluster.implied:
		all = append(all, fine("experiment", "%s runs on cluster %s, which is checked, too", defaultFile, cluster.cluster.Name))
	}
	all = append(all, o.checkMachine())
	all = append(all, o.checkPython(ctx)...)
	all = append(all, o.checkDirectories()...)
	all = append(all, o.checkSockets(ctx)...)
	all = append(all, o.checkLeftovers(), o.checkTerminal())
	if cluster != nil {
		all = append(all, cluster.check(ctx)...)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	bad := 0
	for _, f := range all {
		if f.State == stateBroken {
			bad++
		}
	}
	if o.JSON {
		if err := printJSON(o.Stdout, all); err != nil {
			return err
		}
	} else if err := o.printFindings(all); err != nil {
		return err
	}
	if bad > 0 {
		return exitQuietly(hint.ExitError, fmt.Sprintf("%d checks broken", bad))
	}
	return nil
}

func (o doctorOptions) printFindings(all []finding) error {
	color := map[string]string{stateOK: "32", stateNote: "33", stateBroken: "31"}
	for _, f := range all {
		state := fmt.Sprintf("%-6s", f.State)
		if o.colored() {
			state = "\x1b[" + color[f.State] + "m" + state + "\x1b[0m"
		}
		check := strings.TrimSpace(f.Node + " " + f.Check)
		if _, err := fmt.Fprintf(o.Stdout, "%s  %-20s %s\n", state, check, f.Found); err != nil {
			return err
		}
		if f.Mend != "" {
			if _, err := fmt.Fprintf(o.Stdout, "        %-20s Try: %s\n", "", f.Mend); err != nil {
				return err
			}
		}
	}
	return nil
}
