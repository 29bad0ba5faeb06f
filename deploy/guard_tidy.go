package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Names in a user's directory on a node that are not those of runs.
const (
	// CopiesDir has the copies of environments, which outlive runs.
	CopiesDir = "envs"
	// BinaryDir has those of esched.
	BinaryDir = "bin"
)

// answerTidy serves a tidy frame.
func answerTidy(payload []byte, out *frameWriter) error {
	var t Tidying
	if err := json.Unmarshal(payload, &t); err != nil {
		return fmt.Errorf("guard: tidy: %w", err)
	}
	answer, err := t.serve()
	if err != nil {
		return err
	}
	return out.writeJSON(frameDone, answer)
}

// serve does what is asked on this machine. What cannot be removed is told and
// no error: it must not keep a new run from starting.
func (t Tidying) serve() (Tidied, error) {
	var answer Tidied
	if t.Dir != "" {
		if err := makePrivate(t.Home); err != nil {
			return answer, err
		}
	}
	if _, err := os.Lstat(t.Home); errors.Is(err, fs.ErrNotExist) {
		answer.Removed = t.Over
		return answer, nil
	}
	if err := private(t.Home); err != nil {
		return answer, err
	}
	answer.Left = map[string]string{}
	stays := 0
	for _, dir := range t.runs() {
		if dir == t.Dir {
			continue
		}
		if !t.over(dir) {
			stays++
			continue
		}
		if err := removeRun(dir); err != nil {
			answer.Left[dir] = err.Error()
			stays++
			continue
		}
		answer.Removed = append(answer.Removed, dir)
	}
	switch {
	case t.Copies && stays > 0:
		answer.Left[t.Home] = "a run that is not over may use the copies"
	case t.Copies:
		if err := t.removeCopies(); err != nil {
			answer.Left[t.Home] = err.Error()
		}
	}
	if t.Dir == "" {
		return answer, nil
	}
	return answer, t.moveIn()
}

// runs lists the directories in Home that may be those of runs, and those of
// Over that are not there.
func (t Tidying) runs() []string {
	var all []string
	entries, _ := os.ReadDir(t.Home)
	for _, e := range entries {
		dir := filepath.Join(t.Home, e.Name())
		known := slices.Contains(t.Over, dir)
		if _, err := os.Lstat(filepath.Join(dir, stayFile)); e.IsDir() && (err == nil || known) {
			all = append(all, dir)
		}
	}
	for _, dir := range t.Over {
		if !slices.Contains(all, dir) && filepath.Dir(dir) == filepath.Clean(t.Home) {
			all = append(all, dir)
		}
	}
	return all
}

// over tells whether nobody needs the directory of a run.
func (t Tidying) over(dir string) bool {
	if slices.Contains(t.Over, dir) {
		return true
	}
	var s Stay
	text, err := os.ReadFile(filepath.Join(dir, stayFile))
	if err != nil || json.Unmarshal(text, &s) != nil || s.Until.IsZero() {
		return false
	}
	return t.Now.After(s.Until.Add(staySlack)) && !inhabited(dir)
}

// inhabited tells whether a guard lives that is recorded in a run's directory.
func inhabited(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, ProcessesDir, "*.json"))
	self, _ := os.Hostname()
	for _, path := range files {
		var r ProcessRecord
		text, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(text, &r) == nil && r.Node == self && r.Boot == bootID() && r.guardLives() {
			return true
		}
	}
	return false
}

// removeRun ends what is left of a run and removes its directory.
func removeRun(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := private(dir); err != nil {
		return err
	}
	if _, err := Clean(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// removeCopies removes the copies of environments and of esched, and the user's
// directory when nothing else is in it.
func (t Tidying) removeCopies() error {
	for _, name := range []string{CopiesDir, BinaryDir} {
		if err := os.RemoveAll(filepath.Join(t.Home, name)); err != nil {
			return err
		}
	}
	_ = os.Remove(t.Home) // stays when it is not empty
	return nil
}

// moveIn makes the directory of a new stay and notes whose it is.
func (t Tidying) moveIn() error {
	if err := makePrivate(t.Dir); err != nil {
		return err
	}
	text, err := json.Marshal(t.Stay)
	if err != nil {
		return err
	}
	file := filepath.Join(t.Dir, stayFile)
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// makePrivate makes a directory that only this user can enter, or verifies that
// it is one. Its parents are made as well.
func makePrivate(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("directory %q: not an absolute path", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return private(dir)
}

// private verifies that dir is a directory, not a link to one, of this user,
// which nobody else can enter: names in /tmp can be guessed and taken by others.
func private(dir string) error {
	var s unix.Stat_t
	if err := unix.Lstat(strings.TrimRight(dir, "/"), &s); err != nil {
		return fmt.Errorf("directory %s: %w", dir, err)
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR || int(s.Uid) != os.Geteuid() || s.Mode&0o777 != 0o700 {
		return fmt.Errorf("%s: not a directory that only user %d can enter", dir, os.Geteuid())
	}
	return nil
}
