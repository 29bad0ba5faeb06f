package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ProgressFile holds the newest [Progress] of a run that goes on. It is
// replaced, not appended to: a long run has many seconds.
const ProgressFile = "progress.json"

// Progress is how far the trial is that runs, as Dask's scheduler counted it
// at a moment.
type Progress struct {
	// Time is when the scheduler was asked, Trial the trial's id, Seconds for how
	// long its tasks are known to the scheduler.
	Time    time.Time `json:"time"`
	Trial   string    `json:"trial"`
	Seconds float64   `json:"seconds"`
	// Done of the tasks that were Submitted so far are executed, Erred raised,
	// Queued wait for a free worker.
	Done      int `json:"done"`
	Submitted int `json:"submitted"`
	Erred     int `json:"erred,omitempty"`
	Queued    int `json:"queued"`
	// TasksPerS is the rate of the last seconds.
	TasksPerS float64 `json:"tasks_per_s"`
	// Busy of the Workers have something to do, and Occupied of their Threads.
	Workers  int `json:"workers"`
	Busy     int `json:"busy"`
	Threads  int `json:"threads"`
	Occupied int `json:"occupied"`
	// Sidekick is nil where Dask decides.
	Sidekick *ProgressDecisions `json:"sidekick,omitempty"`
}

// ProgressDecisions are those of a sidekick in the trial that runs.
type ProgressDecisions struct {
	Decisions int `json:"decisions"`
	Fallbacks int `json:"fallbacks"`
	// PerS is the rate of the last seconds, BlockedShare the part of these in
	// which Dask's scheduler waited for an answer, in [0, 1].
	PerS         float64 `json:"per_s"`
	BlockedShare float64 `json:"blocked_share"`
}

// PutProgress replaces the progress of the run. It does not wait for the disk:
// what is lost with the machine is of no further use.
func (s *Store) PutProgress(p Progress) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trials == nil {
		return errClosed
	}
	path := filepath.Join(s.dir, ProgressFile)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o666); err != nil {
		return placed(fmt.Errorf("progress: %w", err), s.dir)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return placed(fmt.Errorf("progress: %w", err), s.dir)
	}
	return nil
}

// removeProgress leaves nothing that could be taken for news.
func (s *Store) removeProgress() error {
	path := filepath.Join(s.dir, ProgressFile)
	for _, name := range []string{path, path + ".new"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ReadProgress returns what a run in dir last told of its trial; nil when it
// told nothing. It may be that of a trial that has ended since.
func ReadProgress(dir string) (*Progress, error) {
	b, err := os.ReadFile(filepath.Join(dir, ProgressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("progress of run %s: %w", dir, err)
	}
	var p Progress
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("progress of run %s: %w", dir, err)
	}
	return &p, nil
}
