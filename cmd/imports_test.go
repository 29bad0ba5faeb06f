package cmd

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyEnvTouchesTheProcess keeps process state in the files named env:
// that is what lets every other command be tested in memory.
func TestOnlyEnvTouchesTheProcess(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "env") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range f.Imports {
			switch imported.Path.Value {
			case `"os"`, `"os/exec"`, `"os/signal"`, `"syscall"`:
				t.Errorf("%s imports %s", file, imported.Path.Value)
			}
		}
	}
}
