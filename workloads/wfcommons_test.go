package workloads

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
)

const (
	diamond = "testdata/instances/diamond-1.4.json"
	survey  = "testdata/instances/survey-1.5.json"
)

func TestInstances(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file  string
		names string // in order
		facts Facts
		bytes []int64
	}{
		// Each task is behind its inputs; sizes are those of files that others read.
		{diamond, "split left right join", Facts{Tasks: 4, Edges: 4, Work: 31750 * time.Millisecond, Path: 23750 * time.Millisecond},
			[]int64{1500, 2000, 300, 0}},
		{survey, "sample sample count count sum plot", Facts{Tasks: 6, Edges: 5, Work: 12 * time.Second, Path: 7 * time.Second},
			[]int64{4000, 6000, 100, 200, 8, 0}},
	} {
		g := drawn(t, "wfcommons", map[string]any{"instance": test.file}, 1)
		f := g.Facts()
		f.Bytes = 0
		var names []string
		for i, n := range g.Nodes {
			names = append(names, n.Name)
			if n.Bytes != test.bytes[i] {
				t.Errorf("%s: task %d: have %d bytes, want %d", test.file, i, n.Bytes, test.bytes[i])
			}
		}
		if have := strings.Join(names, " "); have != test.names || f != test.facts {
			t.Errorf("%s: have %s, %+v; want %s, %+v", test.file, have, f, test.names, test.facts)
		}
	}
}

func TestInstanceScales(t *testing.T) {
	t.Parallel()
	w, _ := ByName("wfcommons")
	for _, test := range []struct {
		params map[string]any
		work   time.Duration
		bytes  int64 // of the first task
		wrong  string
	}{
		{map[string]any{"time_scale": 0.1, "size_scale": 2.0}, 3175 * time.Millisecond, 3000, ""},
		{map[string]any{"work_s": 63.5}, 63500 * time.Millisecond, 1500, ""},
		{map[string]any{"time_scale": 0.0, "size_scale": 0.0}, 0, 0, ""},
		{map[string]any{"work_s": 1.0, "time_scale": 0.1}, 0, 0, "both say"},
		{map[string]any{"time_scale": 1e5}, 0, 0, "a task of left takes 2.02e+06 s"},
		{map[string]any{"size_scale": 1e6}, 0, 0, "a result of split has 1.5e+09 bytes"},
		{map[string]any{"instance": "testdata/none.json"}, 0, 0, "instance testdata/none.json: no such file"},
		{map[string]any{"instance": "testdata"}, 0, 0, "instance testdata: no file"},
	} {
		params := complete(w, map[string]any{"instance": diamond})
		for name, value := range test.params {
			params[name] = value
		}
		g, err := w.Graph(params, 1)
		if test.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), test.wrong) || hint.Of(err) == "" || w.Check(params) == nil || w.RoughSeconds(params, 1) != 0 {
				t.Errorf("%v: have %v (try: %s), want %q", test.params, err, hint.Of(err), test.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", test.params, err)
		} else if have := g.Facts().Work; (have-test.work).Abs() > 4*time.Microsecond || g.Nodes[0].Bytes != test.bytes {
			t.Errorf("%v: have %v, %d bytes; want %v, %d", test.params, have, g.Nodes[0].Bytes, test.work, test.bytes)
		}
	}
	if have, want := w.Size(map[string]any{"instance": diamond}), "diamond-1.4, 4 tasks"; have != want {
		t.Errorf("have %q, want %q", have, want)
	}
	if have, want := w.Size(map[string]any{"instance": "gone.json"}), "gone"; have != want {
		t.Errorf("have %q, want %q", have, want)
	}
}

