package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// Run is everything a run directory holds, as far as it can be read.
type Run struct {
	// Dir is where it was read from.
	Dir      string
	Manifest Manifest
	// Records holds one record for each measured trial, in the order in which
	// they were recorded, and every warm-up. Of several records of one trial the
	// last ok one counts, or the last when none is ok; Superseded holds the
	// others.
	Records    []Record
	Superseded []Record
	Events     []Event
	// Warnings tells what is missing or damaged, a sentence each without a final
	// full stop.
	Warnings []string
}

// Read reads a run directory, also one that is being written to. Damage is
// told in Warnings; an error means that there is no run to read. Numbers in
// Params and Settings are [json.Number], so that trials keep their identity.
func Read(dir string) (*Run, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a directory", dir)
	}
	if err != nil {
		return nil, hint.With(fmt.Errorf("run: %w", err), "name the directory of a run, the one that holds "+ManifestFile)
	}
	run := &Run{Dir: dir}
	found := false
	run.Manifest, err = readManifest(dir)
	switch {
	case err == nil:
		found = true
	case errors.Is(err, fs.ErrNotExist):
		run.warn("%s is missing: what was planned and where it ran is not known", ManifestFile)
	default:
		found = true
		run.warn("%v: what was planned and where it ran is not known", err)
	}

	all, there, err := readLines(run, TrialsFile, checkRecord)
	if err != nil {
		return nil, err
	}
	run.keepLastOK(all)
	found = found || there
	run.Events, there, err = readLines(run, EventsFile, checkEvent)
	if err != nil {
		return nil, err
	}
	if !found && !there {
		err := fmt.Errorf("%s: holds no run (no %s, %s or %s)", dir, ManifestFile, TrialsFile, EventsFile)
		return nil, hint.With(err, "name the directory of a run, the one that holds "+ManifestFile)
	}
	return run, nil
}

func (r *Run) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// keepLastOK splits the records into those that count and those that do not.
func (r *Run) keepLastOK(all []Record) {
	last := make(map[string]int) // trial id -> index in all
	var repeated []string
	for i, rec := range all {
		if rec.Warmup {
			continue // each block has its own warm-ups, with the same identity
		}
		j, seen := last[rec.ID]
		if seen && all[j].Status != StatusSkipped && len(repeated) < 5 {
			repeated = append(repeated, rec.ID)
		}
		if !seen || rec.Status == StatusOK || all[j].Status != StatusOK {
			last[rec.ID] = i
		}
	}
	for i, rec := range all {
		if rec.Warmup || last[rec.ID] == i {
			r.Records = append(r.Records, rec)
		} else {
			r.Superseded = append(r.Superseded, rec)
		}
	}
	n := 0
	for _, rec := range r.Superseded {
		if rec.Status != StatusSkipped { // the end of a claim is no reason to worry
			n++
		}
	}
	if n > 0 {
		r.warn("%d further records of trials recorded more than once (%s) do not count: the last ok one does",
			n, strings.Join(repeated, ", "))
	}
}

func readManifest(dir string) (Manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := decode(b, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	if m.Schema > Schema {
		err := fmt.Errorf("%s has schema %d, this esched reads up to %d", ManifestFile, m.Schema, Schema)
		return Manifest{}, hint.With(err, "use the version of esched that wrote the run, or a newer one")
	}
	return m, nil
}

// readLines reads the values of a file of JSON lines. It warns of lines that
// are damaged or that check refuses, and tells whether the file is there.
func readLines[T any](run *Run, name string, check func(*T) error) (values []T, there bool, err error) {
	b, err := os.ReadFile(filepath.Join(run.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		run.warn("%s is missing", name)
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("run %s: %w", run.Dir, err)
	}
	for number := 1; len(b) > 0; number++ {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		b = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var v T
		err := decode(line, &v)
		if err != nil && !whole {
			run.warn("%s: the last line (%d) is torn and was dropped", name, number)
			break
		}
		if err == nil {
			err = check(&v)
		}
		if err != nil {
			run.warn("%s: line %d was left out: %v", name, number, err)
			continue
		}
		values = append(values, v)
	}
	return values, true, nil
}

func checkRecord(r *Record) error {
	switch {
	case r.Schema > Schema:
		return fmt.Errorf("it has schema %d, this esched reads up to %d", r.Schema, Schema)
	case r.Schema < 1:
		return errors.New("it has no schema")
	case r.ID == "":
		return errors.New("it names no trial")
	}
	switch r.Status {
	case StatusOK, StatusFailed, StatusTimeout, StatusSkipped:
		return nil
	}
	return fmt.Errorf("its status is %q", r.Status)
}

func checkEvent(e *Event) error {
	if e.Kind == "" {
		return errors.New("it has no kind")
	}
	return nil
}

// decode keeps numbers of free-form values as they were written: a parameter
// of 2^53 or more, turned into a float, would change the identity of its trial.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}
