package workloads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

const (
	// expediaModule is the Python module that makes the data set.
	expediaModule = "esched_workloads.expedia"
	// expediaSchema is the version of manifests.
	expediaSchema = 1
	// defaultExpediaRows of each table are some megabytes in memory.
	defaultExpediaRows = 20_000
	// maxExpediaRows bounds what is generated, quickExpediaRows what is generated
	// unasked: ten microseconds of a core for each row of both tables.
	maxExpediaRows   = 100_000_000
	quickExpediaRows = 6_000_000
	// A part has a 256th of a table, but at least and at most so many rows.
	expediaDivision = 256
	leastPartRows   = 2_500
	mostPartRows    = 20_000
)

// expediaPartRows is the number of rows of each part but the last of generated
// tables.
func expediaPartRows(rows int64) int64 {
	return min(max(rows/expediaDivision, leastPartRows), mostPartRows)
}

// expediaParts is the number of parts of each generated table.
func expediaParts(rows int64) int64 {
	size := expediaPartRows(rows)
	return (rows + size - 1) / size
}

func expedia() Provider {
	return Provider{
		Name: "expedia",
		Doc:  "hotels shown to people who searched for one, for the workload pipeline",
		Describe: `
Hotels that were shown to people who searched for one: a training table with 54
columns and a test table with 50, which lacks what people did then (position,
click_bool, gross_bookings_usd, booking_bool). The schema is that of the
competition "Personalize Expedia Hotel Searches" on Kaggle, of 2013.

Generated data have the shares of missing values, ranges and correlations that
are commonly described for the original: no row of it was used. Equal options
give equal files. Twenty thousand rows take a second and 1 MB, six million
some two minutes and 400 MB.

The original has 5 million rows in either table, in two CSV files of 1.2 GB. It
may not be passed on: get it from Kaggle under its rules, and name the directory
or the URL where your copy is with --source. Files are downloaded with
resumption, and checked if there is a list SHA256SUMS beside them.

Either is kept as Parquet files, which never cut a search.`,
		Params: []Param{
			{Name: "source", Type: String, File: true, Default: sourceGenerated, Doc: `"generated", or the directory or URL with the original's CSV files`},
			{Name: "rows", Type: Int, Min: 1, Max: maxExpediaRows, Default: int64(defaultExpediaRows), Doc: "generated rows of each table"},
			{Name: "seed", Type: Int, Min: 0, Max: 1 << 53, Default: int64(1), Doc: "seed of what is generated"},
			{Name: "train", Type: String, Default: "train.csv", Doc: "name of the file with the original's training table"},
			{Name: "test", Type: String, Default: "test.csv", Doc: "name of the file with the original's test table"},
		},
		Status: expediaStatus,
		Obtain: obtainExpedia,
	}
}

// expediaPath is where the data set of some options is.
func expediaPath(dir string, options map[string]any) (string, error) {
	if options["source"] != sourceGenerated {
		return filepath.Join(dir, sourcePublished), nil
	}
	rows, err := whole(options, "rows")
	if err != nil {
		return "", err
	}
	seed, err := whole(options, "seed")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%d-%d", sourceGenerated, rows, seed)), nil
}

// expediaManifest is what a complete data set says of its parts.
type expediaManifest struct {
	Schema int           `json:"schema"`
	Train  []expediaPart `json:"train"`
	Test   []expediaPart `json:"test"`
}

type expediaPart struct {
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
}

func expediaStatus(ctx context.Context, dir string, options map[string]any) (DataStatus, error) {
	path, err := expediaPath(dir, options)
	if err != nil {
		return DataStatus{}, err
	}
	s := DataStatus{Path: path, Detail: "the original's files are not converted yet"}
	if options["source"] == sourceGenerated {
		rows, _ := whole(options, "rows") // expediaPath refused what is none
		s.Quick = rows <= quickExpediaRows
		s.Detail = grouped(rows) + " rows of each table are not generated yet"
	}
	b, err := os.ReadFile(filepath.Join(path, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var m expediaManifest
	if err := json.Unmarshal(b, &m); err != nil || m.Schema != expediaSchema {
		s.Detail = "manifest.json is damaged, or of another version"
		return s, nil
	}
	return m.look(ctx, s)
}

// look compares the parts that are there with the manifest.
func (m expediaManifest) look(ctx context.Context, s DataStatus) (DataStatus, error) {
	var missing, files int
	var rows int64
	for _, table := range []struct {
		name  string
		parts []expediaPart
	}{{"train", m.Train}, {"test", m.Test}} {
		for i, part := range table.parts {
			if ctx.Err() != nil {
				return s, context.Cause(ctx)
			}
			files++
			info, err := os.Stat(filepath.Join(s.Path, table.name, fmt.Sprintf("part-%05d.parquet", i)))
			switch {
			case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() != part.Bytes:
				missing++
				continue
			case err != nil:
				return s, err
			}
			rows += part.Rows
			s.Bytes += part.Bytes
		}
	}
	if missing > 0 || files == 0 {
		s.Detail = fmt.Sprintf("%d of %d files are missing or damaged", missing, files)
		return s, nil
	}
	s.Present = true
	s.Detail = fmt.Sprintf("%s rows in %d files, %.1f MB", grouped(rows), files, float64(s.Bytes)/1e6)
	return s, nil
}

func obtainExpedia(ctx context.Context, o Obtain) error {
	path, err := expediaPath(o.Dir, o.Options)
	if err != nil {
		return err
	}
	status, err := expediaStatus(ctx, o.Dir, o.Options)
	if err != nil || status.Present {
		return err
	}
	if o.Python == nil {
		return errors.New("there is no Python to make it with")
	}
	if o.Options["source"] != sourceGenerated {
		return convertExpedia(ctx, o, path)
	}
	rows, _ := whole(o.Options, "rows") // expediaPath refused what is none
	seed, _ := whole(o.Options, "seed")
	return o.Python(ctx, &counting{tell: o.Progress, what: "generate"}, expediaModule, "generate", path,
		"--rows", fmt.Sprint(rows), "--part-rows", fmt.Sprint(expediaPartRows(rows)), "--seed", fmt.Sprint(seed))
}

// counting turns lines "ROWS TOTAL" that a module prints into progress.
type counting struct {
	tell func(Progress)
	what string
	rest []byte
}

func (c *counting) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		line, rest, whole := bytes.Cut(c.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		c.rest = rest
		first, second, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		done, err := strconv.ParseInt(string(first), 10, 64)
		total, err2 := strconv.ParseInt(string(second), 10, 64)
		if err == nil && err2 == nil {
			c.tell(Progress{What: c.what, Done: done, Total: total, Unit: "rows"})
		}
	}
}
