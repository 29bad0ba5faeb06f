package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessRecord is what a guard writes down about the command it supervises,
// before the command runs, and removes when nothing of it is left. A record
// that is still there after its run tells what may have been left behind.
type ProcessRecord struct {
	Name       string   `json:"name"`
	Host       string   `json:"host"`        // the node as the reservation calls it
	Node       string   `json:"node"`        // the node as it calls itself
	Boot       string   `json:"boot"`        // boot id of the node
	Guard      int      `json:"guard"`       // process id of the guard
	GuardStart uint64   `json:"guard_start"` // its start, in clock ticks after boot
	PID        int      `json:"pid"`         // process id (and session) of the command; 0 before it runs
	Start      uint64   `json:"start"`       // its start, in clock ticks after boot
	Mark       string   `json:"mark"`        // entry in the environment of the command and its descendants
	Argv       []string `json:"argv"`
}

// markVariable names the environment variable that marks the descendants of a
// supervised command.
const markVariable = "ESCHED_PROCESS"

// ProcessesDir is the directory, below that of a run, with the records of its
// processes.
const ProcessesDir = "processes"

// save writes the record atomically: to path, or when path is empty to a new
// file in dir. It returns the path.
func (r ProcessRecord) save(dir, path string) (string, error) {
	if path == "" {
		host := strings.ReplaceAll(r.Host, "/", "-")
		name := strings.ReplaceAll(r.Name, "/", "-")
		path = filepath.Join(dir, fmt.Sprintf("%s-%s-%d.json", host, name, r.Guard))
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("process record: %w", err)
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, append(text, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("process record: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", fmt.Errorf("process record: %w", err)
	}
	return path, nil
}

// Ended is a process that [Clean] found running and ended.
type Ended struct {
	Name string
	Host string
	PID  int
}

// Bounds of Clean, for one record.
const (
	// cleanBound is how long Clean waits for the end of the processes.
	cleanBound = 30 * time.Second
	// guardEnds is how long a guard that is asked to end may take. Its own grace is
	// shorter, and what it does not end is killed.
	guardEnds = 5 * time.Second
)

// Clean ends the processes on this machine that the run in runDir recorded and
// left, and removes their records. It must not be called for a run that is
// still going on. Processes are recognised by what was recorded (boot of the
// machine, process id with start time, mark in the environment), never by
// name; records of other machines are left alone. The error names records
// that could not be dealt with; the others are dealt with all the same.
func Clean(runDir string) ([]Ended, error) {
	dir := filepath.Join(runDir, ProcessesDir)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("process records of %s: %w", runDir, err)
	}
	self, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	var ended []Ended
	var errs []error
	for _, path := range files {
		e, err := cleanRecord(path, self)
		ended = append(ended, e...)
		if err != nil {
			errs = append(errs, fmt.Errorf("process record %s: %w", path, err))
		}
	}
	return ended, errors.Join(errs...)
}

func cleanRecord(path, self string) ([]Ended, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // its guard is done
	}
	if err != nil {
		return nil, err
	}
	var r ProcessRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if r.Node != self {
		return nil, nil
	}
	ended, err := r.end()
	if err != nil {
		return ended, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return ended, err
	}
	return ended, nil
}

// end ends what is left of the recorded process. A living guard is asked, as
// it knows all descendants; then everything that carries the mark is killed.
func (r ProcessRecord) end() ([]Ended, error) {
	if r.Boot != bootID() {
		return nil, nil // the machine restarted since: nothing of it lives
	}
	bound := time.Now().Add(cleanBound)
	var ended []Ended
	known := map[int]bool{}
	if there, _ := killExactly(r.Guard, r.GuardStart, unix.SIGTERM); there {
		_, _ = killExactly(r.Guard, r.GuardStart, unix.SIGCONT) // one that was stopped takes no signal before
		ended = append(ended, Ended{r.Name, r.Host, r.PID})
		known[r.PID] = true
		for late := time.Now().Add(guardEnds); time.Now().Before(late) && r.guardLives(); {
			time.Sleep(sweep)
		}
		_, _ = killExactly(r.Guard, r.GuardStart, unix.SIGKILL)
	}
	for {
		left, err := r.descendants()
		if err != nil || len(left) == 0 {
			return ended, err
		}
		for _, p := range left {
			if _, err := killExactly(p.pid, p.start, unix.SIGKILL); err != nil {
				return ended, err
			}
			if !known[p.pid] {
				ended = append(ended, Ended{r.Name, r.Host, p.pid})
			}
			known[p.pid] = true
		}
		if time.Now().After(bound) {
			return ended, fmt.Errorf("process %d still runs %v after being killed", left[0].pid, cleanBound)
		}
		time.Sleep(sweep)
	}
}

func (r ProcessRecord) guardLives() bool {
	s, err := readStat(r.Guard)
	return err == nil && s.start == r.GuardStart && !s.dead()
}

// descendants lists the living processes that the record leads to.
func (r ProcessRecord) descendants() ([]procStat, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var left []procStat
	for _, s := range all {
		if s.dead() {
			continue
		}
		if s.pid == r.PID && s.start == r.Start || hasMark(s.pid, r.Mark) {
			left = append(left, s)
		}
	}
	return left, nil
}
