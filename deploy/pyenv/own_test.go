package pyenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
)

func TestOwn(t *testing.T) {
	t.Parallel()
	for name, interpreter := range map[string]func(testing.TB) string{"current": need.Python, "older": need.OldPython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			python := interpreter(t)
			m := &Manager{Env: os.Environ()}
			dir := filepath.Dir(filepath.Dir(python))
			for _, path := range []string{dir, python} {
				env, err := m.Own(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				if env.Name != path || env.Path != dir || env.Lock != "" || env.Packages["dask"] == "" ||
					env.Packages["dask"] != env.Packages["distributed"] || filepath.Dir(env.Interpreter) != filepath.Join(dir, "bin") {
					t.Errorf("%s: have %+v", path, env)
				}
			}
		})
	}
}

func TestOwnSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "empty", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	missing := `"dask": "ModuleNotFoundError: No module named 'dask'", "distributed": "not found"`
	quoted := strings.ReplaceAll(missing, "'", `'\''`)
	tests := []struct {
		name, path         string
		wantErr, wantTried string
	}{
		{"nothing there", filepath.Join(dir, "nowhere"), "no such file", "name the directory"},
		{"no such program", "no-such-python", "neither a directory nor a program on PATH", "name the directory"},
		{"no interpreter", filepath.Join(dir, "empty"), "no bin/python in", "name the directory"},
		{"too old", script(t, dir, "old", says("3.9.2", "")), "Python 3.9.2 is older than 3.11", "make the environment with Python 3.11"},
		{"not Python", script(t, dir, "other", "echo hello"), "not a Python interpreter", "by hand"},
		{"does not start", script(t, dir, "ill", "echo no libc >&2; exit 3"), "exit status 3: no libc", "by hand"},
		{"no Dask", script(t, dir, "bare", says("3.12.1", quoted)),
			"dask cannot be imported (ModuleNotFoundError: No module named 'dask'), distributed cannot be imported (not found)",
			"install Dask there: " + dir + "/bare -m pip install"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := &Manager{Env: []string{"PATH=" + dir}}
			_, err := m.Own(t.Context(), test.path)
			if err == nil || !strings.Contains(err.Error(), test.wantErr) || !strings.HasPrefix(err.Error(), "environment "+test.path+": ") {
				t.Errorf("have %v, want %q", err, test.wantErr)
			}
			if h := hint.Of(err); !strings.Contains(h, test.wantTried) || hint.Exit(err) != hint.ExitUsage {
				t.Errorf("have hint %q, exit %d", h, hint.Exit(err))
			}
		})
	}
}
