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

const ready = 60 * time.Second

func plain(dir, python string) deploy.Spec {
	return deploy.Spec{
		Python: python, PythonPath: dir, WorkersPerNode: 2, Threads: 1,
		Settings: map[string]any{"distributed.scheduler.worker-saturation": 1.5, "esched-test.number": 1e-7},
		Dir:      dir, Logs: filepath.Join(dir, "logs"), Ready: ready,
	}
}

func hosts(t *testing.T, dir string, names ...string) []deploy.Host {
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
func short(t *testing.T) string {
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
from distributed import Client
with Client(sys.argv[1], timeout=20) as c:
    print(sum(c.gather(c.map(lambda x: x * x, range(10)))), dask.config.get("esched-test.number"))
`

func TestDeployment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		python func(testing.TB) string
	}{{"current", need.Python}, {"old", need.OldPython}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := short(t)
			spec := plain(dir, c.python(t))
			spec.WorkersPerNode = 1
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
			<-p.Done()
			have, _ := os.ReadFile(out)
			if want := "285 1e-07\n"; string(have) != want || p.Err() != nil {
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
			case <-time.After(10 * time.Second):
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
with Client(sys.argv[1], timeout=20) as c:
    names = c.run_on_scheduler(lambda dask_scheduler: sorted(w.name for w in dask_scheduler.workers.values()))
    print(names[:2], len(names), c.submit(abs, -3).result())
`, d.Addr()).CombinedOutput()
			if want := "['a-w0', 'a-w1'] 24 0"; err != nil || !strings.Contains(string(out), want) {
				t.Errorf("want %s, have %v: %s", want, err, out)
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
		spec.Ready = 12 * time.Second // enough for the scheduler on a busy machine
		late := "import time\ntime.sleep(100)\n"
		if err := os.WriteFile(filepath.Join(dir, "late_start.py"), []byte(late), 0o600); err != nil {
			t.Fatal(err)
		}
		spec.Settings = map[string]any{"distributed.worker.preload": []any{"late_start"}}
		_, err := deploy.Start(t.Context(), hosts(t, dir, "a"), spec)
		if err == nil || !strings.Contains(err.Error(), "2 of 2 workers not registered within 12s: a-w0, a-w1") {
			t.Errorf("want an error that tells who is missing, have %v", err)
		}
	})
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
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if deploytest.Alive(pid) {
				left++
			}
		}
		records, _ := filepath.Glob(filepath.Join(dir, deploy.ProcessesDir, "*"))
		if left == 0 && len(records) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("5 s after the parent's death: %d processes and records %v are left", left, records)
		}
	}
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
