package pyenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/internal/hint"
)

// script writes an executable shell script.
func script(t *testing.T, dir, name, body string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	deploytest.Script(t, path, body)
	return path
}

// says is the body of a script that answers the probe like an interpreter.
func says(version, more string) string {
	return fmt.Sprintf(`echo '{"version": "%s", "implementation": "cpython", "missing": {%s}}'`, version, more)
}

func TestFindPython(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		programs map[string]string // on PATH
		choice   string            // Manager.Python
		want     string            // the program found
		wantErr  []string          // parts of the error
		wantHint string
	}{
		{
			name:     "the first that fits",
			programs: map[string]string{"python3.12": says("3.12.4", ""), "python3.11": says("3.11.7", ""), "python3": says("3.13.0", "")},
			want:     "python3.11",
		},
		{
			name:     "a shim that does not run is passed over",
			programs: map[string]string{"python3.11": "echo command not found >&2; exit 127", "python3": says("3.12.4", "")},
			want:     "python3",
		},
		{
			name:     "one without venv is passed over",
			programs: map[string]string{"python3.11": says("3.11.7", `"ensurepip": "not found"`), "python": says("3.13.1", "")},
			want:     "python",
		},
		{
			name:     "the chosen one",
			programs: map[string]string{"python3.11": says("3.11.7", ""), "mine": says("3.12.4", "")},
			choice:   "mine",
			want:     "mine",
		},
		{
			name:     "missing",
			wantErr:  []string{"no Python 3.11 to 3.13 on PATH"},
			wantHint: "install Python 3.11",
		},
		{
			name: "nothing fits",
			programs: map[string]string{
				"python3.11": says("3.11.2", `"venv": "not found"`), "python3": says("3.9.2", ""), "python": says("2.7.18", ""),
				"python3.14": says("3.14.0", ""), "python3.12": "echo pyenv: no such command >&2; exit 127",
			},
			wantErr: []string{"python3.11 is 3.11.2 without its venv", "python3 is 3.9.2 (too old)", "python is 2.7.18 (too old)",
				"python3.14 is 3.14.0 (too new", "python3.12 does not run (exit status 127: pyenv: no such command)"},
			wantHint: "install Python 3.11",
		},
		{
			name:     "the chosen one is too old",
			programs: map[string]string{"python3.11": says("3.11.7", ""), "mine": says("3.8.1", "")},
			choice:   "mine",
			wantErr:  []string{"mine is 3.8.1 (too old)"},
			wantHint: "name a Python 3.11",
		},
		{
			name:     "the chosen one is not there",
			programs: map[string]string{"python3.11": says("3.11.7", "")},
			choice:   "mine",
			wantErr:  []string{"no such file"},
			wantHint: "name a Python 3.11",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, body := range test.programs {
				script(t, dir, name, body)
			}
			m := &Manager{Env: []string{"PATH=.:" + dir}}
			if test.choice != "" {
				m.Python = filepath.Join(dir, test.choice)
			}
			have, err := m.findPython(t.Context(), "")
			if (err != nil) != (test.wantErr != nil) {
				t.Fatalf("have %v, %v", have, err)
			}
			for _, part := range test.wantErr {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("have %q, want %q in it", err, part)
				}
			}
			if h := hint.Of(err); !strings.HasPrefix(h, test.wantHint) {
				t.Errorf("have hint %q, want %q", h, test.wantHint)
			}
			if err == nil && have.path != filepath.Join(dir, test.want) {
				t.Errorf("have %s, want %s", have.path, test.want)
			}
		})
	}
}

func TestTooOldPythonCreatesNothing(t *testing.T) {
	t.Parallel()
	bin, cache := t.TempDir(), t.TempDir()
	script(t, bin, "python3", says("3.10.12", ""))
	m := &Manager{CacheDir: cache, Env: []string{"PATH=" + bin}}
	_, err := m.Ensure(t.Context(), Default)
	if err == nil || !strings.Contains(err.Error(), "environment default: no usable Python 3.11 to 3.13: "+bin+"/python3 is 3.10.12 (too old)") {
		t.Errorf("have %v", err)
	}
	if left, _ := os.ReadDir(cache); len(left) != 0 {
		t.Errorf("have %v in the cache", left)
	}
}
