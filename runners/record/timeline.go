package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// TasksDir is the directory of timelines in a run directory.
const TasksDir = "tasks"

// TimelineLimit bounds what a timeline is unpacked to, in bytes: a few kilobytes
// of a damaged file can promise gigabytes.
const TimelineLimit = 256 << 20

// Timeline tells when the tasks of a trial ran. All times are seconds of the
// scheduler's clock since the first task came to it.
type Timeline struct {
	Schema int `json:"schema"`
	// Tasks counts all executed tasks; every so many of them is in Spans.
	Tasks int `json:"tasks"`
	Every int `json:"every"`
	// WorkS is the time that all tasks took, TransferS the time workers spent
	// fetching data for them, PathS the longest chain of dependent tasks: no
	// number of workers can be faster.
	WorkS     float64 `json:"work_s"`
	TransferS float64 `json:"transfer_s"`
	PathS     float64 `json:"path_s"`
	// Prefixes are the kinds of tasks, Workers the names of workers.
	Prefixes []string `json:"prefixes"`
	Workers  []string `json:"workers"`

	Spans []Span `json:"-"`
}

// Span is a task on a worker. Prefix and Worker are indices. It could have
// begun at Ready. Transfers are from-to pairs, one after the other.
type Span struct {
	Prefix, Worker  int
	Ready, From, To float64
	Transfers       []float64
}

// UnmarshalJSON reads the array that a line holds.
func (s *Span) UnmarshalJSON(b []byte) error {
	fields := []any{&s.Prefix, &s.Worker, &s.Ready, &s.From, &s.To, &s.Transfers}
	want := len(fields)
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	if len(fields) != want || len(s.Transfers)%2 != 0 || s.To < s.From {
		return errors.New("not a task's times")
	}
	return nil
}

// WriteTimeline puts the compressed lines of a timeline, as a driver made
// them, into a run directory and returns the name for [Record.Timeline].
func WriteTimeline(dir, trial string, lines []byte) (string, error) {
	if _, err := ReadTimeline(bytes.NewReader(lines)); err != nil {
		return "", fmt.Errorf("timeline of trial %s: %w", trial, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, TasksDir), 0o777); err != nil {
		return "", placed(fmt.Errorf("timeline of trial %s: %w", trial, err), dir)
	}
	name := filepath.Join(TasksDir, trial+".jsonl.gz")
	if err := renameio.WriteFile(filepath.Join(dir, name), lines, 0o666); err != nil {
		return "", placed(fmt.Errorf("timeline of trial %s: %w", trial, err), dir)
	}
	return name, nil
}

// Timeline reads the timeline of one of the run's records.
func (r *Run) Timeline(rec *Record) (*Timeline, error) { return r.timeline(rec, ReadTimeline) }

// LongestChain reads only [Timeline.PathS] of one of the run's records, in
// seconds, without the tasks.
func (r *Run) LongestChain(rec *Record) (float64, error) {
	t, err := r.timeline(rec, ReadSums)
	if err != nil {
		return 0, err
	}
	return t.PathS, nil
}

func (r *Run) timeline(rec *Record, parse func(io.Reader) (*Timeline, error)) (*Timeline, error) {
	name := filepath.Clean(rec.Timeline)
	if !filepath.IsLocal(name) || !strings.HasPrefix(name, TasksDir+string(filepath.Separator)) {
		return nil, fmt.Errorf("timeline %q of trial %s: not in %s", rec.Timeline, rec.ID, TasksDir)
	}
	f, err := os.Open(filepath.Join(r.Dir, name))
	if err != nil {
		return nil, fmt.Errorf("timeline of trial %s: %w", rec.ID, err)
	}
	defer f.Close()
	t, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("timeline %s: %w", name, err)
	}
	return t, nil
}

// ReadSums reads the compressed lines of a timeline as far as it is sums:
// without its Spans.
func ReadSums(r io.Reader) (*Timeline, error) {
	t, _, err := parseHead(r)
	return t, err
}

// parseHead reads the sums of a timeline; lines are those of its tasks.
func parseHead(r io.Reader) (t *Timeline, lines *bufio.Scanner, err error) {
	z, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, nil, err
	}
	lines = bufio.NewScanner(io.LimitReader(z, TimelineLimit))
	lines.Buffer(make([]byte, 4<<10), 16<<20)
	if !lines.Scan() {
		return nil, nil, errors.Join(errors.New("no first line"), lines.Err())
	}
	t = &Timeline{}
	if err := decode(lines.Bytes(), t); err != nil {
		return nil, nil, err
	}
	if t.Schema < 1 || t.Schema > Schema {
		return nil, nil, fmt.Errorf("schema %d, this esched reads up to %d", t.Schema, Schema)
	}
	t.Every = max(t.Every, 1)
	return t, lines, nil
}

// ReadTimeline reads the compressed lines of a timeline.
func ReadTimeline(r io.Reader) (*Timeline, error) {
	t, lines, err := parseHead(r)
	if err != nil {
		return nil, err
	}
	for lines.Scan() {
		var s Span
		if err := s.UnmarshalJSON(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("task %d: %w", len(t.Spans)+1, err)
		}
		if s.Prefix < 0 || s.Prefix >= len(t.Prefixes) || s.Worker < 0 || s.Worker >= len(t.Workers) {
			return nil, fmt.Errorf("task %d: unknown prefix or worker", len(t.Spans)+1)
		}
		t.Spans = append(t.Spans, s)
	}
	return t, lines.Err()
}
