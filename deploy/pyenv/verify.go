package pyenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// ErrAbsent is wrapped by Verify's error when the environment was never
// created.
var ErrAbsent = errors.New("not created yet")

// BrokenError is Verify's error for an environment that is there and cannot
// be used. Ensure makes such an environment anew.
type BrokenError struct {
	Path   string
	Reason string
}

func (e *BrokenError) Error() string { return e.Path + " is broken: " + e.Reason }

// stampName is the file whose presence says that the environment is complete.
const stampName = "esched.json"

// stamp is its content.
type stamp struct {
	Name      string            `json:"name"`
	Lock      string            `json:"lock"`
	Python    string            `json:"python"`
	Base      string            `json:"base"`      // the interpreter it was made with
	Installer string            `json:"installer"` // "uv" or "pip"
	Created   time.Time         `json:"created"`
	Packages  map[string]string `json:"packages"`
}

func (s stamp) write(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, stampName), append(b, '\n'), 0o644)
}

// Verify returns the environment if it is complete and unharmed: its stamp is
// there, its interpreter runs, every package of the lock has the lock's
// version, and the modules of the key packages are found. It imports and
// changes nothing and takes a fraction of a second. Otherwise the error is
// ErrAbsent or a *BrokenError, wrapped.
func (m *Manager) Verify(ctx context.Context, name string) (Environment, error) {
	l, err := readLock(m.locks(), name)
	if err != nil {
		return Environment{}, err
	}
	env, err := m.verify(ctx, l)
	if err != nil {
		return Environment{}, hint.With(fmt.Errorf("environment %s: %w", name, err), "run: esched env "+name)
	}
	return env, nil
}

// verify looks at every directory made from the lock, whatever its Python,
// and returns the first environment that can be used, else the first reason
// why one cannot.
func (m *Manager) verify(ctx context.Context, l Lockfile) (Environment, error) {
	dirs, err := m.made(ctx, l)
	if err != nil {
		return Environment{}, err
	}
	var first error
	for _, dir := range dirs {
		env, err := m.verifyDir(ctx, l, dir)
		if err == nil {
			return env, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = ErrAbsent
	}
	return Environment{}, first
}

// made lists the directories made from the lock, the oldest Python first, or
// the one of m.Python.
func (m *Manager) made(ctx context.Context, l Lockfile) ([]string, error) {
	if m.Python != "" {
		path, err := m.ownInterpreter(m.Python)
		if err != nil {
			return nil, hint.With(fmt.Errorf("interpreter %s: %w", m.Python, err), chooseHint)
		}
		f, err := probe(ctx, path, m.isolated(), probeLimit, "find")
		if err != nil {
			return nil, hint.With(fmt.Errorf("interpreter %s: %w", m.Python, err), chooseHint)
		}
		minor, _ := f.minor()
		return []string{m.dir(l, minor)}, nil
	}
	var dirs []string
	for n := oldestMinor; n <= newestMinor; n++ {
		dir := m.dir(l, fmt.Sprintf("3.%d", n))
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

func (m *Manager) verifyDir(ctx context.Context, l Lockfile, dir string) (Environment, error) {
	b, err := os.ReadFile(filepath.Join(dir, stampName))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return Environment{}, ErrAbsent
		}
		return Environment{}, &BrokenError{dir, "it was not completed"}
	}
	if err != nil {
		return Environment{}, err
	}
	var s stamp
	if err := json.Unmarshal(b, &s); err != nil || s.Lock != l.Hash {
		return Environment{}, &BrokenError{dir, "its stamp is not of this lock"}
	}
	interpreter := filepath.Join(dir, "bin", "python")
	f, err := probe(ctx, interpreter, m.isolated(), probeLimit, "installed", l.modules()...)
	if ctx.Err() != nil {
		return Environment{}, ended(ctx)
	}
	if err != nil {
		return Environment{}, &BrokenError{dir, fmt.Sprintf("its interpreter does not run (%v)", err)}
	}
	if diff := l.defects(s, f); len(diff) > 0 {
		return Environment{}, &BrokenError{dir, enumerate(diff)}
	}
	return Environment{Interpreter: interpreter, Environment: record.Environment{
		Name: l.Name, Python: f.Version, Path: dir, Lock: l.Hash, Packages: f.Packages,
	}}, nil
}

// defects compares what an interpreter reports with the lock and with what
// was there when the environment was completed.
func (l Lockfile) defects(s stamp, f facts) []string {
	diff := l.differences(f.Packages)
	for _, name := range slices.Sorted(maps.Keys(s.Packages)) {
		if f.Packages[name] == "" && l.Pins[name] == "" {
			diff = append(diff, name+" is missing")
		}
	}
	for _, module := range slices.Sorted(maps.Keys(f.Missing)) {
		diff = append(diff, "module "+module+": "+f.Missing[module])
	}
	return diff
}

// enumerate joins the first few of a list.
func enumerate(items []string) string {
	const most = 4
	if n := len(items) - most; n > 0 {
		items = append(slices.Clone(items[:most]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(items, ", ")
}

// State tells what is known of an environment.
type State string

// The states of an environment.
const (
	StateAbsent State = "absent" // not created yet; a run creates it
	StateOK     State = "ok"
	StateBroken State = "broken" // a run makes it anew
)

// Status is one line of "esched env".
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Path is where the environment is, or "" if it is absent.
	Path string `json:"path,omitempty"`
	// Reason says why it is broken.
	Reason string `json:"reason,omitempty"`
	Lock   string `json:"lock"`
	// Keys are the packages that matter, sorted, Pins their versions by the
	// lock.
	Keys []string          `json:"keys"`
	Pins map[string]string `json:"pins"`
	// Python and Packages are what is installed.
	Python   string            `json:"python,omitempty"`
	Packages map[string]string `json:"packages,omitempty"`
}

// Status reports on every environment for runs, the default one first. It
// creates and changes nothing.
func (m *Manager) Status(ctx context.Context) ([]Status, error) {
	var all []Status
	for _, name := range names(m.locks()) {
		l, err := readLock(m.locks(), name)
		if err != nil {
			return nil, err
		}
		st := Status{Name: name, State: StateOK, Lock: l.Hash, Keys: l.Keys, Pins: map[string]string{}}
		for _, k := range l.Keys {
			st.Pins[k] = l.Pins[k]
		}
		env, err := m.verify(ctx, l)
		broken, isBroken := errors.AsType[*BrokenError](err)
		switch {
		case err == nil:
			st.Path, st.Python, st.Packages = env.Path, env.Python, env.Packages
		case errors.Is(err, ErrAbsent):
			st.State = StateAbsent
		case isBroken:
			st.State, st.Path, st.Reason = StateBroken, broken.Path, broken.Reason
		default:
			return nil, fmt.Errorf("environment %s: %w", name, err)
		}
		all = append(all, st)
	}
	return all, nil
}
