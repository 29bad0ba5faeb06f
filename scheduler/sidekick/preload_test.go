package sidekick

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
)

// TestChapters checks with both versions of Dask that the preload loads, and
// that it is its chapters: none lacks, says anything else, or comes too late.
func TestChapters(t *testing.T) {
	t.Parallel()
	files, err := source.ReadDir("preload")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"__init__.py"}
	for _, name := range chapters {
		want = append(want, name+".py")
	}
	slices.Sort(want)
	var have []string
	for _, file := range files {
		have = append(have, file.Name())
	}
	if !slices.Equal(have, want) {
		t.Errorf("want the files %v, have %v", want, have)
	}
	directory, err := filepath.Abs("preload")
	if err != nil {
		t.Fatal(err)
	}
	interpreters(t, func(t *testing.T, python string) {
		c := &cluster{dir: shortDir(t), python: python}
		c.script(t, 2*time.Minute, nil, func(line []byte) { t.Errorf("%s", line) },
			"chapters.py", append([]string{directory, writePreload(t, c.dir)}, chapters...)...)
	})
}

// TestLint has ruff look at the chapters and at what is made of them.
func TestLint(t *testing.T) {
	t.Parallel()
	ruff := need.Program(t, "ruff")
	joined := writePreload(t, t.TempDir())
	for _, args := range [][]string{{"check"}, {"format", "--check", "--diff"}} {
		args = append(args, "--no-cache", "--config", filepath.Join("..", "..", "ruff.toml"), "preload", joined)
		if out, err := exec.Command(ruff, args...).CombinedOutput(); err != nil {
			t.Errorf("ruff %s: %v\n%.4000s", args[0], err, out)
		}
	}
}

// TestPreloadNamesItsMaker checks the line by which a preload that was saved
// long ago can be told from the one of today.
func TestPreloadNamesItsMaker(t *testing.T) {
	t.Parallel()
	first, _, _ := strings.Cut(string(Preload("v1.2.3 (abc)")), "\n")
	if want := "# Assembled by esched v1.2.3 (abc) "; !strings.HasPrefix(first, want) {
		t.Errorf("first line: want %q..., have %q", want, first)
	}
}

// writePreload saves the preload in a directory and returns its path.
func writePreload(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "esched_preload.py")
	if err := os.WriteFile(path, Preload("test"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
