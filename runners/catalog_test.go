package runners

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/workloads/presets"
)

// testCatalog is what exists in the tests of experiment files.
func testCatalog() Catalog {
	return Catalog{
		Workloads: []WorkloadEntry{
			{
				Name: "montecarlo",
				Params: []Parameter{
					{Name: "simulations", Type: Int, Min: 1, Max: 1e12, Required: true},
					{Name: "chunk", Type: Int, Min: 1, Max: 1e10, Required: true},
				},
				Check: func(p map[string]any) error {
					if p["chunk"].(int64) > p["simulations"].(int64) {
						return errors.New("chunk is larger than simulations")
					}
					return nil
				},
				Size: func(p map[string]any) string {
					return fmt.Sprintf("%d chunks", (p["simulations"].(int64)+p["chunk"].(int64)-1)/p["chunk"].(int64))
				},
				Warmup: func(p map[string]any) map[string]any {
					return map[string]any{"simulations": int64(1000), "chunk": int64(100)}
				},
				Seconds: func(p map[string]any, workers int) float64 { return 3 },
			},
			{
				Name: "synthetic", Instant: true,
				Params: []Parameter{
					{Name: "shape", Type: String, Choices: []string{"merge", "tree"}, Default: "merge"},
					{Name: "tasks", Type: Int, Min: 1, Max: 1e7, Default: int64(1000)},
					{Name: "task_ms", Type: Float, Max: 1e5, Default: 0.0},
				},
			},
		},
		Policies: []string{"random", "least-cpu-load", "composite-score", "earliest-start"},
		CheckPolicy: func(name string) error {
			if strings.HasSuffix(name, ".star") && !strings.Contains(name, "missing") {
				return nil
			}
			return errors.New("no such file")
		},
		Kinds: []KindEntry{
			{Name: "dask"},
			{Name: "sidekick", Policies: true, Options: []Parameter{
				{Name: "slots", Type: String, Choices: []string{"adaptive", "stock"}, Default: "adaptive"}}},
		},
		Environments: []string{"default", "dask-2024.5"},
		CheckEnvironment: func(path string) error {
			if strings.Contains(path, "missing") {
				return errors.New("no such directory")
			}
			return nil
		},
		Clusters: []ClusterEntry{
			{Name: "local", MaxNodes: 64},
			{Name: "slurm", Options: []Parameter{{Name: "partition", Type: String}}},
			{
				Name: "list",
				Options: []Parameter{
					{Name: "hosts", Type: Texts, Required: true, Check: func(text string) error {
						if strings.Contains(text, " ") {
							return hint.With(fmt.Errorf("%q has a space", text), "write one host in each text")
						}
						return nil
					}},
					{Name: "quiet", Type: Bool},
					{Name: "wait", Type: Duration, Min: 1, Max: 3600, Default: time.Minute},
				},
				Limit: func(options map[string]any) int { hosts, _ := options["hosts"].([]string); return len(hosts) },
				Check: func(options map[string]any) (string, error) {
					if options["quiet"] == true && options["wait"] == time.Hour {
						return "wait", hint.With(errors.New("an hour of silence"), "wait less, or tell")
					}
					return "", nil
				},
			},
		},
	}
}

// small is a sound experiment of few lines.
const small = `name = "small"
seed = 7
repetitions = 2
schedulers = ["dask", "sidekick"]
policies = ["random", "earliest-start"]
workers_per_node = [1, 2]

[[workload]]
name = "montecarlo"
simulations = [1000, 2000]
chunk = 100
`

// sampleCatalog knows also the clusters of the sample that the program writes.
// What their options mean is tested where they are described.
func sampleCatalog() Catalog {
	c := withPrograms()
	var options []Parameter
	for kind, names := range map[Type][]string{
		String: {"partition", "account", "constraint", "launcher", "user", "ssh_config", "interface", "scratch",
			"environment_on", "scheduler_node", "bad_nodes", "working_hours"},
		Int: {"max_nodes", "claims"}, Duration: {"queue_wait", "max_claim", "silence"}, Texts: {"native", "hosts"}, Bool: {"tls"},
	} {
		for _, name := range names {
			options = append(options, Parameter{Name: name, Type: kind, Max: 1e6})
		}
	}
	c.Clusters = []ClusterEntry{{Name: "local", MaxNodes: 64, Options: options},
		{Name: "slurm", Options: options}, {Name: "das", Options: options}, {Name: "static", Options: options}}
	return c
}

func mustLoad(t testing.TB, text string) *Experiment { return mustLoadFrom(t, text, testCatalog()) }

func mustLoadFrom(t testing.TB, text string, c Catalog) *Experiment {
	t.Helper()
	e, err := Load("experiments.toml", []byte(text), c)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return e
}

func TestDefaultExperiment(t *testing.T) {
	t.Parallel()
	e := mustLoadFrom(t, string(presets.Default()), sampleCatalog())
	p := BuildPlan(e)
	if have, want := p.Trials(), 90; have != want {
		t.Errorf("trials: have %d, want %d", have, want)
	}
	if have, want := len(p.Blocks), 18; have != want {
		t.Errorf("blocks: have %d, want %d", have, want)
	}
	sizes := map[string]int{}
	for _, b := range p.Blocks {
		if len(b.Warmups) != 1 {
			t.Errorf("block has %d warm-ups, want 1", len(b.Warmups))
		}
		for _, tr := range b.Trials {
			sizes[tr.Size]++
		}
	}
	if sizes["16 chunks"] != 45 || sizes["2000 chunks"] != 45 {
		t.Errorf("sizes: have %v, want 45 of 16 and of 2000 chunks", sizes)
	}
}

// TestSampleComments loads the sample with every commented example active.
func TestSampleComments(t *testing.T) {
	t.Parallel()
	example := regexp.MustCompile(`^# (\[|[a-z_]+ = )`)
	var out []string
	for line := range strings.SplitSeq(string(presets.Default()), "\n") {
		if example.MatchString(line) {
			line = strings.TrimPrefix(line, "# ")
		}
		out = append(out, line)
	}
	text := strings.Join(out, "\n")
	if strings.Count(text, "\n[") < 7 {
		t.Fatalf("examples were not activated:\n%s", text)
	}
	text = strings.Replace(text, `["dask", "sidekick"]`, `["dask", "sidekick", "dask-tuned", "sidekick-stock"]`, 1)
	e := mustLoadFrom(t, text, sampleCatalog())
	// 2 sizes x 3 numbers of workers x (1 + 4 + 1 + 4) series, without 2 sizes
	// x 2 policies x 1 number of workers, and one trial; likewise one size of a
	// program.
	if have, want := len(e.cells), 60-4+1+30-2; have != want {
		t.Errorf("cells: have %d, want %d", have, want)
	}
}
