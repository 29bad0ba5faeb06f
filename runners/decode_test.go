package runners

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
)

var update = flag.Bool("update", false, "write golden files anew")

// golden compares have with testdata/name, or writes it with -update.
func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		t.Errorf("%s (run with -update after a change that is meant):\nhave\n%s\nwant\n%s", path, have, want)
	}
}

// mistakes are experiment files with mistakes: the text of small with old
// replaced by new, or new alone when old is "".
var mistakes = []struct{ name, old, new string }{
	{"syntax", `seed = 7`, `seed = = 7`},
	{"syntax, text without quotes", `["dask", "sidekick"]`, `[dask, "sidekick"]`},
	{"syntax, open quote", `"small"`, `"small`},
	{"syntax, key twice", `seed = 7`, "seed = 7\nseed = 8"},
	{"empty file", "", "\n"},
	{"not text", "", "name = \"\x00\xff\""},
	{"unknown key", `repetitions`, `repititions`},
	{"unknown key, case", `seed`, `Seed`},
	{"unknown table", `[[workload]]`, "[[exclud]]\nworkers = 1\n[[workload]]"},
	{"unknown parameter", `simulations`, `simulation`},
	{"unknown key in a dotted line", `seed = 7`, "scheduler.fast.kind = \"dask\"\nscheduler.fast.\"spe ed\" = 1"},
	{"unknown key in an inline table", `seed = 7`, `scheduler.fast = { kind = "sidekick", slot = "stock" }`},
	{"wrong type", `repetitions = 2`, `repetitions = "two"`},
	{"wrong type, fraction", `repetitions = 2`, `repetitions = 2.5`},
	{"wrong type in a list", `["random", "earliest-start"]`, "[\n  \"random\", # fine\n  17,\n]"},
	{"wrong type, table", `name = "small"`, `name = { a = 1 }`},
	{"workload is one table", `[[workload]]`, `[workload]`},
	{"scheduler is no table", `seed = 7`, `scheduler = "dask"`},
	{"unknown policy", `"earliest-start"`, `"earliest"`},
	{"policy file missing", `"earliest-start"`, `"missing.star"`},
	{"unknown workload", `"montecarlo"`, `"monte-carlo"`},
	{"unknown scheduler", `["dask", "sidekick"]`, `["dask", "sidekik"]`},
	{"unknown scheduler kind", `seed = 7`, `scheduler.mine.kind = "dsk"`},
	{"unknown cluster", `seed = 7`, `cluster = "das6"`},
	{"unknown cluster kind", `seed = 7`, `clusters.das6 = { kind = "slrum" }`},
	{"cluster as a table", `[[workload]]`, "[cluster.das6]\nkind = \"slurm\"\n[[workload]]"},
	{"cluster as a name and a table", `seed = 7`, "cluster = \"das6\"\n[cluster.das6]\nkind = \"slurm\""},
	{"cluster without its list", `seed = 7`, `clusters.a = { kind = "list" }`},
	{"item of a list refused", `seed = 7`, "clusters.a = { kind = \"list\", hosts = [\"n1\", \"n 2\", 3, \"n1\"] }"},
	{"text for true or false", `seed = 7`, `clusters.a = { kind = "list", hosts = "n1", quiet = "yes" }`},
	{"option's duration", `seed = 7`, `clusters.a = { kind = "list", hosts = "n1", wait = "2h" }`},
	{"options that do not go together", `seed = 7`, `clusters.a = { kind = "list", hosts = "n1", quiet = true, wait = "1h" }`},
	{"more nodes than the list has", `seed = 7`, "cluster = \"a\"\nnodes = [1, 3]\nclusters.a = { kind = \"list\", hosts = [\"n1\", \"n2\"] }"},
	{"unknown environment", `seed = 7`, `environment = "defualt"`},
	{"environment path missing", `seed = 7`, `environment = "/missing/env"`},
	{"unknown choice", `seed = 7`, `scheduler.mine = { kind = "sidekick", slots = "stok" }`},
	{"built-in scheduler changed", `seed = 7`, `scheduler.dask.kind = "dask"`},
	{"empty list", `["random", "earliest-start"]`, `[]`},
	{"duplicate in a list", `[1, 2]`, `[1, 2, 1]`},
	{"duplicate policy", `"earliest-start"`, `"random"`},
	{"duplicate parameter", `[1000, 2000]`, `[1000, 2000, 2_000]`},
	{"workloads overlap", `[[workload]]`, "[[workload]]\nname = \"montecarlo\"\nsimulations = 2000\nchunk = [100, 200]\n[[workload]]"},
	{"name missing", `name = "small"`, ``},
	{"name unfit", `"small"`, `"../small"`},
	{"schedulers missing", `schedulers = ["dask", "sidekick"]`, ``},
	{"workload missing", "", "name = \"x\"\nschedulers = [\"dask\"]\n"},
	{"workload list empty", "", "name = \"x\"\nschedulers = [\"dask\"]\nworkload = []\n"},
	{"parameter missing", `chunk = 100`, ``},
	{"policies without a sidekick", `["dask", "sidekick"]`, `["dask"]`},
	{"sidekick without policies", `policies = ["random", "earliest-start"]`, ``},
	{"exclude matches nothing", `[[workload]]`, "[[exclude]]\npolicy = \"least-cpu-load\"\n[[workload]]"},
	{"exclude never holds together", `[[workload]]`, "[[exclude]]\nscheduler = \"dask\"\npolicy = \"random\"\n[[workload]]"},
	{"exclude leaves nothing", `[[workload]]`, "[[exclude]]\nkind = [\"dask\", \"sidekick\"]\n[[workload]]"},
	{"exclude is empty", `[[workload]]`, "[[exclude]]\n[[workload]]"},
	{"exclude with a wrong value", `[[workload]]`, "[[exclude]]\nworkers = true\nchunk = nan\n[[workload]]"},
	{"chunk above simulations", `chunk = 100`, `chunk = 1500`},
	{"trial incomplete", `[[workload]]`, "[[trial]]\nworkload = \"montecarlo\"\nscheduler = \"sidekick\"\nchunk = 5\n[[workload]]"},
	{"trial with a policy for dask", `[[workload]]`, "[[trial]]\nworkload = \"synthetic\"\nscheduler = \"dask\"\nworkers_per_node = 1\npolicy = \"random\"\n[[workload]]"},
	{"too many repetitions", `repetitions = 2`, `repetitions = 1_000_000_000`},
	{"too many workers", `[1, 2]`, `[1, 1_000_000]`},
	{"too many nodes for the cluster", `seed = 7`, `nodes = 65`},
	{"too many trials", `[1000, 2000]`, "[" + numbers(1000, 9000) + "]"},
	{"far too many trials", `repetitions = 2`, "repetitions = 1000\nnodes = [" + numbers(1, 60) + "]"},
	{"negative number", `repetitions = 2`, `repetitions = -1`},
	{"zero workers", `[1, 2]`, `[0]`},
	{"precision as a percentage", `seed = 7`, `precision = 5`},
	{"precision as text", `seed = 7`, `precision = "5 %"`},
	{"bounds without a precision", `seed = 7`, "max_repetitions = 9\nmax_time = \"20m\""},
	{"fewer at most than at least", `seed = 7`, "precision = 0.05\nmax_repetitions = 1"},
	{"too many trials in the end", `seed = 7`, "precision = 0.05\nmax_repetitions = 1000\nnodes = [" + numbers(1, 60) + "]"},
	{"negative seed", `seed = 7`, `seed = -7`},
	{"not a number", `name = "montecarlo"`, "name = \"synthetic\"\ntask_ms = nan\ntasks = inf"},
	{"claim of zero", `seed = 7`, `claim_time = "00:00:00"`},
	{"claim without minutes", `seed = 7`, `claim_time = "15:00"`},
	{"claim with 75 minutes", `seed = 7`, `claim_time = "00:75:00"`},
	{"claim as a time of day", `seed = 7`, `claim_time = 00:15:00`},
	{"duration without a unit", `seed = 7`, `poll_interval = "15"`},
	{"duration negative", `seed = 7`, `timeout = -1`},
	{"duration too long", `seed = 7`, `timeout = "9999999h"`},
	{"timeout above claim", `seed = 7`, "timeout = 120\nclaim_time = \"00:01:00\""},
	{"dask setting of a wrong type", `seed = 7`, `scheduler.mine = { kind = "dask", dask = { a.b = nan, c = 1979-05-27 } }`},
	{"long line, tabs and colours", `seed = 7`, "nodes = [ " + numbers(1, 50) + ", \t7 ] # \x1b\u00e9"},
	{"worker memory without a unit", `seed = 7`, `worker_memory = "2 gigs"`},
	{"worker memory too small", `seed = 7`, `worker_memory = "2 MB"`},
	{"worker memory misspelt", `seed = 7`, `workers_memory = "2 GB"`},
	{"unknown kind of worker", `seed = 7`, `worker = "instnat"`},
	{"instant workers cannot compute", `seed = 7`, `worker = "instant"`},
	{"several at once", "", "name = \"\"\nrepetitions = 0\nschedulers = [\"dask\", \"sidekik\"]\npolices = []\n\n[[workload]]\nname = \"montecarlo\"\nsimulations = 10\nchunk = \"1\"\n"},
}

