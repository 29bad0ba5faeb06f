package deploy

import (
	"fmt"
	"os"
	"sync"
)

// logLimit is the size at which a log is put aside and begun anew. With the one
// put aside before, a process takes twice that on the disk at most, whatever
// it prints in a night.
const logLimit = 16 << 20

// asideSuffix is added to the name of a log that was put aside.
const asideSuffix = ".1"

// logFile is the log of one process: a writer that appends to a file of
// bounded size. Methods may be called from several goroutines.
type logFile struct {
	path  string
	limit int64

	mu   sync.Mutex
	file *os.File
	size int64
}

func openLog(path string, limit int64) (*logFile, error) {
	l := &logFile{path: path, limit: limit}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return l, nil
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write implements [io.Writer].
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.limit {
		if err := l.putAside(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *logFile) putAside() error {
	if err := os.Rename(l.path, l.path+asideSuffix); err != nil {
		return err
	}
	full := l.file
	if err := l.open(); err != nil {
		return err // the full one stays open, and the next attempt may work
	}
	return full.Close()
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
