package pyenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// Own looks at an environment that the user made: path is its directory (a
// virtual or conda environment) or its interpreter. It must have Python 3.11
// or later and be able to import dask and distributed, which Own tries; that
// takes about a second. Nothing is changed. Errors are usage errors and say
// what is missing. The environment's name is path, and it has no lock.
func (m *Manager) Own(ctx context.Context, path string) (Environment, error) {
	env, err := m.own(ctx, path)
	if err != nil && ctx.Err() == nil {
		err = hint.WithExit(err, hint.ExitUsage)
	}
	if err != nil {
		return Environment{}, fmt.Errorf("environment %s: %w", path, err)
	}
	return env, nil
}

func (m *Manager) own(ctx context.Context, path string) (Environment, error) {
	interpreter, err := m.ownInterpreter(path)
	if err != nil {
		return Environment{}, hint.With(err, "name the directory of a Python environment or its interpreter")
	}
	// The user's variables stay: PYTHONPATH may be how the environment works.
	f, err := probe(ctx, interpreter, m.Env, importLimit, "import", "dask", "distributed")
	if err != nil {
		return Environment{}, hint.With(fmt.Errorf("interpreter %s: %w", interpreter, err), "start "+interpreter+" by hand to see what is wrong with it")
	}
	if _, minor := f.minor(); minor < oldestMinor {
		return Environment{}, hint.With(fmt.Errorf("its Python %s is older than 3.%d", f.Version, oldestMinor),
			fmt.Sprintf("make the environment with Python 3.%d or later, or use %q", oldestMinor, Default))
	}
	if len(f.Missing) > 0 {
		var parts []string
		for _, module := range slices.Sorted(maps.Keys(f.Missing)) {
			parts = append(parts, fmt.Sprintf("%s cannot be imported (%s)", module, f.Missing[module]))
		}
		return Environment{}, hint.With(errors.New(strings.Join(parts, ", ")),
			"install Dask there: "+interpreter+" -m pip install dask distributed")
	}
	return Environment{Interpreter: interpreter, Environment: record.Environment{
		Name: path, Python: f.Version, Path: ownDir(path, interpreter), Packages: f.Packages,
	}}, nil
}

// ownInterpreter finds the interpreter that path means. Links are kept: a
// virtual environment's interpreter is a link to another one.
func (m *Manager) ownInterpreter(path string) (string, error) {
	if !strings.ContainsRune(path, filepath.Separator) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if found := m.programs(path); len(found) > 0 {
				return found[0], nil
			}
			return "", errors.New("neither a directory nor a program on PATH")
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return abs, nil
	}
	for _, name := range []string{"python", "python3"} {
		p := filepath.Join(abs, "bin", name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p, nil
		}
	}
	return "", fmt.Errorf("no bin/python in %s", abs)
}

// ownDir is the directory of the user's environment.
func ownDir(path, interpreter string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	return filepath.Dir(filepath.Dir(interpreter))
}
