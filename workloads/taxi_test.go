package workloads

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
)

// obtainTrips makes a data set and returns where it is.
func obtainTrips(t *testing.T, interpreter, dir string, options map[string]any) string {
	t.Helper()
	all := taxi().Defaults()
	for name, value := range options {
		all[name] = value
	}
	var last Progress
	err := obtainTaxi(t.Context(), Obtain{
		Dir: dir, Options: all, HTTP: http.DefaultClient, Python: modules(t, interpreter), Progress: func(p Progress) { last = p },
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := taxiStatus(t.Context(), dir, all)
	if err != nil || !s.Present || s.Bytes == 0 {
		t.Fatalf("status: have %+v, %v", s, err)
	}
	if last.Unit != "rows" || last.Done == 0 {
		t.Errorf("progress ended with %+v", last)
	}
	return s.Path
}

// TestTaxiTrips makes the same trips with one process and with several, and
// after an interruption.
func TestTaxiTrips(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	options := map[string]any{"rows": int64(5000), "files": int64(3)}
	first := obtainTrips(t, python, t.TempDir(), options)
	dir := t.TempDir()
	second := obtainTrips(t, python, dir, options)
	for _, left := range []string{taxiNote, "yellow_tripdata_2014-002-of-003.parquet"} {
		if err := os.Remove(filepath.Join(second, left)); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.Stat(filepath.Join(second, "yellow_tripdata_2014-001-of-003.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := taxiStatus(t.Context(), dir, map[string]any{"source": "generated", "schema": "current", "rows": int64(5000), "files": int64(3), "seed": int64(1)})
	if want := "5,000 trips are to be made; 2 of 3 files are there"; err != nil || s.Present || !s.Quick || s.Detail != want {
		t.Errorf("interrupted: want %q, have %+v, %v", want, s, err)
	}
	obtainTrips(t, python, dir, options)
	if again, err := os.Stat(filepath.Join(second, kept.Name())); err != nil || !again.ModTime().Equal(kept.ModTime()) {
		t.Errorf("a file that was complete was made anew, or %v", err)
	}
	parallel := t.TempDir()
	if err := modules(t, python)(t.Context(), io.Discard, "esched_workloads.taxi_data",
		"generate", parallel, "--rows", "5000", "--files", "3", "--processes", "3"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		name := fmt.Sprintf("yellow_tripdata_2014-%03d-of-003.parquet", i+1)
		want, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{second, parallel} {
			if have, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(have) != string(want) {
				t.Errorf("%s differs between two makings, or %v", name, err)
			}
		}
	}
}

// taxiPeak makes so many row groups of 65,536 trips in a file, and prints the
// most memory that it had resident.
const taxiPeak = `
import sys

from esched_client import memory
from esched_workloads import taxi_data

taxi_data.GROUP = 1 << 16
groups = int(sys.argv.pop())
sys.argv += ["--rows", str(groups * taxi_data.GROUP), "--files", "1", "--processes", "1"]
taxi_data.main()
print("peak", memory.peak())
`

// TestTaxiMemory makes four times as many trips in no more memory: six further
// row groups would take 50 MB if they were kept.
func TestTaxiMemory(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	script := filepath.Join(t.TempDir(), "peak.py")
	if err := os.WriteFile(script, []byte(taxiPeak), 0o644); err != nil {
		t.Fatal(err)
	}
	peak := func(groups string) (bytes int64) {
		out := printed(t, python, script, "generate", t.TempDir(), groups)
		_, text, _ := strings.Cut(out, "peak ")
		if _, err := fmt.Sscan(text, &bytes); err != nil || bytes < 50<<20 {
			t.Fatalf("%s groups: peak %q, %v", groups, text, err)
		}
		return bytes
	}
	few, many := peak("2"), peak("8")
	t.Logf("2 row groups: %d MB, 8: %d MB", few/1_000_000, many/1_000_000)
	if many > few+30_000_000 {
		t.Errorf("peak with 2 row groups %d, with 8 %d", few, many)
	}
}

// TestTaxiDownload gets published files from a server, and refuses what holds no
// trips.
func TestTaxiDownload(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	published := obtainTrips(t, python, t.TempDir(), map[string]any{"rows": int64(2400)})
	// As the publisher's object store, which hides what it does not have.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".parquet") {
			http.Error(w, "AccessDenied", http.StatusForbidden)
			return
		}
		http.FileServer(http.Dir(published)).ServeHTTP(w, r)
	}))
	defer server.Close()
	hidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "AccessDenied", http.StatusForbidden)
	}))
	defer hidden.Close()
	dir := t.TempDir()
	options := map[string]any{"source": server.URL, "files": int64(2)}
	path := obtainTrips(t, python, dir, options)
	options = taxi().Defaults()
	options["source"], options["files"] = "", int64(2) // as a trial asks
	if s, err := taxiStatus(t.Context(), dir, options); err != nil || !s.Present || s.Path != path || !strings.HasPrefix(s.Detail, "400 trips in 2 files") {
		t.Errorf("status: have %+v, %v", s, err)
	}
	options["schema"] = "2014"
	_, err := taxiStatus(t.Context(), dir, options)
	if err == nil || hint.Exit(err) != hint.ExitUsage || hint.Of(err) != `set schema = "current" in the workload's table` {
		t.Errorf("status with another schema: have %v (%s)", err, hint.Of(err))
	}
	options["schema"], options["files"] = "current", int64(3)
	if s, err := taxiStatus(t.Context(), dir, options); err != nil || s.Present || s.Quick || s.Detail != "2 of 3 files are there" {
		t.Errorf("status of more: have %+v, %v", s, err)
	}
	if have := obtainTrips(t, python, dir, map[string]any{"source": published, "files": int64(3)}); have != path {
		t.Errorf("more of them are in %s, not in %s", have, path)
	}
	testChanged(t, python, dir, published)

	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "yellow_tripdata_2014-01.parquet"), []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		source, want, hint string
		files              int64
	}{
		{other, "yellow_tripdata_2014-01.parquet: not a Parquet file", "", 1},
		{t.TempDir(), "not found at its source", "--source needs the directory", 1},
		{"", "no source of the published files", "--source https://", 1},
		{published, "13 files: the trips of a year are published in 12", "", 13},
		{hidden.URL, "yellow_tripdata_2014-01.parquet: given up: not readable at its source", "look whether the address is right", 1},
	} {
		all := taxi().Defaults()
		all["source"], all["files"] = test.source, test.files
		err := obtainTaxi(t.Context(), Obtain{
			Dir: t.TempDir(), Options: all, HTTP: http.DefaultClient, Python: modules(t, python), Progress: func(Progress) {},
		})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(hint.Of(err), test.hint) {
			t.Errorf("%q: want %q and the hint %q, have %v (%s)", test.source, test.want, test.hint, err, hint.Of(err))
		}
	}
}

