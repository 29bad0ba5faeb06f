package cmd

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
	"github.com/esched/esched/workloads"
)

// ownFiles is a copy of the Python files in the binary, to which a test adds.
func ownFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(workloads.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(workloads.Files(), path)
		files[path] = &fstest.MapFile{Data: text, Mode: 0o644}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// misbehaving are programs with a workload that goes wrong as it is told.
func misbehaving(t *testing.T) programs {
	t.Helper()
	files := ownFiles(t)
	text, err := os.ReadFile("../workloads/testdata/python/misbehave.py")
	if err != nil {
		t.Fatal(err)
	}
	files["esched_workloads/misbehave.py"] = &fstest.MapFile{Data: text, Mode: 0o644}
	modes := []string{"raise", "hang", "garbage", "corrupt", "kill", "wrong-digest", "none"}
	return programs{files: files, list: []workloads.Workload{{
		Name: "misbehave", Params: []workloads.Param{{Name: "mode", Type: workloads.String, Choices: modes, Required: true}},
		Verify: func(_ map[string]any, digest, _ string) error {
			if digest != "right" {
				return fmt.Errorf("digest is %s", digest)
			}
			return nil
		},
	}}}
}

func TestRunGoesOnAfterFailures(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.programs = misbehaving(t)
	s.write("experiments.toml", fmt.Sprintf(`name = "misbehave"
repetitions = 1
claim_time = "00:10:00"
timeout = "20s"
retries = 0
warmup = 0
environment = %q
workers_per_node = [1]
schedulers = ["dask"]
[[workload]]
name = "misbehave"
mode = ["raise", "hang", "garbage", "corrupt", "kill", "wrong-digest", "none"]
`, need.Python(t)))
	r := s.esched("run")
	r.wants(t, 3, []string{"timeout", "ZeroDivisionError", "exit code 3"}, nil)
	run := s.onlyRun()
	nothingLeft(t, s, run)
	want := map[string]struct {
		status record.Status
		reason string
	}{
		"raise":        {record.StatusFailed, "ZeroDivisionError: the divisor was zero (logs/"},
		"hang":         {record.StatusTimeout, "time limit of 20s exceeded"},
		"garbage":      {record.StatusOK, ""},
		"corrupt":      {record.StatusFailed, "driver's response"},
		"kill":         {record.StatusFailed, "driver died"},
		"wrong-digest": {record.StatusFailed, "wrong result: digest is wrong"},
		"none":         {record.StatusOK, ""},
	}
	all := measured(t, s.records(run))
	if len(all) != len(want) {
		t.Errorf("want %d records, have %d", len(want), len(all))
	}
	for _, x := range all {
		w := want[x.Params["mode"].(string)]
		if x.Status != w.status || !strings.Contains(x.Error, w.reason) || x.Status == record.StatusOK && x.Error != "" {
			t.Errorf("%s: want %s %q, have %s %q", x.ParamString(), w.status, w.reason, x.Status, x.Error)
		}
	}
	s.esched("status").wants(t, 0, []string{"ended, 7 of 7 trials recorded, 2 ok", "ZeroDivisionError"}, nil)
}
