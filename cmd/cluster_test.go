package cmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/preservedouble"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/runners/record"
)

// clusterLimit bounds one run on the nodes of a busy machine.
const clusterLimit = 8 * time.Minute

// headNode is where a user of a cluster works.
type headNode struct {
	*slurmworld.World
	t   *testing.T
	dir string // of the experiment; on all machines

	latest *execution // what start started last
}

// built is the variable that names esched, as it is built for users, in worlds.
const built = "ESCHED_TEST_BUILT"

// building is esched, built once for all worlds.
type building struct {
	once    sync.Once
	dir     string
	failure error
}

var forWorlds building

// named builds esched unless that was done, and returns the variable that names
// it.
func (b *building) named(t *testing.T) []string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.failure = os.MkdirTemp("", "esched-built-"); b.failure != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", filepath.Join(b.dir, "esched"), "./esched").CombinedOutput(); err != nil {
			b.failure = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if b.failure != nil {
		t.Fatal(b.failure)
	}
	return []string{built + "=" + filepath.Join(b.dir, "esched")}
}

// remove removes what was built.
func (b *building) remove() {
	if b.dir != "" {
		_ = os.RemoveAll(b.dir) // it is in a temporary directory
	}
}

// newHeadNode installs esched for the user of a world, and DAS's commands.
func newHeadNode(t *testing.T, w *slurmworld.World) *headNode {
	t.Helper()
	bin := t.TempDir()
	preservedouble.Install(t, bin)
	for _, program := range []string{os.Getenv(built), filepath.Join(bin, "preserve"), filepath.Join(bin, "prun")} {
		w.Install(t, slurmworld.User, program)
	}
	return &headNode{World: w, t: t, dir: w.TempDir(t, slurmworld.User)}
}

// at returns the head node with another test and a directory of its own.
func (h *headNode) at(t *testing.T) *headNode {
	t.Helper()
	return &headNode{World: h.World, t: t, dir: h.TempDir(t, slurmworld.User)}
}