func numbers(from, count int) string {
	var b strings.Builder
	for i := range count {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, from+i)
	}
	return b.String()
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	var have strings.Builder
	for _, m := range mistakes {
		text := m.new
		if m.old != "" {
			if !strings.Contains(small, m.old) {
				t.Fatalf("%s: %q is not in the file", m.name, m.old)
			}
			text = strings.Replace(small, m.old, m.new, 1)
		}
		_, err := Load("experiments.toml", []byte(text), testCatalog())
		var all Mistakes
		if !errors.As(err, &all) {
			t.Errorf("%s: error is %v, want Mistakes", m.name, err)
			continue
		}
		if have, want := hint.Exit(err), hint.ExitUsage; have != want {
			t.Errorf("%s: exit code %d, want %d", m.name, have, want)
		}
		for _, one := range all {
			if one.Line < 1 || one.Column < 1 || one.File == "" {
				t.Errorf("%s: %v has no place", m.name, one)
			}
		}
		fmt.Fprintf(&have, "== %s\n%v\nTry: %s\n\n", m.name, err, hint.Of(err))
	}
	golden(t, "mistakes.golden", have.String())
}

func TestLoadFillsIn(t *testing.T) {
	t.Parallel()
	e := mustLoad(t, "name = \"a\"\nschedulers = \"dask\"\n[[workload]]\nname = \"synthetic\"\n")
	for _, c := range []struct {
		what       string
		have, want any
	}{
		{"repetitions", e.Repetitions, 3}, {"seed", e.Seed, int64(1)}, {"claim", e.ClaimTime, 15 * time.Minute},
		{"poll", e.PollInterval, 15 * time.Second}, {"timeout", e.Timeout, time.Minute}, {"retries", e.Retries, 1},
		{"warmup", e.Warmup, 1}, {"cluster", e.Cluster.Kind, "local"}, {"environment", e.Environment, "default"},
		{"threads", e.Threads, 1}, {"worker memory", e.WorkerMemoryB, int64(0)}, {"nodes", fmt.Sprint(e.Nodes), "[1]"}, {"workers", fmt.Sprint(e.WorkersPerNode), "[1]"},
		{"grid", fmt.Sprint(e.Workloads[0].Grid), "map[shape:[merge] task_ms:[0] tasks:[1000]]"},
	} {
		if c.have != c.want {
			t.Errorf("%s: have %v, want %v", c.what, c.have, c.want)
		}
	}
}

