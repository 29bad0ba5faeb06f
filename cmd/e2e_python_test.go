package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/internal/need"
)

// fakePython puts a program on PATH, alone, that says of itself what an
// interpreter of that version says.
func (s *shell) fakePython(name, version, missing string) (path string) {
	s.t.Helper()
	dir := s.p.path("bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	path = filepath.Join(dir, name)
	text := fmt.Sprintf("#!/bin/sh\necho '{\"version\": %q, \"implementation\": \"cpython\", \"missing\": {%s}}'\n", version, missing)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.env["PATH"] = dir
	return path
}

// TestRunWithoutUsablePython runs on machines whose Python does not do. A
// pinned environment needs a Python of the machine: exit 1, and the run can go
// on when there is one. An environment that the user named is a mistake: exit
// 2, and no run was begun.
func TestRunWithoutUsablePython(t *testing.T) {
	t.Parallel()
	noDask := `"dask": "ModuleNotFoundError", "distributed": "ModuleNotFoundError"`
	tests := []struct {
		name                    string
		program, version, lacks string // the only Python; "" for none
		own                     bool   // the experiment names it
		code                    int
		want                    []string
	}{
		{"missing", "", "", "", false, 1, []string{"environment default", "no Python 3.11 to 3.13 on PATH", "Try: install Python 3.11"}},
		{"too old", "python3", "3.8.10", "", false, 1, []string{"environment default", "/python3 is 3.8.10 (too old)", "Try: install Python 3.11"}},
		{"own missing", "", "", "", true, 2, []string{"no such file", "Try: name the directory of a Python environment"}},
		{"own too old", "python3", "3.8.10", "", true, 2, []string{"its Python 3.8.10 is older than 3.11", "Try: make the environment with Python 3.11"}},
		{"own without Dask", "python3", "3.12.1", noDask, true, 2, []string{"dask cannot be imported", "Try: install Dask there: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.env["PATH"] = "/nowhere"
			environment := "default"
			if test.own {
				environment = "./bin/python3"
			}
			if test.program != "" {
				s.fakePython(test.program, test.version, test.lacks)
			}
			s.write("experiments.toml", tiny(environment, `"dask"`, 1))
			s.esched("run").wants(t, test.code, nil, test.want)
			if test.code == 2 {
				s.beganNothing()
				return
			}
			// A Python appears, here as an environment, and the run goes on.
			run := s.onlyRun()
			nothingLeft(t, s, run)
			if test.program == "" {
				s.env["PATH"] = os.Getenv("PATH")
				s.esched("run", "--resume", run, "--env", need.Python(t)).wants(t, 0, []string{"run ended  1 ok"}, nil)
			}
		})
	}
}

// beganNothing fails when there is a run.
func (s *shell) beganNothing() {
	s.t.Helper()
	if entries, err := os.ReadDir(s.p.path("runs")); err == nil {
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		s.t.Errorf("runs/ was made, with %s", strings.Join(names, ", "))
	}
}
