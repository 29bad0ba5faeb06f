package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/internal/hint"
)

type doctorOptions struct {
	*globals
	Output string
	JSON   bool
}

func newDoctor(g *globals) *cobra.Command {
	o := doctorOptions{globals: g}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check what a run needs, and say how to mend it",
		Long: withExits(`
Check everything that a run on this machine needs: Python, environments,
directories, disk space, file locks, sockets, ports, what earlier runs left,
the terminal. Nothing is changed. A line begins with ok, note (works, but worth
knowing) or broken; what is broken has a line that says how to mend it.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched doctor\n  esched doctor --json",
		Args:    atMost(0),
		RunE:    func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Output, "output", "runs", "directory where runs are to be written")
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

// finding is the result of one check.
type finding struct {
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

func runDoctor(ctx context.Context, o doctorOptions) error {
	ctx, stop := o.interruptible(ctx)
	defer stop()
	var all []finding
	all = append(all, o.checkMachine())
	all = append(all, o.checkPython(ctx)...)
	all = append(all, o.checkDirectories()...)
	all = append(all, o.checkSockets(ctx)...)
	all = append(all, o.checkLeftovers(), o.checkTerminal())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	broken := 0
	for _, f := range all {
		if f.State == stateBroken {
			broken++
		}
	}
	if o.JSON {
		if err := printJSON(o.Stdout, all); err != nil {
			return err
		}
	} else if err := o.printFindings(all); err != nil {
		return err
	}
	if broken > 0 {
		return exitQuietly(hint.ExitError, fmt.Sprintf("%d checks broken", broken))
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
		if _, err := fmt.Fprintf(o.Stdout, "%s  %-20s %s\n", state, f.Check, f.Found); err != nil {
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

func (o doctorOptions) checkMachine() finding {
	f := finding{"machine", stateOK, fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), ""}
	if runtime.NumCPU() < 2 {
		f.State, f.Mend = stateNote, "run on a machine with two or more processors: scheduler and workers share one here"
	}
	return f
}

// checkPython looks at the environments; only when the default one has to be
// made first does it matter whether there is a Python to make it with.
func (o doctorOptions) checkPython(ctx context.Context) []finding {
	m := o.manager(nil)
	var all []finding
	needed := true
	states, err := m.Status(ctx)
	if err != nil {
		all = append(all, finding{"environments", stateBroken, err.Error(), "esched env"})
	}
	for _, s := range states {
		f := finding{Check: "environment", State: stateOK}
		switch s.State {
		case pyenv.StateOK:
			f.Found = fmt.Sprintf("%s: Python %s, Dask %s", s.Name, s.Python, s.Packages["dask"])
			needed = needed && s.Name != pyenv.Names()[0]
		case pyenv.StateAbsent:
			f.State, f.Found, f.Mend = stateNote, s.Name+": not made yet; the first run that needs it makes it", "esched env "+s.Name
		default:
			f.State, f.Found, f.Mend = stateNote, s.Name+": "+s.Reason, "esched env "+s.Name
		}
		all = append(all, f)
	}
	f := finding{Check: "python", State: stateOK}
	python, err := m.Find(ctx)
	if err == nil {
		f.Found = fmt.Sprintf("%s (%s)", python.Path, python.Version)
	} else {
		f.State, f.Found, f.Mend = stateNote, err.Error(), hint.Of(err)
		if needed {
			f.State = stateBroken
		}
	}
	return append([]finding{f}, all...)
}

// Space that a run needs: its logs and records, and the environments.
const (
	outputSpace = 200 << 20
	cacheSpace  = 2 << 30
)

func (o doctorOptions) checkDirectories() []finding {
	check := func(name, dir, option string, space int64) finding {
		at := o.existing(dir)
		if err := o.writable(at); err != nil {
			return finding{name, stateBroken, fmt.Sprintf("%s: %v", dir, err), option}
		}
		free, err := o.freeBytes(at)
		if err != nil {
			return finding{name, stateNote, err.Error(), ""}
		}
		found := fmt.Sprintf("%s: writable, %.1f GB free", dir, float64(free)/1e9)
		if free < space {
			return finding{name, stateBroken, found, fmt.Sprintf("free %.1f GB there, or %s", float64(space)/1e9, option)}
		}
		return finding{name, stateOK, found, ""}
	}
	all := []finding{
		check("runs directory", o.Output, "choose another directory with --output", outputSpace),
		check("cache directory", o.cacheDir(), "set XDG_CACHE_HOME to another directory", cacheSpace),
	}
	locks := finding{"file locks", stateOK, "work in " + o.Output, ""}
	if err := o.lockable(o.existing(o.Output)); err != nil {
		locks = finding{"file locks", stateNote, fmt.Sprintf("do not work in %s: %v", o.Output, err),
			"never resume a run that is going on elsewhere; esched cannot notice there"}
	}
	return append(all, locks)
}

// existing returns dir or the nearest directory above it that is there.
func (p Process) existing(dir string) string {
	dir = p.path(dir)
	for {
		if _, err := p.stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func (o doctorOptions) checkSockets(ctx context.Context) []finding {
	socket := finding{Check: "sockets", State: stateOK}
	dir, err := o.privateDir("esched")
	if err == nil {
		err = o.bindable(ctx, filepath.Join(dir, strings.Repeat("s", maxSocketPath-maxSocketDir-1)))
		socket.Found = "can be made in " + filepath.Dir(dir)
		_ = o.removeAll(dir) // it is empty, and in a directory for temporary files
	}
	if err != nil {
		socket.State, socket.Found, socket.Mend = stateBroken, err.Error(), "set TMPDIR to a directory with a short path that you can write to"
	}
	port := finding{"ports", stateOK, "free on 127.0.0.1", ""}
	if err := o.freePort(ctx); err != nil {
		port = finding{"ports", stateBroken, err.Error(), "allow listening on 127.0.0.1"}
	}
	return []finding{socket, port}
}

func (o doctorOptions) checkLeftovers() finding {
	runs, err := o.runDirs(o.Output)
	if err != nil {
		return finding{"earlier runs", stateBroken, err.Error(), hint.Of(err)}
	}
	left := 0
	for _, run := range runs {
		left += len(o.cleanRun(run, true))
	}
	if left > 0 {
		return finding{"earlier runs", stateNote, fmt.Sprintf("%d leftover(s) in %s", left, o.Output), "esched clean --output " + o.Output}
	}
	return finding{"earlier runs", stateOK, fmt.Sprintf("%d in %s, nothing left behind", len(runs), o.Output), ""}
}

func (o doctorOptions) checkTerminal() finding {
	if o.interactive() {
		return finding{"terminal", stateOK, "a run shows the dashboard", ""}
	}
	return finding{"terminal", stateOK, "not one here: a run writes plain lines", ""}
}
