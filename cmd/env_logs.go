package cmd

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/esched/esched/cmd/dashboard"
)

// runLogs are the logs of the processes of a run.
type runLogs struct{ dir string }

// logsOf returns the logs of a run, for the dashboard to show.
func (p Process) logsOf(run string) dashboard.Logs {
	return runLogs{p.path(filepath.Join(run, logsDir))}
}

// mostLogs bounds the list: a long run has thousands.
const mostLogs = 500

// List implements dashboard.Logs: the latest first.
func (l runLogs) List() []string {
	type file struct {
		name string
		when int64
	}
	var all []file
	_ = filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what cannot be listed is not shown
		}
		info, err := d.Info()
		if err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
			return nil
		}
		name, err := filepath.Rel(l.dir, path)
		if err == nil {
			all = append(all, file{name, info.ModTime().UnixNano()})
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b file) int {
		if a.when != b.when {
			return int(min(1, max(-1, b.when-a.when)))
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, f := range all[:min(len(all), mostLogs)] {
		names = append(names, f.name)
	}
	return names
}

// logEnd bounds what is read of a log, in bytes.
const logEnd = 64 << 10

// End implements dashboard.Logs.
func (l runLogs) End(name string) ([]string, error) {
	f, err := os.Open(filepath.Join(l.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	from := max(0, size-logEnd)
	b, err := io.ReadAll(io.NewSectionReader(f, from, logEnd))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if from > 0 && len(lines) > 1 {
		lines = lines[1:] // it is torn
	}
	return lines, nil
}
