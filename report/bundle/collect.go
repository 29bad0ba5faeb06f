package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/esched/esched/runners/record"
)

// The directories of a run that are packed.
const (
	logsDir     = "logs"
	programsDir = "programs"
	inputsDir   = "inputs"
	tasksDir    = record.TasksDir
)

// reportPage is the page that a run leaves in its directory.
const reportPage = "report.html"

// maxProgram bounds a file of a run's programs, and one that they read, in
// bytes.
const maxProgram = 16 << 20

// found is a file of the run directory.
type found struct {
	name string // with slashes, relative to the run
	size int64
}

// collect packs the files of the run, scrubbed, below "run/".
func (b *builder) collect() error {
	dir := os.DirFS(b.source.Run)
	var logs []found
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(name, "/")
		switch {
		case name == ".", d.IsDir() && (top == logsDir || top == programsDir || top == inputsDir || top == tasksDir):
			return nil
		case d.IsDir():
			b.scrub.note("run/"+name+"/", "left out: no part of the results", 1)
			return fs.SkipDir
		case !d.Type().IsRegular():
			b.scrub.note("run/"+name, "left out: no regular file", 1)
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // of a run that goes on and cleans up
		}
		if err != nil {
			return err
		}
		if name == reportPage {
			return nil // it is made anew, see report/
		}
		b.wrote += info.Size()
		switch {
		case top == logsDir:
			logs = append(logs, found{name, info.Size()})
			return nil
		case top == programsDir, top == inputsDir:
			return b.program(dir, name)
		case top == tasksDir:
			return b.timeline(dir, name)
		case name == record.ManifestFile, name == record.TrialsFile, name == record.EventsFile:
			return b.recorded(dir, name)
		}
		b.scrub.note("run/"+name, "left out: no part of the results", 1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("run %s: %w", b.source.Run, err)
	}
	return b.logs(dir, logs)
}

// recorded packs a file that package record reads.
func (b *builder) recorded(dir fs.FS, name string) error {
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return err
	}
	b.files["run/"+name] = b.scrub.json("run/"+name, data)
	return nil
}

// program packs a script of the experiment, or a file that a parameter names.
func (b *builder) program(dir fs.FS, name string) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxProgram+1))
	if err != nil {
		return err
	}
	switch {
	case len(data) > maxProgram:
		b.scrub.note("run/"+name, fmt.Sprintf("left out: larger than %d bytes", maxProgram), 1)
	case !utf8.Valid(data):
		b.scrub.note("run/"+name, "left out: no text, so it cannot be searched for secrets", 1)
	default:
		b.files["run/"+name] = []byte(b.scrub.text("run/"+name, string(data)))
	}
	return nil
}

// logs packs the logs. When they are larger than the limit together, all are
// cut to the same size, the largest first: short logs tell most for a byte.
func (b *builder) logs(dir fs.FS, logs []found) error {
	limit := share(logs, b.source.LogLimit)
	for _, l := range logs {
		name := "run/" + l.name
		head, tail, err := ends(dir, l, limit)
		if errors.Is(err, fs.ErrNotExist) {
			continue // of a run that goes on and cleans up
		}
		if err != nil {
			return fmt.Errorf("run %s: %w", b.source.Run, err)
		}
		text := b.scrub.text(name, strings.ToValidUTF8(head, "\uFFFD"))
		if cut := l.size - int64(len(head)) - int64(len(tail)); cut > 0 {
			b.scrub.note(name, "cut from the middle: bytes", int(cut))
			text += fmt.Sprintf("\n[%d bytes were left out here]\n", cut) + b.scrub.text(name, strings.ToValidUTF8(tail, "\uFFFD"))
		}
		b.files[name] = []byte(text)
	}
	return nil
}

// share is the size that every log may have, so that all together have at most
// limit bytes.
func share(logs []found, limit int64) int64 {
	sizes := make([]int64, len(logs))
	for i, l := range logs {
		sizes[i] = l.size
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		each := limit / int64(len(sizes)-i)
		if size > each {
			return each
		}
		limit -= size
	}
	return 1 << 62
}

// ends reads a log whole, or its first and its last half of limit bytes.
func ends(dir fs.FS, l found, limit int64) (head, tail string, err error) {
	f, err := dir.Open(l.name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	read := func(n int64) (string, error) {
		b, err := io.ReadAll(io.LimitReader(f, n))
		return string(b), err
	}
	if l.size <= limit {
		head, err = read(l.size) // what it had when it was looked at
		return head, "", err
	}
	if head, err = read(limit / 2); err != nil {
		return "", "", err
	}
	at, ok := f.(io.Seeker)
	if !ok {
		return head, "", fmt.Errorf("%s: cannot be read from its end", l.name)
	}
	if _, err := at.Seek(l.size-(limit-limit/2), io.SeekStart); err != nil {
		return "", "", err
	}
	tail, err = read(limit - limit/2)
	return head, tail, err
}

// safe tells whether a name of an archive stays below a directory.
func safe(name string) bool {
	return name != "" && !path.IsAbs(name) && path.Clean(name) == name && fs.ValidPath(name) && !strings.Contains(name, `\`)
}
