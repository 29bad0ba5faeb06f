package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

// remains notes what a node may have of a run when nobody works on it any more:
// the run's directory, or the copies that outlive runs. A note is on this
// machine's disk before there is anything on the node, and goes when the node
// has nothing any more.
type remains struct {
	Host string `json:"host"`
	// Cluster says how the host is reached.
	Cluster clusterOptions `json:"cluster"`
	// Home is the user's directory on the node, Dir that of the run in it; "" in a
	// note of copies.
	Home string `json:"home"`
	Dir  string `json:"dir,omitempty"`
	// Run and Reservation (its id) are what Dir was for, until Until.
	Run         string    `json:"run,omitempty"`
	Reservation string    `json:"reservation,omitempty"`
	Until       time.Time `json:"until,omitzero"`
}

// remainsDir has a file for each note, which several runs, also on several head
// nodes, write and remove without a lock.
func (p Process) remainsDir() string { return filepath.Join(p.stateDir(), "nodes") }

// file names the note. Directories of runs have unique names.
func (r remains) file() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Cluster.Kind, r.Cluster.Name, r.Host, r.Home, r.Dir}, "\x00")))
	return hex.EncodeToString(sum[:12]) + ".json"
}

// note writes a note; one of the same directory is replaced.
func (p Process) note(r remains) error {
	r.Cluster.Hosts = nil // one of them counts
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(p.remainsDir(), 0o700)
	}
	if err == nil {
		err = p.replaceFile(filepath.Join(p.remainsDir(), r.file()), func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
	}
	if err != nil {
		return hint.With(fmt.Errorf("note of files on %s: %w", r.Host, err), "set XDG_STATE_HOME to a directory with room that you can write to")
	}
	return nil
}

// forget removes a note. That there is none is no error.
func (p Process) forget(r remains) error {
	if err := os.Remove(filepath.Join(p.remainsDir(), r.file())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("note of files on %s: %w", r.Host, err)
	}
	return nil
}

// allRemains reads all notes.
func (p Process) allRemains() ([]remains, error) {
	entries, err := os.ReadDir(p.remainsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("notes of files on nodes: %w", err)
	}
	var all []remains
	for _, e := range entries {
		path := filepath.Join(p.remainsDir(), e.Name())
		if !strings.HasSuffix(path, ".json") {
			continue // one that is being written
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // nothing is there any more
		}
		var r remains
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err == nil && (r.Host == "" || r.Home == "") {
			err = errors.New("corrupt: host or directory is missing")
		}
		if err != nil {
			return nil, hint.With(fmt.Errorf("note of files on a node: %s: %w", path, err), "remove "+path)
		}
		all = append(all, r)
	}
	return all, nil
}
