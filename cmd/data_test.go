package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/workloads"
)

// numbers is a data set of a test: a file with so many lines, which a Python
// module writes.
func numbers(quick bool) workloads.Provider {
	file := func(dir string, options map[string]any) string {
		return filepath.Join(dir, fmt.Sprintf("%v-%v.txt", options["rows"], options["word_kind"]))
	}
	return workloads.Provider{
		Name: "numbers", Doc: "lines with numbers", Describe: "Lines with numbers, for tests.",
		Params: []workloads.Param{
			{Name: "rows", Type: workloads.Int, Min: 1, Max: 1000, Default: int64(10), Doc: "lines"},
			{Name: "word_kind", Type: workloads.String, Choices: []string{"odd", "even"}, Default: "odd", Doc: "kind"},
			{Name: "scale", Type: workloads.Float, Max: 2, Doc: "factor"},
		},
		Status: func(_ context.Context, dir string, options map[string]any) (workloads.DataStatus, error) {
			s := workloads.DataStatus{Path: file(dir, options), Quick: quick}
			info, err := os.Stat(s.Path)
			if errors.Is(err, fs.ErrNotExist) {
				s.Detail = fmt.Sprintf("%v lines are missing", options["rows"])
				return s, nil
			}
			if err != nil {
				return s, err
			}
			s.Present, s.Bytes, s.Detail = true, info.Size(), fmt.Sprintf("%v lines", options["rows"])
			return s, nil
		},
		Obtain: func(ctx context.Context, o workloads.Obtain) error {
			if err := os.MkdirAll(o.Dir, 0o755); err != nil {
				return err
			}
			rows := o.Options["rows"].(int64)
			for done := range rows + 1 {
				o.Progress(workloads.Progress{What: "generate", Done: done, Total: rows, Unit: "rows"})
			}
			return o.Python(ctx, os.Stdout, "make_numbers", file(o.Dir, o.Options), fmt.Sprint(rows))
		},
	}
}

// withNumbers are programs with one workload, which adds up a data set.
func withNumbers(t *testing.T, quick bool) programs {
	t.Helper()
	files := ownFiles(t)
	add := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	add("make_numbers.py", `import sys
if sys.argv[2] == "13":
    sys.exit("thirteen is unlucky")
with open(sys.argv[1], "w") as file:
    file.writelines(f"{n}\n" for n in range(int(sys.argv[2])))
`)
	add("esched_workloads/total.py", `from esched_client import Result

def total(path):
    with open(path) as file:
        return sum(map(int, file))

def submit(client, params, seed):
    return client.submit(total, params["data"], pure=False)

def finish(value, params):
    return Result(result=str(value), digest=str(value))
`)
	return programs{files: files, data: []workloads.Provider{numbers(quick)}, list: []workloads.Workload{{
		Name: "total", Data: "numbers",
		Params:      []workloads.Param{{Name: "lines", Type: workloads.Int, Min: 1, Max: 1000, Required: true}},
		DataOptions: func(params map[string]any) map[string]any { return map[string]any{"rows": params["lines"]} },
		Verify: func(params map[string]any, _, result string) error {
			n := params["lines"].(int64)
			if want := fmt.Sprint(n * (n - 1) / 2); result != want {
				return fmt.Errorf("total %s, not %s", result, want)
			}
			return nil
		},
	}}}
}

