package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"github.com/esched/esched/internal/hint"
)

// The files of a run directory that this package reads and writes.
const (
	ManifestFile = "run.json"
	TrialsFile   = "trials.jsonl"
	EventsFile   = "events.jsonl"
)

// ErrInUse is returned by Create and Open when another process writes to the
// run.
var ErrInUse = errors.New("another esched writes to this run")

// Store writes a run directory. At most one Store has a run open, among all
// processes that see the file system: it holds an exclusive lock on
// trials.jsonl. Methods may be called from several goroutines.
//
// A record or event is one write to a file opened for appending, so a process
// killed at any moment leaves whole lines and at most one torn last line.
type Store struct {
	dir string

	mu       sync.Mutex
	manifest Manifest
	trials   *appender
	events   *appender
	warnings []string
}

// Create makes a run directory, with its parents, and writes the manifest. It
// refuses a directory that already holds a run. Schema and, when it is 0,
// Sessions of the manifest are filled in.
func Create(dir string, m Manifest) (*Store, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, placed(fmt.Errorf("run directory %s: %w", dir, err), dir)
	}
	s, err := lockAndOpen(dir, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	// Looked at with the lock held: two Creates cannot both find it missing.
	path := filepath.Join(dir, ManifestFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		_ = s.closeFiles() // nothing was written
		if err != nil {
			return nil, placed(fmt.Errorf("run directory %s: %w", dir, err), dir)
		}
		err = fmt.Errorf("run directory %s: already holds a run", dir)
		return nil, hint.With(err, "continue it with --resume "+dir+", or choose another directory with --output")
	}
	m.Schema = Schema
	m.Sessions = max(m.Sessions, 1)
	if err := s.writeManifest(m); err != nil {
		_ = s.closeFiles() // the first error is the one to tell
		return nil, err
	}
	return s, nil
}

// Open opens an existing run directory for appending. What is recorded there
// stays as it is; a torn last line is closed off by the first append.
func Open(dir string) (*Store, error) {
	if _, err := readManifest(dir); err != nil {
		return nil, hint.With(fmt.Errorf("run %s: %w", dir, err), "name the directory of a run, the one that holds "+ManifestFile)
	}
	s, err := lockAndOpen(dir, os.O_CREATE) // trials.jsonl may be missing: killed right after the manifest
	if err != nil {
		return nil, err
	}
	// Read again with the lock held: its last writer may have changed it.
	if s.manifest, err = readManifest(dir); err != nil {
		_ = s.closeFiles() // nothing was written
		return nil, fmt.Errorf("run %s: %w", dir, err)
	}
	return s, nil
}

// Dir is the run directory as it was given.
func (s *Store) Dir() string { return s.dir }

// Manifest returns the manifest as it is on disk.
func (s *Store) Manifest() Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.manifest
}

// Warnings tells what the user should know about the store itself: that the
// file system cannot lock.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.warnings...)
}

// AppendRecord appends a record to trials.jsonl and returns once it is on
// stable storage. Schema is filled in. After an error the record counts as
// not written; later appends are not disturbed by what is left of it.
func (s *Store) AppendRecord(r Record) error {
	r.Schema = Schema
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.trials.append(r, true); err != nil {
		return placed(fmt.Errorf("record of trial %s: %w", r.ID, err), s.dir)
	}
	return nil
}

// AppendEvent appends an event to events.jsonl. It survives the end of the
// process at once, and the loss of the machine from the next Close on: events
// tell the story of a run, results do not depend on them.
func (s *Store) AppendEvent(e Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.events.append(e, false); err != nil {
		return placed(fmt.Errorf("event %s: %w", e.Kind, err), s.dir)
	}
	return nil
}

// UpdateManifest changes the manifest by f and replaces run.json atomically.
// When that is not possible, the manifest stays as it was.
func (s *Store) UpdateManifest(f func(*Manifest)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trials == nil {
		return errClosed
	}
	// A deep copy, so that f cannot change maps and slices of the old one.
	b, err := json.Marshal(s.manifest)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	var m Manifest
	if err := decode(b, &m); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	f(&m)
	return s.writeManifest(m)
}

// Close flushes the files and gives the lock back. A second Close does
// nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trials == nil {
		return nil
	}
	err := errors.Join(s.removeProgress(), s.trials.sync(), s.events.sync(), s.closeFiles())
	if err != nil {
		return placed(fmt.Errorf("run %s: %w", s.dir, err), s.dir)
	}
	return nil
}

var errClosed = errors.New("run store is closed")

