package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/esched/esched/internal/hint"
)

// Ensure returns the environment of that name, creating it first if it is
// absent and making it anew if it is broken. When it is there and unharmed,
// Ensure only verifies it. Of several callers, in this process or another,
// one creates and the others wait, at most m.LockWait.
//
// When ctx is done, the installer and its children are ended and the next
// call starts again; what was downloaded is kept in the installer's cache.
func (m *Manager) Ensure(ctx context.Context, name string) (Environment, error) {
	l, err := readLock(m.locks(), name)
	if err != nil {
		return Environment{}, err
	}
	env, err := m.verify(ctx, l)
	if err == nil {
		return env, nil
	}
	if ctx.Err() == nil {
		env, err = m.create(ctx, l)
	}
	if err != nil {
		return Environment{}, fmt.Errorf("environment %s: %w", name, err)
	}
	return env, nil
}

// create makes the environment unless another process does first.
func (m *Manager) create(ctx context.Context, l Lockfile) (Environment, error) {
	if !filepath.IsAbs(m.CacheDir) {
		return Environment{}, fmt.Errorf("cache directory %q is not absolute", m.CacheDir)
	}
	uv := m.uv()
	py, err := m.findPython(ctx, uv)
	if err != nil {
		return Environment{}, err
	}
	dir := m.dir(l, py.minor)
	lock, err := m.lock(ctx, l.Name, dir)
	if err != nil {
		return Environment{}, err
	}
	defer lock.release()

	env, err := m.verifyDir(ctx, l, dir)
	broken, isBroken := errors.AsType[*BrokenError](err)
	switch {
	case err == nil:
		return env, nil
	case errors.Is(err, ErrAbsent):
		m.progress(l.Name, fmt.Sprintf("creating %s with Python %s (once; later runs reuse it)", dir, py.version))
	case isBroken:
		m.progress(l.Name, fmt.Sprintf("making %s anew: %s", dir, broken.Reason))
	default:
		return Environment{}, err
	}
	// The stamp goes first: a removal that is interrupted must not look like a
	// complete environment.
	if err := os.Remove(filepath.Join(dir, stampName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Environment{}, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return Environment{}, err
	}
	return m.build(ctx, l, py, uv, dir, lock)
}

// build fills dir, which does not exist, in its final place, because scripts
// of an environment contain its path; the stamp makes it valid.
func (m *Manager) build(ctx context.Context, l Lockfile, py python, uv, dir string, lock *dirLock) (Environment, error) {
	start := time.Now()
	in := &installation{m: m, lockfile: l, python: py, uv: uv, dir: dir, lock: lock}
	if err := in.run(ctx); err != nil {
		return Environment{}, err
	}
	f, err := probe(ctx, in.interpreter(), m.isolated(), probeLimit, "installed", l.modules()...)
	if err != nil {
		return Environment{}, fmt.Errorf("new interpreter %s: %w", in.interpreter(), err)
	}
	s := stamp{
		Name: l.Name, Lock: l.Hash, Python: f.Version, Base: py.path, Installer: in.installer(),
		Created: start.UTC().Truncate(time.Second), Packages: f.Packages,
	}
	if diff := l.defects(s, f); len(diff) > 0 {
		return Environment{}, hint.With(fmt.Errorf("%s after installation: %s", dir, enumerate(diff)),
			"read "+in.logPath()+" for what "+in.installer()+" did")
	}
	if err := s.write(dir); err != nil {
		return Environment{}, fmt.Errorf("stamp: %w", err)
	}
	_ = os.RemoveAll(in.wheels()) // what stays only takes room
	m.progress(l.Name, fmt.Sprintf("ready after %.0f s (%d packages, by %s)", time.Since(start).Seconds(), len(f.Packages), in.installer()))
	return m.verifyDir(ctx, l, dir)
}
