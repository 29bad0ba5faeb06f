package deploy

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// tailSize is how much of a process's output an error quotes at most.
const tailSize = 2 << 10

// Tail is a writer that keeps the end of what is written to it, for error
// messages. The zero value is ready; methods may be called from several
// goroutines.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*tailSize {
		t.text = append(t.text[:0], t.text[len(t.text)-tailSize:]...)
	}
	return len(p), nil
}

// String returns the end, without white space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(tailOf(t.text, tailSize))
}

// logTail returns the last lines of a log file, "" when there are none.
func logTail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailSize {
		_, _ = f.Seek(-tailSize, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
