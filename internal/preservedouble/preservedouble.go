package preservedouble

import (
	"embed"
	"os"
	"path/filepath"
	"testing"
)

//go:embed preserve prun
var scripts embed.FS

// Install writes preserve and prun into dir, which the test puts on PATH. They
// need SLURM's commands there as well.
func Install(t testing.TB, dir string) {
	t.Helper()
	for _, name := range []string{"preserve", "prun"} {
		text, err := scripts.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
