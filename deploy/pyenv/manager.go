package pyenv

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/esched/esched/runners/record"
)

// Manager creates, checks and repairs the environments in one cache
// directory. Its methods may be called from several goroutines and from
// several processes that share the directory.
type Manager struct {
	// CacheDir is the user's cache directory; the environments are in
	// esched/envs below it. It must be absolute. Required.
	CacheDir string
	// Env is the environment of the programs started, "K=V"; PATH in it says
	// where Python and uv are looked for. Required.
	Env []string
	// Python is the interpreter to create environments with, a path or a program
	// on PATH; empty means the first on PATH that fits. Optional.
	Python string
	// Progress, when set, is told in short lines what happens during the
	// seconds to minutes that creating takes. It must not block. Optional.
	Progress func(string)
	// LockWait bounds the wait for another process that creates the same
	// environment; 0 means 20 minutes. Optional.
	LockWait time.Duration
	// Locks replaces the locks of the binary: NAME.txt and NAME.in. Optional.
	Locks fs.FS
}

// Environment is an environment that can be used.
type Environment struct {
	record.Environment
	// Interpreter is the path of its Python interpreter.
	Interpreter string
}

// Time limits. Creating an environment downloads some 400 MB, which a slow
// line does in minutes; looking at one starts an interpreter, which a cold
// network file system can make slow.
const (
	installLimit    = 45 * time.Minute
	probeLimit      = time.Minute
	importLimit     = 2 * time.Minute
	defaultLockWait = 20 * time.Minute
	lockPoll        = 100 * time.Millisecond
	killGrace       = 5 * time.Second
)

// interruption is the cause for which a context was cancelled. It counts as
// context.Canceled even when the cause is a signal and does not.
type interruption struct{ error }

func (i interruption) Unwrap() error        { return i.error }
func (i interruption) Is(target error) bool { return target == context.Canceled }

// ended says why ctx is done.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return interruption{cause}
	}
	return cause
}

func (m *Manager) locks() fs.FS {
	if m.Locks != nil {
		return m.Locks
	}
	return locks()
}

// root is the directory with all environments.
func (m *Manager) root() string { return filepath.Join(m.CacheDir, "esched", "envs") }

// dir is the directory of an environment made from a lock with a Python
// ("3.11"). A changed lock is another environment, so that a newer esched
// takes nothing away from runs of an older one.
func (m *Manager) dir(l Lockfile, minor string) string {
	return filepath.Join(m.root(), l.Name+"-"+l.Hash[:12]+"-py"+minor)
}

func (m *Manager) progress(name, text string) {
	if m.Progress != nil {
		m.Progress("environment " + name + ": " + text)
	}
}

// lookEnv returns a variable of m.Env; the last definition counts.
func (m *Manager) lookEnv(key string) string {
	for i := len(m.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(m.Env[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// programs lists the executable files of that name on PATH, in its order.
func (m *Manager) programs(name string) []string {
	var found []string
	for _, dir := range filepath.SplitList(m.lookEnv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // "." on PATH must not choose an interpreter
		}
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			found = append(found, p)
		}
	}
	return found
}

// uv returns the path of uv, or "" if it is not on PATH.
func (m *Manager) uv() string {
	if found := m.programs("uv"); len(found) > 0 {
		return found[0]
	}
	return ""
}

// isolated is m.Env without what would make Python or an installer look at, or
// install to, another place than the environment.
func (m *Manager) isolated() []string {
	drop := map[string]bool{
		"VIRTUAL_ENV": true, "CONDA_PREFIX": true, "__PYVENV_LAUNCHER__": true,
		"PIP_TARGET": true, "PIP_PREFIX": true, "PIP_ROOT": true, "PIP_PYTHON": true, "PIP_DRY_RUN": true,
		"PIP_CONSTRAINT": true, "PIP_REQUIREMENT": true, "PIP_NO_BINARY": true, "PIP_QUIET": true, "PIP_LOG": true,
		"UV_CONSTRAINT": true, "UV_OVERRIDE": true, "UV_NO_BINARY": true, "UV_PYTHON": true,
		"UV_PROJECT_ENVIRONMENT": true, "UV_SYSTEM_PYTHON": true,
	}
	var env []string
	for _, kv := range m.Env {
		key, _, _ := strings.Cut(kv, "=")
		if !drop[key] && !strings.HasPrefix(key, "PYTHON") {
			env = append(env, kv)
		}
	}
	return append(env, "PYTHONNOUSERSITE=1", "PIP_USER=0", "PIP_REQUIRE_VIRTUALENV=0", "PIP_NO_INPUT=1",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_PROGRESS_BAR=off", "UV_NO_PROGRESS=1", "NO_COLOR=1", "LC_ALL=C.UTF-8")
}