// write writes the experiment: that of tiny on two nodes, with clusters, and with
// limits that a busy machine keeps.
func (h *headNode) write(python, schedulers, clusters string) {
	h.t.Helper()
	text := strings.NewReplacer("workers_per_node", "nodes = [2]\npoll_interval = \"1s\"\nworkers_per_node",
		`"00:10:00"`, `"00:30:00"`, `"60s"`, `"300s"`).Replace(tiny(python, schedulers, 1)) + clusters
	if err := os.WriteFile(filepath.Join(h.dir, defaultFile), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// replace changes a line of the experiment.
func (h *headNode) replace(old, new string) {
	h.t.Helper()
	path := filepath.Join(h.dir, defaultFile)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o644)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// command is esched with arguments, by the user.
func (h *headNode) command(ctx context.Context, args ...string) *exec.Cmd {
	h.t.Helper()
	program := filepath.Join(h.Home(h.t, slurmworld.User), "bin", "esched")
	c := h.Command(ctx, h.t, slurmworld.User, append([]string{program}, args...)...)
	c.Dir = h.dir
	return c
}

// esched runs esched to its end and returns its exit code and output.
func (h *headNode) esched(args ...string) (int, string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), clusterLimit)
	defer cancel()
	c := h.command(ctx, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if c.ProcessState == nil {
		h.t.Fatalf("esched %q: %v", args, err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// run reads the only run.
func (h *headNode) run() *record.Run {
	h.t.Helper()
	runs, err := filepath.Glob(filepath.Join(h.dir, "runs", "*"))
	if err != nil || len(runs) != 1 {
		h.t.Fatalf("want one run, have %q, %v", runs, err)
	}
	r, err := record.Read(runs[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// nothingLeft fails when anything of the user is left on a node, in the queue
// or in the ledger. The binary may stay.
func (h *headNode) nothingLeft() {
	h.t.Helper()
	h.nothingLeftRunning()
	for _, node := range h.Nodes {
		files := h.OnNode(h.t, node, "sh", "-c", "cd /var/tmp; find . -mindepth 1 -user "+slurmworld.User+" ! -path './esched-*/bin*' ! -path './esched-*/envs*' ! -name 'esched-*'")
		if files != "" {
			h.t.Errorf("left on %s: %s", node, files)
		}
	}
}

// nothingLeftRunning fails when a process is left, or a reservation.
func (h *headNode) nothingLeftRunning() {
	h.t.Helper()
	for _, node := range h.Nodes {
		eventually(h.t, leftoverBound, "end of all processes on "+node, func() bool {
			return len(h.Processes(h.t, node)) == 0 && len(h.Listening(h.t, node)) == 0
		})
	}
	h.nothingReserved()
}

// nothingReserved fails when the user has a job or an entry in the ledger.
func (h *headNode) nothingReserved() {
	h.t.Helper()
	eventually(h.t, leftoverBound, "end of all jobs", func() bool {
		return h.Output(h.t, slurmworld.User, "squeue", "-h", "--me") == ""
	})
	if entries, _ := filepath.Glob(filepath.Join(h.Home(h.t, slurmworld.User), ".local/state/esched/ledger/*.json")); len(entries) > 0 {
		h.t.Errorf("ledger: have %q", entries)
	}
}

// profiles are clusters of a world, one of each kind.
const profiles = `
[clusters.static]
kind = "static"
hosts = ["node[001-003]"]
scratch = "/var/tmp"

[clusters.slurm]
kind = "slurm"
interface = "10.78.0.0/16"
scratch = "/var/tmp"

[clusters.srun]
kind = "slurm"
launcher = "srun"
scratch = "/var/tmp"

[clusters.prun]
kind = "das"
launcher = "prun"
interface = "ib0"
scratch = "/var/tmp"

[clusters.das6]
kind = "das"
interface = "ib0"
scratch = "/var/tmp"
scheduler_node = "own"
`

// TestClusters runs an experiment on clusters of every kind.
func TestClusters(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		head := newHeadNode(t, w)
		for _, c := range []struct {
			cluster string
			address string // of every node, its beginning
		}{
			{"static", ""},
			{"slurm", "10.78."},
			{"prun", "10.78."},
			{"srun", ""},
		} {
			t.Run(c.cluster, func(t *testing.T) {
				h := head.at(t)
				h.write(python, `"dask", "sidekick"`, profiles)
				code, out := h.esched("run", "--plain", "--cluster", c.cluster)
				if code != hint.ExitOK {
					t.Fatalf("exit %d\n%s", code, out)
				}
				r := h.run()
				for _, rec := range measured(t, r) {
					if rec.Status != record.StatusOK || rec.Nodes != 2 || len(rec.PerWorker) != 2 {
						t.Errorf("record: have %+v", rec)
					}
				}
				if n := len(measured(t, r)); n != 3 {
					t.Errorf("want 3 records, have %d", n)
				}
				if len(r.Manifest.Hosts) < 2 {
					t.Errorf("hosts: have %+v", r.Manifest.Hosts)
				}
				for _, host := range r.Manifest.Hosts {
					if !strings.HasPrefix(host.Address, c.address) || host.Cores == 0 {
						t.Errorf("host: have %+v", host)
					}
				}
				climbed(t, r, "node001", "node002")
				h.nothingLeft()
			})
		}
	})
}

// climbed checks that nodes took all rungs of the ladder in order.
func climbed(t *testing.T, r *record.Run, nodes ...string) {
	t.Helper()
	contact := deploy.RungSSH
	switch r.Manifest.Cluster {
	case launcherSrun:
		contact = deploy.RungSrun
	case launcherPrun:
		contact = deploy.RungPrun
	}
	want := []deploy.Rung{deploy.RungGranted, contact, deploy.RungEnvironment, deploy.RungFiles, deploy.RungProcess, deploy.RungRegistered}
	for _, node := range nodes {
		var have []string
		for _, e := range r.Events {
			if e.Kind == record.EventNode && e.Node == node && !slices.Contains(have, e.State) {
				have = append(have, e.State)
			}
		}
		if len(have) > len(want) { // a node without workers executes nothing
			have = have[:len(want)]
		}
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("rungs of %s: want %v, have %v", node, want, have)
		}
	}
}

// TestClusterFaults meets bad nodes, a queue without nodes, and a run that is
// killed.
func TestClusterFaults(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		head := newHeadNode(t, w)
		t.Run("no nodes in time", func(t *testing.T) {
			h := head.at(t)
			_, free := w.Occupy(t, 2)
			defer free()
			h.write(python, `"dask"`, "[clusters.busy]\nkind = \"slurm\"\nqueue_wait = \"3s\"\n")
			code, out := h.esched("run", "--plain", "--cluster", "busy")
			if code != hint.ExitNoNodes || !strings.Contains(out, "no nodes within 3s (queue_wait)") || !strings.Contains(out, "esched run --resume") {
				t.Errorf("exit %d\n%s", code, out)
			}
			h.nothingReserved()
		})
		t.Run("more nodes than the profile has", func(t *testing.T) {
			h := head.at(t)
			h.write(python, `"dask"`, "[clusters.strict]\nkind = \"slurm\"\nmax_nodes = 1\n")
			code, out := h.esched("run", "--plain", "--cluster", "strict")
			if code != hint.ExitUsage || !strings.Contains(out, "has at most 1, not 2") {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
		t.Run("a bad node", func(t *testing.T) {
			h := head.at(t)
			w.OnNode(t, "node002", "chmod", "755", "/var/tmp") // no room for the run
			defer w.OnNode(t, "node002", "chmod", "1777", "/var/tmp")
			h.write(python, `"dask"`, profiles+"[clusters.stop]\nkind = \"static\"\nhosts = [\"node[001-002]\"]\nscratch = \"/var/tmp\"\nbad_nodes = \"stop\"\n")
			code, out := h.esched("run", "--plain", "--cluster", "static")
			if code != hint.ExitTrials || !strings.Contains(out, "asks for 2 node(s), 1 are usable") || !strings.Contains(out, "1 of 2 node(s) are usable") {
				t.Errorf("exclude: exit %d\n%s", code, out)
			}
			for _, rec := range measured(t, h.run()) {
				if rec.Status != record.StatusSkipped {
					t.Errorf("want a skipped trial, have %+v", rec)
				}
			}
			code, out = h.esched("run", "--plain", "--cluster", "stop", "--output", "more")
			if code != hint.ExitError || !strings.Contains(out, "node002") || !strings.Contains(out, "Try:") {
				t.Errorf("stop: exit %d\n%s", code, out)
			}
			h.nothingLeft()
		})
		t.Run("killed", func(t *testing.T) { testKilledOnCluster(t, head.at(t), python) })
		t.Run("left on a host", func(t *testing.T) { testLeftOnHosts(t, head.at(t), python) })
		t.Run("cancelled", func(t *testing.T) { testCancelledJob(t, head.at(t), python) })
	})
}

// testCancelledJob takes the nodes away in a run that would take long.
func testCancelledJob(t *testing.T, h *headNode, python string) {
	h.write(python, `"dask"`, profiles)
	h.replace("repetitions = 1", "repetitions = 100")
	var out lockedBuffer
	c := h.command(t.Context(), "run", "--plain", "--cluster", "slurm")
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, clusterLimit, "a trial", func() bool { return strings.Contains(out.String(), " ok  montecarlo 20 chunks") })
	h.Output(t, slurmworld.User, "scancel", "--me")
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-ended:
	case <-time.After(clusterLimit):
		_ = c.Process.Kill()
		t.Fatalf("the run goes on on nodes that are not its own:\n%s", out.String())
	}
	for _, want := range []string{"reservation lost", "not run", "esched run --resume"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
	if code := c.ProcessState.ExitCode(); code != hint.ExitError {
		t.Errorf("exit code: want %d, have %d", hint.ExitError, code)
	}
	h.nothingLeftRunning()
}

// testKilledOnCluster kills esched in a run and cleans up after it.
func testKilledOnCluster(t *testing.T, h *headNode, python string) {
	h.write(python, `"dask"`, profiles)
	point := failpoint.Told(string(record.EventNode), string(deploy.RungRegistered))
	h.start(point, "run", "--plain", "--cluster", "slurm").endsAt(point)
	if jobs := h.Output(t, slurmworld.User, "squeue", "-h", "--me"); jobs == "" {
		t.Error("the reservation vanished with esched; there is nothing to clean")
	}
	code, out := h.esched("clean")
	if code != hint.ExitOK || !strings.Contains(out, "reservation slurm ") || strings.Contains(out, "not removed") {
		t.Errorf("clean: exit %d\n%s", code, out)
	}
	h.nothingLeft()
}
