package workloads

import (
	"embed"
	"io/fs"
)

//go:embed python/*/*.py
var python embed.FS

// Files returns the Python modules that scheduler, workers and client must be
// able to import: a directory to put on nodes and name in PYTHONPATH.
func Files() fs.FS {
	files, err := fs.Sub(python, "python")
	if err != nil {
		panic(err) // the name is a valid path
	}
	return files
}