func TestLoadAccepts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new string }{
		{"seconds as numbers", `seed = 7`, "poll_interval = 15\ntimeout = 60"},
		{"claim of Go", `seed = 7`, `claim_time = "1h30m"`},
		{"claim of days", `seed = 7`, `claim_time = "72:00:00"`},
		{"policy of one's own", `"earliest-start"`, `"./mine.star"`},
		{"environment of one's own", `seed = 7`, `environment = "./venv"`},
		{"windows line ends", "\n", "\r\n"},
		{"clusters", `[[workload]]`, "[clusters.das6]\nkind = \"slurm\"\npartition = \"defq\"\n[[workload]]"},
		{"trials only", `[[workload]]`, "[[trial]]\nscheduler=\"dask\"\nworkers_per_node=9\nworkload=\"montecarlo\"\nsimulations=5\nchunk=5\n[[workload]]"},
		{"dask settings", `seed = 7`, `scheduler.t = { kind = "dask", dask = { distributed.scheduler.worker-saturation = 12, "a.b" = ["x"] } }`},
	} {
		if _, err := Load("x.toml", []byte(strings.Replace(small, c.old, c.new, 1)), testCatalog()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSchedulerSettings(t *testing.T) {
	t.Parallel()
	text := strings.Replace(small, `seed = 7`, "scheduler.t.kind = \"dask\"\nscheduler.t.dask.distributed.\"a.b\" = inf", 1)
	_, err := Load("x.toml", []byte(text), testCatalog())
	if err == nil || !strings.Contains(err.Error(), `Dask setting "distributed.a.b" is infinite`) {
		t.Errorf("infinite setting: %v", err)
	}
	text = strings.Replace(text, "inf", "1.5", 1)
	e := mustLoad(t, strings.Replace(text, `["dask", "sidekick"]`, `["t", "sidekick"]`, 1))
	if have, want := fmt.Sprint(e.Schedulers), "[{t dask map[distributed.a.b:1.5] map[]} {sidekick sidekick map[] map[]}]"; have != want {
		t.Errorf("schedulers: have %s, want %s", have, want)
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"00:15:00", 15 * time.Minute}, {"1:02:03", time.Hour + 2*time.Minute + 3*time.Second}, {"90s", 90 * time.Second},
		{"65535:59:59", longest + time.Second}, {"1:2:3", -1}, {"-1:00:00", -1}, {"::", -1}, {"", -1}, {"00:60:00", -1}, {"99999:00:00", -1},
	} {
		have, err := parseDuration(c.text)
		if err != nil {
			have = -1
		}
		if have != c.want {
			t.Errorf("parseDuration(%q): have %v (%v), want %v", c.text, have, err, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"random", "least-cpu-load", "composite-score", "earliest-start"}
	for _, c := range []struct{ have, want string }{
		{"randm", "random"}, {"Random", "random"}, {"least-cpu", "least-cpu-load"}, {"leastcpuload", "least-cpu-load"},
		{"earliest_start", "earliest-start"}, {"x", ""}, {"", ""}, {strings.Repeat("r", 100), ""},
	} {
		if have := nearest(c.have, names); have != c.want {
			t.Errorf("nearest(%q): have %q, want %q", c.have, have, c.want)
		}
	}
	if d := distance("kitten", "sitting"); d != 3 {
		t.Errorf("distance: have %d, want 3", d)
	}
}

func TestParameterBounds(t *testing.T) {
	t.Parallel()
	low, high := Parameter{Type: Int, Min: 2}.wholeBounds()
	if low != 2 || high != math.MaxInt64 {
		t.Errorf("bounds without a maximum: have %d, %d", low, high)
	}
}

// TestClusterOfTheCommandLine judges numbers of nodes by the cluster that is
// used, not by the one that the file chooses.
func TestClusterOfTheCommandLine(t *testing.T) {
	t.Parallel()
	text := strings.Replace(small, "seed = 7", "nodes = 3\nclusters.a = { kind = \"list\", hosts = [\"n1\", \"n2\"], quiet = false }", 1)
	for _, c := range []struct{ file, chosen, want string }{
		{"local", "", ""},
		{"local", "a", "has at most 2, not 3"},
		{"a", "", "has at most 2, not 3"},
		{"a", "local", ""},
	} {
		catalog := testCatalog()
		catalog.Cluster = c.chosen
		e, err := Load("experiments.toml", []byte("cluster = \""+c.file+"\"\n"+text), catalog)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("file %s, chosen %q: want %q, have %v", c.file, c.chosen, c.want, err)
			continue
		}
		if err != nil {
			continue
		}
		a := e.Clusters["a"]
		if fmt.Sprint(a.Options["hosts"], a.Options["quiet"], a.Options["wait"]) != "[n1 n2] false 1m0s" {
			t.Errorf("options: have %v", a.Options)
		}
	}
}