// TestInstanceMistakes holds that errors tell the place.
func TestInstanceMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ file, from, to, want string }{
		{survey, `"1.5"`, `"1.3"`, `schemaVersion: "1.3" is none of 1.4, 1.5, 1.6`},
		{survey, `"schemaVersion"`, `"version"`, "not a WfCommons instance"},
		{survey, `"name": "survey",`, `"name": "survey"`, "line 3: invalid character"},
		{survey, `"specification"`, `"plan"`, "workflow.specification: missing"},
		{survey, `"execution"`, `"run"`, "workflow.execution: missing"},
		{survey, `"runtimeInSeconds": 4`, `"runtimeInSeconds": "4"`, "line 149: workflow.execution.tasks.runtimeInSeconds: string instead of a number"},
		{survey, `"runtimeInSeconds": 4`, `"runtimeInSeconds": -4`, "workflow.execution.tasks[3]: runtimeInSeconds is missing or negative"},
		{survey, `"id": "count_2",
     "runtime`, `"id": "count_3",
     "runtime`, `workflow.execution.tasks[3]: no task "count_3" in workflow.specification.tasks`},
		{survey, `"id": "count_2",
     "runtime`, `"id": "count_1",
     "runtime`, `workflow.execution.tasks[3]: task "count_1" a second time`},
		{survey, `     "id": "plot",
     "runtimeInSeconds": 0.5
    },
    {
`, ``, `workflow.specification.tasks[5]: task "plot" is not in workflow.execution.tasks`},
		{survey, `"sizeInBytes": 200`, `"size": 200`, "workflow.specification.files[4]: sizeInBytes is missing"},
		{survey, `"id": "count_2",
     "parents"`, `"id": "count_1",
     "parents"`, `workflow.specification.tasks[3]: id "count_1" is that of task 2, too`},
		{survey, `"id": "count_2",
     "parents"`, `"parents"`, "workflow.specification.tasks[3]: no id"},
		{survey, `"count_2"
     ],
     "children": [],`, `"count_9"
     ],
     "children": [],`, `workflow.specification.tasks[4].parents[1]: no task "count_9"`},
		{diamond, `"parents": [
     "left_ID0000002",`, `"parents": [
     "join_ID0000004",`, `workflow.tasks[0].parents[0]: task "join_ID0000004" needs itself`},
		{diamond, `"parents": [],
    "children": [
     "left`, `"parents": ["join_ID0000004"],
    "children": [
     "left`, "is in a circle of dependencies"},
		{diamond, `"runtimeInSeconds": 8,`, ``, "workflow.tasks[3]: runtimeInSeconds is missing"},
		{diamond, `"sizeInBytes": 77`, `"sizeInBytes": -77`, "workflow.tasks[1].files[3]: sizeInBytes is missing or negative"},
	} {
		text, err := os.ReadFile(test.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(test.from)); n != 1 {
			t.Fatalf("%s has %q %d times", test.file, test.from, n)
		}
		_, err = parseInstance(bytes.Replace(text, []byte(test.from), []byte(test.to), 1))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %q: have %v, want %q", test.file, test.to, err, test.want)
		}
	}
}

// TestInstanceChanges holds that a file is read again when it has changed.
func TestInstanceChanges(t *testing.T) {
	t.Parallel()
	w, _ := ByName("wfcommons")
	file := filepath.Join(t.TempDir(), "x.json")
	params := complete(w, map[string]any{"instance": file})
	digests := map[string]bool{}
	for i, from := range []string{diamond, survey} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		changed := time.Unix(int64(i), 0)
		if err := errors.Join(os.WriteFile(file, text, 0o600), os.Chtimes(file, changed, changed)); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(params); err != nil {
			t.Error(err)
		}
		digests[w.Text(params)] = true
	}
	if len(digests) != 2 || digests[""] {
		t.Errorf("have %v", digests)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		task wfTask
		want string
	}{
		{wfTask{Name: "blastall_ID000002"}, "blastall"},
		{wfTask{Name: "split_fasta_00000001"}, "split_fasta"},
		{wfTask{Name: "mProject_ID0000012", Category: "mProject"}, "mProject"},
		{wfTask{Name: "NFCORE:RNASEQ:STAR_3"}, "NFCORE_RNASEQ_STAR"},
		{wfTask{Name: "000123"}, "task"},
		{wfTask{Name: "7zip_x"}, "task_7zip_x"},
		{wfTask{Name: "x-y z"}, "x_y_z"},
	} {
		if have := kindOf(test.task); have != test.want {
			t.Errorf("%+v: have %q, want %q", test.task, have, test.want)
		}
	}
}

func FuzzInstance(f *testing.F) {
	for _, file := range []string{diamond, survey} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := parseInstance(text)
		if err != nil {
			return
		}
		g, err := x.scaled(1e-9, 1e-9)
		if err != nil {
			return
		}
		if err := g.check(); err != nil {
			t.Error(err)
		}
		g.Facts()
	})
}

// testReplay executes both instances.
func testReplay(t *testing.T, d *Driver) {
	w, _ := ByName("wfcommons")
	for i, file := range []string{diamond, survey} {
		r := Request{Kind: "dask", Workload: "wfcommons", Seed: 5, Params: complete(w, map[string]any{"instance": file, "work_s": 0.1, "size_scale": 10.0})}
		if i == 1 {
			r.Kind, r.Policy = "sidekick", "random"
		}
		runGraph(t, d, r, w)
	}
}
