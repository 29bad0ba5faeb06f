package workloads

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/esched/esched/internal/download"
	"github.com/esched/esched/internal/hint"
)

const (
	// taxiRows is how many trips of 2014 were published.
	taxiRows = 165_000_000
	// quickRows is how many trips can be made within a few minutes.
	quickRows = 50_000_000
	// taxiNote is the file that makes a data set complete: see
	// esched_workloads/taxi.py.
	taxiNote = "_trips.json"
)

// taxiLocation is where the city's commission publishes the trips.
const taxiLocation = "https://d37ci6vzurychx.cloudfront.net/trip-data"

func taxi() Provider {
	return Provider{
		Name: "taxi",
		Doc:  "trips of yellow taxis in New York in 2014",
		Describe: `
Trips of yellow taxis in New York in 2014, as Parquet files. By default they are
made up: columns, types and ranges of values are those of the published files,
the distributions are plausible, and the same seed gives the same files. A
million of them takes a second or two on each core.

With --source they are the real ones, a file a month, from a directory or a
location that serves files over HTTP, such as the publisher's:

  esched data taxi --source ` + taxiLocation + `

That is some 2 GB for the whole year (165 million trips); --files 1 gets January
only. What is interrupted continues where it stopped. If there is a list
` + checksumList + ` beside the files, as sha256sum writes it, they are compared with it;
the publisher has none, so there it is lengths and what is in the files. The
SHA-256 of each file is noted, and a file that was changed later is refused.
For terms of use see the NYC Taxi and Limousine Commission's page on trip records.

The files published in 2014 have 18 columns, those published now 19; both can be
made (--schema) and read.`,
		Params: []Param{
			{Name: "source", Type: String, File: true, Default: sourceGenerated, Doc: `"generated", or the directory or URL with the published files`},
			{Name: "rows", Type: Int, Min: 1, Max: 2e9, Default: int64(400_000), Doc: "trips to make"},
			{Name: "files", Type: Int, Min: 1, Max: 365, Default: int64(12), Doc: "files to make; or months to get, from January"},
			{Name: "seed", Type: Int, Min: 0, Max: 1 << 31, Default: int64(1), Doc: "seed of trips that are made"},
			{Name: "schema", Type: String, Choices: []string{"current", "2014"}, Default: "current", Doc: "columns of trips that are made"},
		},
		Status: taxiStatus,
		Obtain: obtainTaxi,
	}
}

// trips is what options of the taxi data ask for.
type trips struct {
	source, schema    string
	rows, files, seed int64
	dir               string // of its files
}

func tripsOf(dir string, options map[string]any) (trips, error) {
	var t trips
	var err error
	for name, field := range map[string]*int64{"rows": &t.rows, "files": &t.files, "seed": &t.seed} {
		if *field, err = whole(options, name); err != nil {
			return t, err
		}
	}
	t.source, _ = options["source"].(string) // the command accepts texts only
	t.schema, _ = options["schema"].(string)
	if t.source != sourceGenerated {
		t.dir = filepath.Join(dir, "published")
		if t.files > 12 {
			return t, hint.WithExit(fmt.Errorf("%d files: the trips of a year are published in 12", t.files), hint.ExitUsage)
		}
		return t, nil
	}
	t.dir = filepath.Join(dir, fmt.Sprintf("generated-%s-%d-%d-%d", t.schema, t.rows, t.files, t.seed))
	if t.files > t.rows {
		return t, hint.WithExit(fmt.Errorf("%d files of %d trips", t.files, t.rows), hint.ExitUsage)
	}
	return t, nil
}

// tripsNote is what the note beside complete files says.
type tripsNote struct {
	Files []notedTrips `json:"files"`
}

// notedTrips is a file as it was when it was made or fetched.
type notedTrips struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	Schema string `json:"schema"` // its columns, a choice of the option schema
	// SHA256 of the content at the time of the last change, in nanoseconds of
	// the epoch; of published files only, which nobody could make anew.
	SHA256   string `json:"sha256"`
	Modified int64  `json:"modified_ns"`
}

// look says what is wrong with the file in a directory, "" when nothing is. It
// reads the content only of a file that has another time of change than noted.
func (f notedTrips) look(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, f.Name)
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Size() != f.Bytes:
		return f.Name + " is missing or has another size", nil
	case f.SHA256 == "" || info.ModTime().UnixNano() == f.Modified:
		return "", nil
	}
	err = download.Matches(ctx, path, f.SHA256)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return f.Name + " was changed since it was fetched", nil
	}
	return "", nil
}

// noted reads the note, nil when there is none or none that can be read.
func (t trips) noted() []notedTrips {
	var note tripsNote
	text, err := os.ReadFile(filepath.Join(t.dir, taxiNote))
	if err != nil || json.Unmarshal(text, &note) != nil {
		return nil
	}
	return note.Files
}