func TestData(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.programs = withNumbers(t, false)
	env := []string{"--env", need.Python(t)}
	dir := filepath.Join("cache", "esched", "data", "numbers")
	s.esched("data").wants(t, 0, []string{"numbers  no     lines with numbers  10 lines are missing", "in " + s.p.path("cache/esched/data")}, nil)
	s.esched("data", "numbers", "--status").wants(t, 1, []string{"numbers is not there: 10 lines are missing"}, nil)
	s.esched(append([]string{"data", "numbers"}, env...)...).wants(t, 0, []string{"numbers is there: 10 lines", dir},
		[]string{"generate: 0 of 10 rows (0 %)", "generate: 10 of 10 rows (100 %)"})
	var fact dataFact
	s.esched("data", "numbers", "--status", "--json").into(t, &fact)
	if !fact.Present || fact.Bytes != 20 || fact.Name != "numbers" {
		t.Errorf("have %+v", fact)
	}
	s.esched(append([]string{"data", "numbers", "--rows", "20", "--word-kind", "even", "--dir", "elsewhere"}, env...)...).wants(t, 0,
		[]string{"numbers is there: 20 lines", filepath.Join("elsewhere", "numbers", "20-even.txt")}, []string{"20 of 20 rows"})
	tests := []struct {
		line string
		code int
		want []string
	}{
		{"data numberz", 2, []string{`unknown data set "numberz"`, "Try: esched data numbers"}},
		{"data numbers --rows 0", 2, []string{"--rows: 0 is not within 1 and 1000", "Try: esched data numbers --help"}},
		{"data numbers --word-kind big", 2, []string{`--word-kind: "big" is none of odd, even`}},
		{"data numbers --scale 3", 2, []string{"--scale: 3 is not within 0 and 2"}},
		{"data numbers --row 3", 2, []string{"unknown flag: --row", "Try: esched data numbers --rows"}},
		{"data numbers --rows 13 --env " + env[1], 1, []string{"python -m make_numbers: exit status 1", "thirteen is unlucky"}},
	}
	for _, test := range tests {
		s.esched(strings.Fields(test.line)...).wants(t, test.code, nil, test.want)
	}
}

// TestDataSource holds that a source may be relative to the working directory.
func TestDataSource(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for data, file := range map[string]string{"expedia": "train.csv", "taxi": "yellow_tripdata_2014-01.parquet"} {
		s.esched("data", data, "--source", "tables").wants(t, 1, nil,
			[]string{s.p.path(filepath.Join("tables", file)) + ": not found at its source", "Try: "})
	}
}

// TestRunWithData runs a workload whose data are missing: a run makes what is
// quickly made, and tells how to get anything else.
func TestRunWithData(t *testing.T) {
	t.Parallel()
	experiment := fmt.Sprintf(`name = "total"
repetitions = 1
claim_time = "00:10:00"
timeout = "300s"
environment = %q
warmup = 0
schedulers = ["dask"]
[[workload]]
name = "total"
lines = [100, 200]
`, need.Python(t))
	s := newShell(t)
	s.programs = withNumbers(t, false)
	s.write("experiments.toml", experiment)
	s.esched("run").wants(t, 2, nil, []string{"data set numbers is not complete in ", "100 lines are missing", "Try: esched data numbers --rows 100"})
	if _, err := os.Stat(s.p.path("runs")); err == nil {
		t.Error("a run was made")
	}
	s.programs = withNumbers(t, true)
	s.write("experiments.toml", "data = \"~/sets\"\n"+experiment)
	s.esched("run").wants(t, 0, []string{"data set numbers: making what is missing", "generate: 200 of 200 rows", "run ended  2 ok"}, nil)
	if _, err := os.Stat(s.p.path("sets/numbers/200-odd.txt")); err != nil {
		t.Error(err)
	}
	s.write("experiments.toml", "data = \"sets\"\n"+experiment)
	s.esched("plan").wants(t, 2, nil, []string{`data = "sets" is not an absolute path`})
}

func TestProgressLines(t *testing.T) {
	t.Parallel()
	steps := []workloads.Progress{
		{What: "look"}, {What: "a.bin", Done: 500, Unit: "B"}, {What: "a.bin", Done: 1_500_000, Total: 3_000_000, Unit: "B"},
		{What: "a.bin", Done: 1_500_001, Total: 3_000_000, Unit: "B"}, {What: "a.bin", Done: 3_000_000, Total: 3_000_000, Unit: "B"},
	}
	for _, test := range []struct {
		redraw bool
		want   string
	}{
		{false, "look\na.bin: 0.5 kB\na.bin: 1.5 MB of 3.0 MB (50 %)\na.bin: 3.0 MB of 3.0 MB (100 %)\n"},
		{true, "\rlook\n\ra.bin: 0.5 kB\r[##########----------] a.bin: 1.5 MB of 3.0 MB (50 %)" +
			"\r[##########----------] a.bin: 1.5 MB of 3.0 MB (50 %)\r[####################] a.bin: 3.0 MB of 3.0 MB (100 %)\n"},
	} {
		var b strings.Builder
		l := &progressLines{w: &b, redraw: test.redraw}
		for _, p := range steps {
			l.show(p)
		}
		l.end()
		if b.String() != test.want {
			t.Errorf("want %q\nhave %q", test.want, b.String())
		}
	}
}
