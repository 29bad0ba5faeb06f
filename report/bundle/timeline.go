package bundle

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// timeline packs the times of a trial's tasks. It is compressed text, and names
// tasks and workers: it is scrubbed like all texts, and compressed anew, so that
// its header tells nothing either.
func (b *builder) timeline(dir fs.FS, name string) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, err := unpacked(f)
	if err != nil {
		b.scrub.note("run/"+name, "left out: damaged, so it cannot be searched for secrets", 1)
		return nil
	}
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	_, err = packed.Write(b.scrub.json("run/"+name, lines))
	if err = errors.Join(err, packed.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.files["run/"+name] = data.Bytes()
	return nil
}

// unpacked returns the lines of a timeline.
func unpacked(r io.Reader) ([]byte, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	lines, err := io.ReadAll(io.LimitReader(packed, record.TimelineLimit+1))
	if err == nil && len(lines) > record.TimelineLimit {
		err = fmt.Errorf("larger than %d bytes", record.TimelineLimit)
	}
	return lines, err
}

// rebuild makes the report of a run as it is in a bundle, with the timelines
// that are there.
func rebuild(run *record.Run, files map[string][]byte) (*report.Report, error) {
	read := func(rec *record.Record, parse func(io.Reader) (*record.Timeline, error)) (*record.Timeline, error) {
		name := path.Clean(filepath.ToSlash(rec.Timeline))
		data, ok := files["run/"+name]
		if !ok || !strings.HasPrefix(name, tasksDir+"/") {
			return nil, fmt.Errorf("timeline %s of trial %s: not in the bundle", name, rec.ID)
		}
		t, err := parse(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("timeline %s of trial %s: %w", name, rec.ID, err)
		}
		return t, nil
	}
	return report.BuildWith([]*record.Run{run}, report.Options{
		Timeline: func(_ *record.Run, rec *record.Record) (*record.Timeline, error) {
			return read(rec, record.ReadTimeline)
		},
		Chain: func(_ *record.Run, rec *record.Record) (float64, error) {
			t, err := read(rec, record.ReadSums)
			if err != nil {
				return 0, err
			}
			return t.PathS, nil
		},
	})
}