// unchanged refuses files that are not what was fetched: a new note would tell
// of them as if they were.
func (t trips) unchanged(ctx context.Context) error {
	for _, f := range t.noted() {
		path := filepath.Join(t.dir, f.Name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || f.SHA256 == "" {
			continue
		}
		problem, err := f.look(ctx, t.dir)
		if err != nil {
			return err
		}
		if problem != "" {
			return hint.With(fmt.Errorf("%s: not the content that was fetched", path), "remove it to get it again")
		}
	}
	return nil
}

func taxiStatus(ctx context.Context, dir string, options map[string]any) (DataStatus, error) {
	t, err := tripsOf(dir, options)
	if err != nil {
		return DataStatus{}, err
	}
	s := DataStatus{Path: t.dir, Quick: t.source == sourceGenerated && t.rows <= quickRows}
	text, err := os.ReadFile(filepath.Join(t.dir, taxiNote))
	if errors.Is(err, fs.ErrNotExist) {
		s.Detail = t.missing()
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var note tripsNote
	if err := json.Unmarshal(text, &note); err != nil {
		s.Detail = fmt.Sprintf("the note %s cannot be read: %v", taxiNote, err)
		return s, nil
	}
	if int64(len(note.Files)) < t.files {
		s.Detail = fmt.Sprintf("%d of %d files are there", len(note.Files), t.files)
		return s, nil
	}
	var rows int64
	for _, f := range note.Files[:t.files] {
		problem, err := f.look(ctx, t.dir)
		if err != nil {
			return s, err
		}
		if t.source == "" && f.Schema != t.schema { // a trial says what it expects
			err := fmt.Errorf("%s has the columns of the schema %q, the workload asks for %q", f.Name, f.Schema, t.schema)
			return s, hint.WithExit(hint.With(err, fmt.Sprintf("set schema = %q in the workload's table", f.Schema)), hint.ExitUsage)
		}
		if problem != "" {
			s.Detail = problem
			return s, nil
		}
		rows += f.Rows
		s.Bytes += f.Bytes
	}
	s.Present = true
	s.Detail = fmt.Sprintf("%s trips in %d files, %.1f MB", grouped(rows), t.files, float64(s.Bytes)/1e6)
	return s, nil
}

// missing says what there is of files that are not complete.
func (t trips) missing() string {
	there, _ := filepath.Glob(filepath.Join(t.dir, "*.parquet")) // the pattern is well-formed
	if t.source != sourceGenerated {
		return fmt.Sprintf("%d of %d published files are there", len(there), t.files)
	}
	text := grouped(t.rows) + " trips are to be made"
	if len(there) > 0 {
		text += fmt.Sprintf("; %d of %d files are there", len(there), t.files)
	}
	return text
}

func obtainTaxi(ctx context.Context, o Obtain) error {
	t, err := tripsOf(o.Dir, o.Options)
	if err != nil {
		return err
	}
	if s, err := taxiStatus(ctx, o.Dir, o.Options); err != nil || s.Present {
		return err
	}
	if o.Python == nil {
		return errors.New("no Python that could read or make Parquet files")
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	count := []string{"--files", strconv.FormatInt(t.files, 10)}
	if t.source != sourceGenerated {
		if err := t.unchanged(ctx); err != nil {
			return err
		}
		if err := t.download(ctx, o); err != nil {
			return err
		}
		return o.taxiPython(ctx, 0, append([]string{"check", t.dir}, count...)...)
	}
	return o.taxiPython(ctx, t.rows, append([]string{"generate", t.dir, "--schema", t.schema,
		"--rows", strconv.FormatInt(t.rows, 10), "--seed", strconv.FormatInt(t.seed, 10)}, count...)...)
}

// download gets the published files that are missing.
func (t trips) download(ctx context.Context, o Obtain) error {
	if t.source == "" {
		return hint.WithExit(hint.With(errors.New("no source of the published files"), "--source "+taxiLocation), hint.ExitUsage)
	}
	sums, err := download.Checksums(ctx, o.HTTP, download.Within(t.source, checksumList))
	if err != nil {
		return err
	}
	if sums == nil {
		o.Progress(Progress{What: "no list " + checksumList + " at the source: files are checked by their lengths"})
	}
	for month := range t.files {
		name := fmt.Sprintf("yellow_tripdata_2014-%02d.parquet", month+1)
		err := download.Get(ctx, o.HTTP, download.File{
			Source: download.Within(t.source, name), Path: filepath.Join(t.dir, name), SHA256: sums[name],
		}, func(done, total int64) { o.Progress(Progress{What: name, Done: done, Total: total, Unit: "B"}) })
		if errors.Is(err, download.ErrMissing) {
			return hint.With(err, "--source needs the directory or URL in which "+name+" is")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// taxiPython runs the module that makes and checks files, and passes on how far
// it is; rows is 0 while unknown.
func (o Obtain) taxiPython(ctx context.Context, rows int64, args ...string) error {
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done := map[string]int64{}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			action, count, _ := strings.Cut(lines.Text(), " ")
			n, err := strconv.ParseInt(count, 10, 64)
			if err != nil || !slices.Contains([]string{"generate", "check"}, action) {
				continue // of a library
			}
			done[action] += n
			o.Progress(Progress{What: action + " trips", Done: done[action], Total: rows, Unit: "rows"})
		}
		_, _ = io.Copy(io.Discard, out) // after a line that is too long, so that nobody waits
	}()
	err := o.Python(ctx, in, "esched_workloads.taxi_data", args...)
	in.Close()
	<-ended
	return err
}
