package deploy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/local"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
)

func TestMain(m *testing.M) {
	deploytest.Main(m, deploytest.Part{Name: "deployer", Main: deployer}, deploytest.Part{Name: "service", Main: service})
}

// service stands where a decision service does: it says that it is ready and
// stays.
func service(args []string) int {
	fmt.Println("hello")
	fmt.Println("ready", args[0])
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {}
}

// deployer is a process that starts a deployment, says so and is killed.
func deployer(args []string) int {
	dir, python := args[0], args[1]
	h, err := local.New(local.Config{Guard: deploytest.Guard(), Records: filepath.Join(dir, deploy.ProcessesDir)})
	if err == nil {
		var d *deploy.Deployment
		if d, err = deploy.Start(context.Background(), []deploy.Host{h}, plain(dir, python)); err == nil {
			fmt.Println(d.Scheduler().PID())
			for _, w := range d.Workers() {
				fmt.Println(w.PID())
			}
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// ready is how long a deployment, and anything that starts Python, may take on a
// machine that has other things to do.
const ready = 5 * time.Minute

func plain(dir, python string) deploy.Spec {
	return deploy.Spec{
		Python: python, PythonPath: dir, WorkersPerNode: 2, Threads: 1,
		Settings: map[string]any{"distributed.scheduler.worker-saturation": 1.5, "esched-test.number": 1e-7},
		Dir:      dir, Logs: filepath.Join(dir, "logs"), Ready: ready,
	}
}

func hosts(t testing.TB, dir string, names ...string) []deploy.Host {
	t.Helper()
	var all []deploy.Host
	for _, name := range names {
		h, err := local.New(local.Config{Name: name, Guard: deploytest.Guard(), Records: filepath.Join(dir, deploy.ProcessesDir)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		all = append(all, h)
	}
	return all
}

// short is a temporary directory with a path that has room for a socket.
func short(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

const sum = `
import sys, dask
from distributed import Client, system
with Client(sys.argv[1], timeout=300) as c:
    print(sum(c.gather(c.map(lambda x: x * x, range(10)))), dask.config.get("esched-test.number"))
    for worker in c.scheduler_info()["workers"].values():
        limit = worker["memory_limit"]
        print("all" if limit == system.MEMORY_LIMIT else limit)
    print(*c.run(lambda dask_worker: type(dask_worker.digests_total_since_heartbeat).__name__).values())
    if (3, 11) <= sys.version_info < (3, 11, 9):
        frames = lambda: sys._current_frames.__module__
        assert {c.run_on_scheduler(frames), *c.run(frames).values()} == {"esched_mends"}
`

func TestDeployment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		python func(testing.TB) string
		memory int64
		limit  string // of a worker
		counts string // the type of a worker's counters
	}{{"current", need.Python, 0, "all", "defaultdict"}, {"old", need.OldPython, 400_000_000, "400000000", "Counters"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := short(t)
			spec := plain(dir, c.python(t))
			spec.WorkersPerNode, spec.MemoryLimit = 1, c.memory
			var mu sync.Mutex
			var steps []string
			spec.Observe = func(s deploy.Step) {
				mu.Lock()
				defer mu.Unlock()
				steps = append(steps, s.Node+" "+s.State)
			}
			spec.Service = []string{os.Args[0], "service", "{socket}"}
			spec.Preload = []byte("import os\nassert os.environ['ESCHED_SOCKET']\nprint('preloaded', __name__)\n")
			begin := time.Now()
			d, err := deploy.Start(t.Context(), hosts(t, dir, "a", "b"), spec)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("up after %v", time.Since(begin))
			out := filepath.Join(dir, "sum")
			f, err := os.Create(out)
			if err != nil {
				t.Fatal(err)
			}
			p, err := d.Driver(t.Context(), deploy.Command{
				Name: "driver", Argv: []string{spec.Python, "-c", sum, d.Addr()}, Stdout: f, Log: filepath.Join(dir, "driver.log"),
			})
			if err != nil {
				t.Fatal(err)
			}
			deploytest.Ended(t, p, ready)
			have, _ := os.ReadFile(out)
			if want := "285 1e-07\n" + strings.Repeat(c.limit+"\n", 2) + c.counts + " " + c.counts + "\n"; string(have) != want || p.Err() != nil {
				log, _ := os.ReadFile(filepath.Join(dir, "driver.log"))
				t.Errorf("driver: want %q, have %q, %v\n%s", want, have, p.Err(), log)
			}
			text, _ := os.ReadFile(filepath.Join(spec.Logs, "scheduler.log"))
			if want := "preloaded esched_preload"; !strings.Contains(string(text), want) {
				t.Errorf("scheduler's log: want %q, have %s", want, text)
			}
			if cpu, err := d.Scheduler().CPU(); err != nil || cpu < 100*time.Millisecond {
				t.Errorf("scheduler's CPU time: %v, %v", cpu, err)
			}

			victim := d.Workers()[1]
			if err := victim.Signal("KILL"); err != nil {
				t.Error(err)
			}
			select {
			case loss := <-d.Lost():
				if loss.Member != victim || loss.Fatal() {
					t.Errorf("want the loss of %s, not fatal, have %s, fatal %v", victim.Name, loss.Member.Name, loss.Fatal())
				}
			case <-time.After(ready):
				t.Error("killed worker: no loss reported")
			}
			begin = time.Now()
			if err := d.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			t.Logf("down after %v", time.Since(begin))
			mu.Lock()
			defer mu.Unlock()
			for _, want := range []string{"a/service registered", "a/scheduler process", "a/scheduler registered", "b/b-w0 registered", "b/b-w0 lost"} {
				if !strings.Contains(strings.Join(steps, "\n"), want) {
					t.Errorf("steps: want %q, have %q", want, steps)
				}
			}
			left, _ := filepath.Glob(filepath.Join(dir, "d*"))
			if len(left) > 1 || len(left) == 1 && !strings.HasSuffix(left[0], "driver.log") {
				t.Errorf("want no files of the deployment, have %v", left)
			}
		})
	}
}

// TestInstantWorkers starts workers that share a process and execute nothing.
func TestInstantWorkers(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Abs("../workloads/python")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		python func(testing.TB) string
	}{{"current", need.Python}, {"old", need.OldPython}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := short(t)
			spec := plain(dir, c.python(t))
			spec.Instant, spec.WorkersPerNode, spec.PythonPath = true, 24, modules
			d, err := deploy.Start(t.Context(), hosts(t, dir, "a"), spec)
			if err != nil {
				t.Fatal(err)
			}
			if all := d.Workers(); len(all) != 1 || all[0].Name != "a-instant" {
				t.Errorf("want one process, have %v", all)
			}
			out, err := exec.Command(spec.Python, "-c", `
import sys
from distributed import Client
with Client(sys.argv[1], timeout=300) as c:
    names = c.run_on_scheduler(lambda dask_scheduler: sorted(w.name for w in dask_scheduler.workers.values()))
    print(names[:2], len(names), c.submit(abs, -3).result())
    c.sync(c.scheduler.esched_progress, mark=7)
    c.gather(c.map(abs, range(50), pure=False))
`, d.Addr()).CombinedOutput()
			if want := "['a-w0', 'a-w1'] 24 0"; err != nil || !strings.Contains(string(out), want) {
				t.Errorf("want %s, have %v: %s", want, err, out)
			}
			o := d.Observer()
			p, err := o.Progress(t.Context())
			if p.Mark != 7 || p.Submitted != 50 || p.Finished != 50 || p.Workers != 24 || p.Threads != 24 || p.Seconds <= 0 ||
				p.Erred+p.Queued+p.Busy+p.Occupied != 0 || p.Decisions != nil || err != nil {
				t.Errorf("progress: have %+v, %v", p, err)
			}
			o.Close()
			if _, err := o.Progress(t.Context()); err == nil {
				t.Error("a closed observer still asks")
			}
			if have := d.HostOf("a-w23") + d.HostOf("a-w24"); have != "a" {
				t.Errorf("host of a worker: want a, have %s", have)
			}
			if err := d.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMissingWorkerIsNamed(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		dir := short(t)
		spec := plain(dir, python)
		spec.Settings = map[string]any{"distributed.worker.preload": []any{"no_such_module"}}
		_, err := deploy.Start(t.Context(), hosts(t, dir, "a"), spec)
		if err == nil || !strings.Contains(err.Error(), "a-w") || !strings.Contains(err.Error(), "no_such_module") {
			t.Errorf("want an error with the worker's name and its log, have %v", err)
		}
	})
	t.Run("late", func(t *testing.T) {
		t.Parallel()
		dir := short(t)
		spec := plain(dir, python)
		spec.WorkersPerNode, spec.Ready = 3, time.Hour
		late := "import sys, time\nif 'a-w0' not in sys.argv:\n    time.sleep(1000)\n"
		if err := os.WriteFile(filepath.Join(dir, "late_start.py"), []byte(late), 0o600); err != nil {
			t.Fatal(err)
		}
		spec.Settings = map[string]any{"distributed.worker.preload": []any{"late_start"}}
		expireAt(&spec, "a/a-w0")
		_, err := deploy.Start(t.Context(), hosts(t, dir, "a"), spec)
		if err == nil || !strings.Contains(err.Error(), "2 of 3 workers not registered within 1h0m0s: a-w1, a-w2") {
			t.Errorf("want an error that tells who is missing, have %v", err)
		}
	})
}

// expireAt lets the time for getting ready be over when a host or a process of it
// has registered.
func expireAt(spec *deploy.Spec, node string) {
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	spec.Expire(over)
	spec.Observe = func(s deploy.Step) {
		if s.Node == node && s.State == string(deploy.RungRegistered) {
			end()
		}
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := short(t)
	spec := plain(dir, need.Python(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("changed my mind")
	var mu sync.Mutex
	var pids []int
	spec.Observe = func(s deploy.Step) {
		var pid int
		if _, err := fmt.Sscanf(s.Message, "pid %d", &pid); err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if pids = append(pids, pid); len(pids) == 3 {
			cancel(why)
		}
	}
	_, err := deploy.Start(ctx, hosts(t, dir, "a"), spec)
	if !errors.Is(err, why) {
		t.Errorf("want %v, have %v", why, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, pid := range pids {
		if deploytest.Alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

func TestKilledParentLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := short(t)
	cmd := exec.Command(os.Args[0], "deployer", dir, need.Python(t))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 3 && lines.Scan(); {
		pid, _ := strconv.Atoi(lines.Text())
		pids = append(pids, pid)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if len(pids) != 3 {
		t.Fatalf("want 3 processes, have %v", pids)
	}
	deploytest.Await(t, "nothing left of a killed parent", ready, func() error {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !deploytest.Alive(pid) })
		records, _ := filepath.Glob(filepath.Join(dir, deploy.ProcessesDir, "*"))
		if len(left)+len(records) > 0 {
			return fmt.Errorf("there are processes %v and records %v", left, records)
		}
		return nil
	})
}

func TestLongScratchPathIsRefused(t *testing.T) {
	t.Parallel()
	spec := plain("/tmp/"+strings.Repeat("x", 100), "python3")
	_, err := deploy.Start(t.Context(), hosts(t, t.TempDir(), "a"), spec)
	if err == nil || hint.Exit(err) != hint.ExitUsage || hint.Of(err) == "" {
		t.Errorf("want a usage error with a hint, have %v", err)
	}
}

func readNumber(path string) int {
	text, _ := os.ReadFile(path)
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// parent is the parent's process id of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	n, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
