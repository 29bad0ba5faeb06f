package pyenv

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

// The Python versions 3.x that the locks have wheels for. A user's own
// environment may be newer.
const (
	oldestMinor = 11
	newestMinor = 13
)

// chooseHint is what to do about an interpreter that was named and is not one.
const chooseHint = "name a Python 3.11, 3.12 or 3.13 interpreter"

//go:embed probe.py
var probeSource string

// facts is what an interpreter says about itself.
type facts struct {
	Version        string            `json:"version"`
	Executable     string            `json:"executable"`
	Implementation string            `json:"implementation"`
	FreeThreaded   bool              `json:"free_threaded"`
	Packages       map[string]string `json:"packages"`
	Missing        map[string]string `json:"missing"`
}

// minor splits "3.11.7" into "3.11" and 11. Python 2 and what cannot be read
// are minor 0 and less.
func (f facts) minor() (string, int) {
	parts := strings.SplitN(f.Version, ".", 3)
	if len(parts) < 2 {
		return f.Version, -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || parts[0] != "3" {
		n = -1
	}
	return parts[0] + "." + parts[1], n
}

// probe asks an interpreter about itself; see probe.py for the modes.
func probe(ctx context.Context, python string, env []string, limit time.Duration, mode string, modules ...string) (facts, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, python, append([]string{"-c", probeSource, mode}, modules...)...)
	// Python puts the working directory on its path: let it be one without
	// modules.
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", env, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return facts{}, ended(ctx)
	}
	if err != nil {
		if said := lastLine(stderr.Bytes()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return facts{}, err
	}
	var f facts
	if err := json.Unmarshal([]byte(lastLine(out)), &f); err != nil {
		return facts{}, errors.New("not a Python interpreter")
	}
	packages := make(map[string]string, len(f.Packages))
	for name, version := range f.Packages {
		packages[normal(name)] = version
	}
	f.Packages = packages
	return f, nil
}

func lastLine(b []byte) string {
	s := strings.TrimSpace(string(b))
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// python is an interpreter that environments can be created with.
type python struct {
	path    string
	minor   string // "3.11"
	version string
}

// findPython returns the first interpreter that can create environments:
// python3.11 to the newest the locks know, python3, python, and what uv
// manages. uv is its path, or empty where the interpreter must be able to make
// environments by itself.
func (m *Manager) findPython(ctx context.Context, uv string) (python, error) {
	if m.Python != "" {
		path, err := m.ownInterpreter(m.Python)
		if err != nil {
			return python{}, hint.With(fmt.Errorf("interpreter %s: %w", m.Python, err), chooseHint)
		}
		p, why := m.tryPython(ctx, path, uv)
		if ctx.Err() != nil {
			return python{}, ended(ctx)
		}
		if why != "" {
			return python{}, hint.With(fmt.Errorf("interpreter %s %s", m.Python, why), chooseHint)
		}
		return p, nil
	}
	var rejected []string
	for _, path := range m.candidates(ctx, uv) {
		p, why := m.tryPython(ctx, path, uv)
		if ctx.Err() != nil {
			return python{}, ended(ctx)
		}
		if why == "" {
			return p, nil
		}
		rejected = append(rejected, path+" "+why)
	}
	return python{}, noPython(rejected, uv)
}

// candidates lists the interpreters to try, the preferred ones first.
func (m *Manager) candidates(ctx context.Context, uv string) []string {
	var names []string
	for n := oldestMinor; n <= newestMinor+1; n++ { // one more, to be able to say that it is too new
		names = append(names, fmt.Sprintf("python3.%d", n))
	}
	var paths, seen []string
	for _, name := range append(names, "python3", "python") {
		for _, p := range m.programs(name) {
			real, err := filepath.EvalSymlinks(p)
			if err != nil || slices.Contains(seen, real) {
				continue
			}
			// Links to a version switcher all lead to the same program, which acts
			// by the name it is called by: those are not the same interpreter.
			if strings.HasPrefix(filepath.Base(real), "python") {
				seen = append(seen, real)
			}
			paths = append(paths, p)
		}
	}
	if uv == "" {
		return paths
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, uv, "python", "find", "--no-python-downloads", "--managed-python",
		fmt.Sprintf(">=3.%d,<3.%d", oldestMinor, newestMinor+1))
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", m.isolated(), time.Second
	if out, err := cmd.Output(); err == nil && len(out) > 0 { // an error means that uv manages none
		paths = append(paths, lastLine(out))
	}
	return paths
}

// tryPython returns an interpreter or why it cannot be used.
func (m *Manager) tryPython(ctx context.Context, path, uv string) (python, string) {
	var needs []string
	if uv == "" {
		needs = []string{"venv", "ensurepip"}
	}
	f, err := probe(ctx, path, m.isolated(), probeLimit, "find", needs...)
	if err != nil {
		return python{}, fmt.Sprintf("does not run (%v)", err)
	}
	name, minor := f.minor()
	switch {
	case minor < oldestMinor:
		return python{}, fmt.Sprintf("is %s (too old)", f.Version)
	case minor > newestMinor:
		return python{}, fmt.Sprintf("is %s (too new: the pinned packages have no wheels for it)", f.Version)
	case f.Implementation != "cpython":
		return python{}, fmt.Sprintf("is %s, not CPython", f.Implementation)
	case f.FreeThreaded:
		return python{}, "is a free-threaded build"
	case len(f.Missing) > 0:
		return python{}, fmt.Sprintf("is %s without its venv and ensurepip modules", f.Version)
	}
	// What the interpreter calls itself is more lasting than the shim or link
	// that led to it.
	if filepath.IsAbs(f.Executable) {
		path = f.Executable
	}
	return python{path: path, minor: name, version: f.Version}, ""
}

// noPython tells what was found instead of a Python, and what to install.
func noPython(rejected []string, uv string) error {
	err := fmt.Errorf("no Python 3.%d to 3.%d on PATH", oldestMinor, newestMinor)
	if len(rejected) > 0 {
		err = fmt.Errorf("no usable Python 3.%d to 3.%d: %s", oldestMinor, newestMinor, strings.Join(rejected, "; "))
	}
	mend := "install Python 3.11, 3.12 or 3.13 (Debian and Ubuntu: apt install python3 python3-venv; clusters: module load python)"
	if uv != "" {
		mend = "run: uv python install 3.11"
	}
	return hint.With(err, mend)
}
