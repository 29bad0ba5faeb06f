// Package need gives tests the programs that they cannot do without: a
// Python with Dask, a command on PATH.
//
// A test that lacks one is skipped with the reason, unless the variable
// ESCHED_FORBID_SKIP is set: then it fails, so that a complete check cannot
// silently become a partial one. The package is for tests only.
package need

import (
	"os"
	"os/exec"
	"testing"
)

// The variables that say where the interpreters are.
const (
	pythonVariable    = "ESCHED_TEST_PYTHON"
	oldPythonVariable = "ESCHED_TEST_PYTHON_OLD"
	forbidVariable    = "ESCHED_FORBID_SKIP"
)

// Python returns the interpreter of an environment with current Dask, from
// ESCHED_TEST_PYTHON.
func Python(t testing.TB) string {
	t.Helper()
	return interpreter(t, pythonVariable)
}

// OldPython returns the interpreter of an environment with Dask 2024.5, from
// ESCHED_TEST_PYTHON_OLD.
func OldPython(t testing.TB) string {
	t.Helper()
	return interpreter(t, oldPythonVariable)
}

// Program returns the path of a command on PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, name+" is not on PATH")
	}
	return path
}

// Skip skips the test for that reason, or fails it where skipping is
// forbidden.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(forbidVariable) != "" {
		t.Fatalf("%s, and %s is set", reason, forbidVariable)
	}
	t.Skip(reason)
}

func interpreter(t testing.TB, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		Skip(t, variable+" does not name a Python interpreter")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return path
}
