package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// scratchLink is a symbolic link in the run directory to the run's scratch
// directory, there as long as the scratch directory is.
const scratchLink = "scratch"

// makeScratch makes the directory for sockets and scratch files of a run and
// notes it in the run directory, so that a later session finds it.
func (p Process) makeScratch(run string) (string, error) {
	dir, err := p.privateDir("esched")
	if err != nil {
		return "", fmt.Errorf("scratch directory: %w", err)
	}
	link := p.path(filepath.Join(run, scratchLink))
	err = os.Symlink(dir, link)
	if errors.Is(err, fs.ErrExist) { // a killed session's
		if err = p.removeScratch(run); err == nil {
			err = os.Symlink(dir, link)
		}
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("scratch directory: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

// scratchOf returns the scratch directory that a run notes, "" without one.
func (p Process) scratchOf(run string) string {
	dir, err := os.Readlink(p.path(filepath.Join(run, scratchLink)))
	if err != nil {
		return ""
	}
	return dir
}

// removeScratch removes the scratch directory of a run. A link that does not
// lead to where esched makes them is only removed itself.
func (p Process) removeScratch(run string) error {
	dir := p.scratchOf(run)
	if dir == "" {
		return nil
	}
	parent := filepath.Dir(dir)
	ours := strings.HasPrefix(filepath.Base(dir), "esched-") && filepath.IsAbs(dir) &&
		(parent == filepath.Clean(p.Temp) || parent == filepath.Clean(p.env("XDG_RUNTIME_DIR")))
	if ours {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return os.Remove(p.path(filepath.Join(run, scratchLink)))
}