func (s *Store) closeFiles() error {
	err := s.events.close()
	if s.trials != nil {
		// Given back by name: a process that is just being started shares the
		// open file until its program is loaded, and with it the lock.
		_ = syscall.Flock(int(s.trials.file.Fd()), syscall.LOCK_UN)
		err = errors.Join(err, s.trials.close())
	}
	s.trials, s.events = nil, nil
	return err
}

func (s *Store) writeManifest(m Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	path := filepath.Join(s.dir, ManifestFile)
	if err := renameio.WriteFile(path, append(b, '\n'), 0o666); err != nil {
		return placed(fmt.Errorf("manifest %s: %w", path, err), s.dir)
	}
	if err := syncDir(s.dir); err != nil {
		return placed(fmt.Errorf("manifest %s: %w", path, err), s.dir)
	}
	s.manifest = m
	return nil
}

// lockAndOpen opens both line files of a run and takes its lock.
func lockAndOpen(dir string, flag int) (*Store, error) {
	s := &Store{dir: dir}
	var err error
	if s.trials, err = openAppender(filepath.Join(dir, TrialsFile), flag); err != nil {
		return nil, placed(err, dir)
	}
	switch err := lock(s.trials.file); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		_ = s.trials.close() // nothing was written
		return nil, hint.With(fmt.Errorf("run %s: %w", dir, ErrInUse), "wait for its end, or follow it with: esched watch "+dir)
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
		s.warnings = append(s.warnings, "the file system of "+dir+" cannot lock files: take care that only one esched writes to this run")
	case err != nil:
		_ = s.trials.close() // nothing was written
		return nil, fmt.Errorf("lock of run %s: %w", dir, err)
	}
	// Looked at only now: with the lock held nobody else is in the middle of a
	// line.
	err = s.trials.findTear()
	if err == nil {
		s.events, err = openAppender(filepath.Join(dir, EventsFile), flag)
	}
	if err == nil {
		err = s.events.findTear()
	}
	if err != nil {
		_ = s.closeFiles() // the first error is the one to tell
		return nil, placed(err, dir)
	}
	return s, nil
}

// lookBound is how long a lock waits for processes that only look at it; on a
// busy machine they may stand still meanwhile.
const lookBound = time.Minute

// lock takes the exclusive lock of a file, which fails when a writer has it.
// What has a shared one is [InUse], and gives it back at once.
func lock(f *os.File) error {
	fd := int(f.Fd())
	for end := time.Now().Add(lookBound); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
		if syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB) != nil {
			return err
		}
		_ = syscall.Flock(fd, syscall.LOCK_UN) // not kept: another looker would wait for it in turn
	}
}

// appender adds JSON lines to a file.
type appender struct {
	file *os.File
	// torn says that the file ends in the middle of a line.
	torn bool
}

func openAppender(path string, flag int) (*appender, error) {
	// Readable too, to look at the last byte; O_CLOEXEC is Go's default, so no
	// child process keeps the lock.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flag, 0o666)
	if err != nil {
		return nil, err
	}
	return &appender{file: f}, nil
}

func (a *appender) findTear() error {
	end, err := a.file.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return err
	}
	var last [1]byte
	if _, err := a.file.ReadAt(last[:], end-1); err != nil {
		return err
	}
	a.torn = last[0] != '\n'
	return nil
}

func (a *appender) append(v any, durable bool) error {
	if a == nil {
		return errClosed
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line := make([]byte, 0, len(b)+2)
	if a.torn {
		line = append(line, '\n')
	}
	line = append(append(line, b...), '\n')
	n, err := a.file.Write(line)
	if err != nil {
		// What was written ends in the middle of a line, unless it is nothing.
		a.torn = a.torn && n == 0 || n > 0 && !bytes.HasSuffix(line[:n], []byte{'\n'})
		return err
	}
	a.torn = false
	if durable {
		return a.file.Sync()
	}
	return nil
}

func (a *appender) sync() error {
	if a == nil {
		return nil
	}
	return a.file.Sync()
}

func (a *appender) close() error {
	if a == nil {
		return nil
	}
	return a.file.Close()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err // some network file systems cannot sync a directory
	}
	return nil
}

// placed attaches what to do about an error of the disk under dir.
func placed(err error, dir string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return hint.With(err, "free space (or quota) for "+dir+", then continue with --resume "+dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return hint.With(err, "choose a directory you can write to with --output DIR")
	case errors.Is(err, syscall.ENOTDIR):
		return hint.With(err, "choose another place with --output DIR: a part of the path is a file")
	}
	return err
}
