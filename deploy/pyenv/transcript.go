package pyenv

import (
	"bytes"
	"io"
	"path"
	"regexp"
	"strings"
)

// transcript is what an installer says: written to the log whole, and read
// line by line for progress and for the reason of a failure.
type transcript struct {
	log      io.Writer
	progress func(string)
	rest     []byte   // the line that is not complete yet
	last     []string // the last lines
	pkg      string   // the package the installer is or was at
}

// keptLines is how much of the output an error shows: enough for pip's
// longest message, the one about hashes.
const keptLines = 12

func (t *transcript) Write(p []byte) (int, error) {
	if n, err := t.log.Write(p); err != nil {
		return n, err
	}
	t.rest = append(t.rest, p...)
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		t.line(string(t.rest[:i]))
		t.rest = t.rest[i+1:]
	}
}

// flush takes what is left as a line.
func (t *transcript) flush() {
	if len(t.rest) > 0 {
		t.line(string(t.rest))
		t.rest = nil
	}
}

var (
	collecting = regexp.MustCompile(`^Collecting ([^\s;]+)`)
	failedAt   = regexp.MustCompile("(?i)(?:failed to (?:download|fetch|read|build|install|unpack)|hash mismatch for|requirement) [`]?([A-Za-z0-9._-]+==[^`\\s;,]+)[`]?")
	// Only large files are worth a line of progress.
	downloading = regexp.MustCompile(`^Downloading (\S+) (\([0-9.]+ ?(?:MB|GB|MiB|GiB)\))`)
	installing  = regexp.MustCompile(`^(Installing collected packages|Prepared \d+ packages?|Installed \d+ packages?)`)
)

func (t *transcript) line(s string) {
	s = strings.TrimSpace(s)
	if s == "" {
		return
	}
	if len(t.last) == keptLines {
		t.last = t.last[1:]
	}
	t.last = append(t.last, s)
	if m := collecting.FindStringSubmatch(s); m != nil {
		t.pkg = m[1]
	}
	if m := failedAt.FindStringSubmatch(s); m != nil {
		t.pkg = m[1]
	}
	if m := downloading.FindStringSubmatch(s); m != nil {
		t.progress("downloading " + path.Base(m[1]) + " " + m[2])
	}
	if m := installing.FindString(s); m != "" {
		t.progress(strings.ToLower(m[:1]) + m[1:])
	}
}

// end returns the lines that tell what went wrong: from the first that calls
// itself an error, else the last few.
func (t *transcript) end() string {
	lines := t.last
	for i, s := range lines {
		if l := strings.ToLower(s); strings.HasPrefix(l, "error") || strings.HasPrefix(s, "×") {
			lines = lines[i:]
			break
		}
	}
	return "  " + strings.Join(lines, "\n  ")
}

// mend says what to do about the failure. Hints are chosen by words that pip,
// uv, and the system below them use.
func (t *transcript) mend(cacheDir string) string {
	text := strings.ToLower(strings.Join(t.last, "\n"))
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("no space left", "disk quota"):
		return "free 1 GB under " + cacheDir + " or set XDG_CACHE_HOME to a directory with room"
	case has("do not match the hashes", "hash mismatch"):
		return "start again; if it stays so, the package mirror or proxy serves other files than the lock names: use another"
	case has("no module named ensurepip", "ensurepip is not available"):
		return "install the venv module of this Python (Debian and Ubuntu: apt install python3-venv)"
	case has("from versions: ") && !has("from versions: none"), has("no usable wheels", "no wheels with a matching"):
		return "use a system with glibc 2.28 or later (or macOS 12), or an environment of your own: the pinned packages have no files for this one"
	case has("no matching distribution", "no solution found", "no wheels", "was not found in the", "certificate", "connect", "resolve",
		"timed out", "timeout", "retrying", "network", "proxy", "fetch", "http error"):
		return "check the network and the package index that pip or uv is set up for, then start again: what was downloaded is kept"
	}
	return "start again: what was downloaded is kept"
}