// testChanged touches a fetched file, and then changes a byte of it, which a later
// call finds.
func testChanged(t *testing.T, python, dir, source string) {
	t.Helper()
	options := taxi().Defaults()
	options["source"], options["files"] = source, int64(3)
	state := func() DataStatus {
		s, err := taxiStatus(t.Context(), dir, options)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	name := filepath.Join(state().Path, "yellow_tripdata_2014-02.parquet")
	if err := os.Chtimes(name, time.Time{}, time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	if s := state(); !s.Present {
		t.Errorf("another time of change, the same content: have %+v", s)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := state(); s.Present || s.Detail != filepath.Base(name)+" was changed since it was fetched" {
		t.Errorf("another content: have %+v", s)
	}
	o := Obtain{Dir: dir, Options: options, HTTP: http.DefaultClient, Python: modules(t, python), Progress: func(Progress) {}}
	if err := obtainTaxi(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not the content that was fetched") || hint.Of(err) == "" {
		t.Errorf("another content was kept: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := obtainTaxi(t.Context(), o); err != nil || !state().Present {
		t.Errorf("not got again: %v", err)
	}
}

// taxiProgram executes queries, many of them in its own process and some in
// each form on a cluster, and prints the results.
const taxiProgram = `
import sys

import dask
import distributed
from esched_workloads import taxi_sql


def show(client, queries, run, form="flat", admission=0):
    params = {"data": sys.argv[1], "schema": sys.argv[2], "partitions": int(sys.argv[4])}
    params |= {"queries": queries, "form": form, "admission": admission}
    taxi_sql.prepare(client, params, 1)
    outcome = taxi_sql.finish(run(params), params)
    print(outcome.result, outcome.digest)


def here(params):
    return [dask.get(*taxi_sql.graph(plan)) for plan in params["plans"]]


if __name__ == "__main__":
    show(None, int(sys.argv[3]), here)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            for form, admission in ("flat", 0), ("nested", 0), ("flat", 2):
                show(client, 6, lambda params: taxi_sql.execute(client, params, 1)[0], form, admission)
`

// TestTaxiQueries compares the results of all 280 queries with those of DuckDB,
// an independent engine, on the same files; and those of some of them in all
// forms on a cluster.
func TestTaxiQueries(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "queries.py")
	if err := os.WriteFile(script, []byte(taxiProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, schema string
		python       func(testing.TB) string
		queries      int
		files        int64
	}{
		{"default", "current", need.Python, taxiQueries, 1},
		{"default in parts", "2014", need.Python, 20, 3},
		{"dask-2024.5", "2014", need.OldPython, 20, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			python := test.python(t)
			dir := obtainTrips(t, python, t.TempDir(), map[string]any{"rows": int64(3000), "files": test.files, "schema": test.schema})
			all, some := reference(t, dir, test.schema, test.queries), reference(t, dir, test.schema, 6)
			want := all + "\n" + strings.Repeat(some+"\n", 3)
			if have := printed(t, python, script, dir, test.schema, fmt.Sprint(test.queries), fmt.Sprint(test.files)); have != want {
				t.Errorf("want\n%shave\n%s", want, have)
			}
			at := strings.LastIndexByte(all, ' ')
			if err := verifyTaxi(map[string]any{"queries": int64(test.queries)}, all[at+1:], all[:at]); err != nil {
				t.Errorf("refused by the workload's own check: %v", err)
			}
		})
	}
}

// reference is what DuckDB finds.
func reference(t *testing.T, dir, schema string, queries int) string {
	t.Helper()
	python := filepath.Join(filepath.Dir(need.Program(t, "ruff")), "python") // of the environment for development
	return strings.TrimSpace(printed(t, python, "testdata/python/taxi_reference.py", dir, schema, fmt.Sprint(queries)))
}

// printed runs a script and returns what it prints.
func printed(t *testing.T, python string, args ...string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pythonLimit)
	defer cancel()
	var complaint strings.Builder
	c := exec.CommandContext(ctx, python, args...)
	c.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(here, "python")+":"+filepath.Join(here, "..", "deploy"),
		"PYTHONDONTWRITEBYTECODE=1", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT=300s",
		"DASK_DISTRIBUTED__SCHEDULER__PRELOAD=esched_mends", "DASK_DISTRIBUTED__WORKER__PRELOAD=esched_mends")
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, complaint.String())
	}
	return string(out)
}

func TestVerifyTaxi(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("0", 64)
	params := map[string]any{"queries": int64(20)}
	for _, test := range []struct{ result, digest, want string }{
		{"20 queries, 815 groups, all totals right", digest, ""},
		{"20 queries, 815 groups, all totals right", "wrong", "not a SHA-256"},
		{"19 queries, 815 groups, all totals right", digest, "not of 20 queries"},
		{"20 queries, 3 groups, all totals right", digest, "less than a group"},
		{"query 3: tip_amount adds up to 4.5, not 5.0", "wrong", "not that all totals are right"},
	} {
		err := verifyTaxi(params, test.digest, test.result)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want %q, have %v", test.result, test.want, err)
		}
	}
}
