package cmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/internal/hint"
)

func (o doctorOptions) checkMachine() finding {
	f := fine("machine", "%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
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
		all = append(all, broken("environments", "esched env", "%v", err))
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
		f.State, f.Found, f.Mend = stateNote, err.Error(), cmp.Or(hint.Of(err), "install Python 3.11, 3.12 or 3.13")
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
			return broken(name, option, "%s: %v", dir, err)
		}
		free, err := o.freeBytes(at)
		if err != nil {
			return noted(name, "see what this says: df "+at, "%v", err)
		}
		found := fmt.Sprintf("%s: writable, %.1f GB free", dir, float64(free)/1e9)
		if free < space {
			return broken(name, fmt.Sprintf("free %.1f GB there, or %s", float64(space)/1e9, option), "%s", found)
		}
		return fine(name, "%s", found)
	}
	all := []finding{
		check("runs directory", o.Output, "choose another directory with --output", outputSpace),
		check("cache directory", o.cacheDir(), "set XDG_CACHE_HOME to another directory", cacheSpace),
	}
	locks := fine("file locks", "work in %s", o.Output)
	if err := o.lockable(o.existing(o.Output)); err != nil {
		locks = noted("file locks", "never resume a run that is going on elsewhere; esched cannot notice there",
			"do not work in %s: %v", o.Output, err)
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
	port := fine("ports", "free on 127.0.0.1")
	if err := o.freePort(ctx); err != nil {
		port = broken("ports", "allow listening on 127.0.0.1", "%v", err)
	}
	return []finding{socket, port}
}

func (o doctorOptions) checkLeftovers() finding {
	runs, err := o.runDirs(o.Output)
	if err != nil {
		return broken("earlier runs", hint.Of(err), "%v", err)
	}
	left := 0
	for _, run := range runs {
		left += len(o.cleanRun(run, true))
	}
	notes, err := o.allRemains()
	if err != nil {
		return wrong("earlier runs", err, "")
	}
	entries, err := o.ledger().Entries()
	if err != nil {
		return wrong("earlier runs", err, "")
	}
	onNodes := len(over(notes, entries))
	if left+onNodes > 0 {
		text := fmt.Sprintf("%d leftover(s) in %s", left, o.Output)
		if onNodes > 0 {
			text += fmt.Sprintf(", %d on nodes", onNodes)
		}
		return noted("earlier runs", "esched clean --output "+o.Output, "%s", text)
	}
	return fine("earlier runs", "%d in %s, nothing left behind", len(runs), o.Output)
}

func (o doctorOptions) checkTerminal() finding {
	if o.interactive() {
		return fine("terminal", "a run shows the dashboard")
	}
	return fine("terminal", "not one here: a run writes plain lines")
}
