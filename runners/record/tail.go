package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Tail reads the events of a run while they are written, by whoever and on
// whatever machine. It opens the file anew each time, since that is when a
// network file system looks for what is new. Not safe for concurrent use.
type Tail struct {
	path   string
	offset int64
}

// NewTail reads the events of the run in dir from the first on.
func NewTail(dir string) *Tail { return &Tail{path: filepath.Join(dir, EventsFile)} }

// tailRoom bounds what one Next reads, in bytes.
const tailRoom = 4 << 20

// Next returns the events that are complete and were not returned before, none
// when there are none. Damaged lines are left out, as [Read] does.
func (t *Tail) Next() ([]Event, error) {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // not begun
	}
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, t.offset, tailRoom))
	if err != nil {
		return nil, fmt.Errorf("events %s: %w", t.path, err)
	}
	end := bytes.LastIndexByte(b, '\n') + 1
	if end == 0 && len(b) == tailRoom { // no line is that long
		end = len(b)
	}
	t.offset += int64(end)
	var events []Event
	for line := range bytes.Lines(b[:end]) {
		var e Event
		if decode(line, &e) == nil && checkEvent(&e) == nil {
			events = append(events, e)
		}
	}
	return events, nil
}

// InUse tells whether a process writes to the run in dir. Where files cannot
// be locked, the answer is always no.
func InUse(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, TrialsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("run %s: %w", dir, err)
	}
	defer f.Close()
	// Shared, so that several may look at the same time.
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		// Given back by name, as a store does.
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	return errors.Is(err, syscall.EWOULDBLOCK), nil
}
