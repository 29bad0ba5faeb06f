package reserve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// Ledger is a directory with one file for each reservation that was made and
// not yet released. One file an entry lets several runs, also on several head
// nodes that share a home directory, enter and remove theirs without a lock.
// Methods may be called from several goroutines and processes.
type Ledger struct {
	dir string
}

// entrySuffix ends the names of entries; anything else in the directory is an
// entry that was being written when its writer died.
const entrySuffix = ".json"

// OpenLedger returns the ledger in dir, which is made when it is first written
// to.
func OpenLedger(dir string) *Ledger { return &Ledger{dir: dir} }

// Add enters a reservation. When Add returns, the entry is on disk, also after
// a power failure. An entry with the same kind and id is replaced. A queue
// that tells the id only after the fact gets a provisional one and [Ledger.Rename].
func (l *Ledger) Add(e Entry) error {
	if err := l.add(e); err != nil {
		return fmt.Errorf("ledger entry for %s reservation %s: %w", e.Kind, e.ID, err)
	}
	return nil
}

func (l *Ledger) add(e Entry) error {
	if e.Kind == "" || e.ID == "" {
		return errors.New("no kind or no id")
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(l.dir, ".entry-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(text, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), l.path(e.Kind, e.ID))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return err
	}
	return l.sync()
}

// Rename gives an entry the id that the queue told: the entry with the new id
// is on disk before the one with the old id is removed.
func (l *Ledger) Rename(e Entry, id string) (Entry, error) {
	old := e.ID
	e.ID = id
	if err := l.Add(e); err != nil {
		return e, err
	}
	if old == id {
		return e, nil
	}
	return e, l.Remove(e.Kind, old)
}

// Remove takes an entry out. That it is not there is no error.
func (l *Ledger) Remove(kind, id string) error {
	err := os.Remove(l.path(kind, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = l.sync()
	}
	if err != nil {
		return fmt.Errorf("ledger entry for %s reservation %s: %w", kind, id, err)
	}
	return nil
}

// Entries returns all entries, the oldest first. An entry that cannot be read
// is an error with a hint, never skipped: nodes may be behind it.
func (l *Ledger) Entries() ([]Entry, error) {
	files, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var entries []Entry
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), entrySuffix) {
			continue
		}
		path := filepath.Join(l.dir, f.Name())
		e, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // released meanwhile
		}
		if err != nil {
			return nil, hint.With(fmt.Errorf("ledger entry %s: %w", path, err),
				"look in the queue for reservations of yours, release them by hand, and then remove "+path)
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Made.Compare(b.Made) })
	return entries, nil
}

func read(path string) (Entry, error) {
	var e Entry
	text, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&e); err != nil {
		return e, fmt.Errorf("corrupt: %w", err)
	}
	if e.Kind == "" || e.ID == "" || e.Run == "" {
		return e, errors.New("corrupt: kind, id or run is missing")
	}
	return e, nil
}

// path is the file of an entry. Ids come from queues and may hold anything.
func (l *Ledger) path(kind, id string) string {
	return filepath.Join(l.dir, fileName(kind)+"-"+fileName(id)+entrySuffix)
}

// fileName writes a word with letters, digits, dots and underscores only, so
// that different words stay different and the dash separates them.
func fileName(word string) string {
	var b strings.Builder
	for _, c := range []byte(word) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// sync puts the directory itself on disk.
func (l *Ledger) sync() error {
	dir, err := os.Open(l.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
