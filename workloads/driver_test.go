package workloads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
)

// child is a process of a test; it is killed at the test's end.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	log  string
}

func (c *child) Done() <-chan struct{} { return c.done }
func (c *child) Err() error            { return c.err }

func spawn(t *testing.T, name string, argv, env []string, stdin io.Reader, stdout io.Writer) *child {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{}), log: log.Name()}
	c.cmd.Env = append(os.Environ(), append(env, "PYTHONDONTWRITEBYTECODE=1")...)
	c.cmd.Stdout, c.cmd.Stderr = stdout, log
	if stdin != nil {
		// Not cmd.Stdin: Wait would wait for the end of what is read.
		pipe, err := c.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			io.Copy(pipe, stdin)
			pipe.Close()
		}()
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		<-c.done
	})
	return c
}

// patience is how long processes get to start on a busy machine.
const patience = 5 * time.Minute

// cluster is a scheduler with two workers.
type cluster struct {
	t                        *testing.T
	python, address, modules string
}

// startCluster starts one; preload is a module or a file that the scheduler
// loads.
func startCluster(t *testing.T, python, preload string, variables ...string) *cluster {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, python: python, modules: filepath.Join(here, "python") + ":" + filepath.Join(here, "testdata", "python")}
	env := []string{"PYTHONPATH=" + c.modules + ":" + filepath.Join(here, "..", "deploy"), "DASK_DISTRIBUTED__WORKER__PRELOAD=esched_mends"}
	file := filepath.Join(t.TempDir(), "scheduler.json")
	spawn(t, "scheduler", []string{python, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show",
		"--scheduler-file", file, "--preload", "esched_mends", "--preload", preload}, append(variables, env...), nil, nil)
	for i := range 2 {
		spawn(t, "worker", []string{python, "-m", "dask", "worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny",
			"--no-dashboard", "--host", "127.0.0.1", "--name", fmt.Sprint("w", i)}, env, nil, nil)
	}
	for limit := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		b, _ := os.ReadFile(file)
		_, rest, found := strings.Cut(string(b), `"address": "`)
		if address, _, whole := strings.Cut(rest, `"`); found && whole { // Dask does not write it at once
			c.address = address
			return c
		}
		if time.Now().After(limit) {
			t.Fatal("the scheduler did not write its address in time")
		}
	}
}

// driver starts a driver and returns it with its process.
func (c *cluster) driver() (*Driver, *child) {
	c.t.Helper()
	var process *child
	start := func(_ context.Context, argv, env []string, stdin io.Reader, stdout io.Writer) (Process, error) {
		process = spawn(c.t, "driver", argv, env, stdin, stdout)
		return process, nil
	}
	tail := func() string { b, _ := os.ReadFile(process.log); return strings.TrimSpace(string(b)) }
	d, err := StartDriver(c.t.Context(), start, DriverSpec{Python: c.python, Scheduler: c.address, PythonPath: c.modules, Tail: tail}, patience)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := d.Wait(c.t.Context(), 2, patience); err != nil {
		c.t.Fatal(err)
	}
	return d, process
}

func TestDriver(t *testing.T) {
	t.Parallel()
	for name, python := range map[string]func(testing.TB) string{"current": need.Python, "old": need.OldPython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, python(t), "sidekick_preload")
			d, _ := c.driver()
			testMonteCarlo(t, d)
			testExact(t, d)
			testSynthetic(t, d)
			testReplay(t, d)
			testTimeline(t, d)
			testPipeline(t, c, d)
			testFailures(t, d)
			testBreaks(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := d.Close(ctx); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

func testMonteCarlo(t *testing.T, d *Driver) {
	w, _ := ByName("montecarlo")
	params := map[string]any{"simulations": int64(20_050), "chunk": int64(100)}
	for _, r := range []Request{{Kind: "dask"}, {Kind: "sidekick", Policy: "random"}} {
		r.Workload, r.Params, r.Seed = "montecarlo", params, 7
		have, err := d.Trial(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", r.Kind, err)
		}
		if err := w.Verify(params, have.Digest, have.Result); err != nil {
			t.Errorf("%s: %v", r.Kind, err)
		}
		// 201 chunks, 13 sums of them, and the sum of those.
		if have.Tasks != 215 || len(have.PerWorker) != 2 || have.BytesMoved <= 0 {
			t.Errorf("%s: have %d tasks, %d workers, %d bytes", r.Kind, have.Tasks, len(have.PerWorker), have.BytesMoved)
		}
		if want := "pi = 3.140948 (15744/20050)"; have.Result != want {
			t.Errorf("%s: have %q, want %q", r.Kind, have.Result, want)
		}
		if s := have.Sidekick; (s != nil) != (r.Kind == "sidekick") {
			t.Errorf("%s: sidekick %+v", r.Kind, s)
		} else if s != nil && (s.Decisions != 4 || s.Sources["next"] != 2 || *s.US != Quantiles{2, 1000, 1000, 1000} || *s.AskUS != Quantiles{1000, 1000, 1000, 1000} || len(s.Hist) != 4 || math.Abs(s.AskS-1e-3) > 1e-9 || math.Abs(s.HitS-6e-6) > 1e-9) {
			t.Errorf("sidekick: have %+v, %+v", s, s.US)
		}
	}
}

// testExact runs the workloads whose results are known.
func testExact(t *testing.T, d *Driver) {
	for _, test := range []struct {
		workload, param string
		value           int64
		tasks           int    // 0: a matter of Dask's version
		digest          string // "": a matter of the result
	}{
		{"merge", "tasks", 50, 51, ""},
		{"tree", "leaves", 32, 63, ""},
		{"groupby", "partitions", 12, 0, "8c97573eb375"}, // on all versions of Dask
		{"shuffle", "partitions", 6, 0, ""},
	} {
		w, _ := ByName(test.workload)
		params := map[string]any{test.param: test.value}
		have, err := d.Trial(t.Context(), Request{Workload: test.workload, Kind: "dask", Seed: 3, Params: params})
		if err != nil {
			t.Errorf("%s: %v", test.workload, err)
			continue
		}
		if err := w.Verify(params, have.Digest, have.Result); err != nil {
			t.Errorf("%s: %v", test.workload, err)
		}
		if have.Tasks == 0 || test.tasks != 0 && have.Tasks != test.tasks || !strings.HasPrefix(have.Digest, test.digest) {
			t.Errorf("%s: have %d tasks, digest %s", test.workload, have.Tasks, have.Digest)
		}
	}
}

func testFailures(t *testing.T, d *Driver) {
	for _, test := range []struct {
		mode, kind, want string
	}{
		{"raise", "dask", "ZeroDivisionError: the divisor"},
		{"fine", "sidekick", "unknown policy 'no'"},
	} {
		_, err := d.Trial(t.Context(), misbehave(test.mode, test.kind))
		failed, ok := errors.AsType[*FailedError](err)
		if !ok || !strings.Contains(failed.Reason, test.want) || failed.Traceback == "" {
			t.Errorf("%s: have %v, want %q", test.mode, err, test.want)
		}
	}
	for mode, digest := range map[string]string{"garbage": "right", "wrong-digest": "wrong"} {
		have, err := d.Trial(t.Context(), misbehave(mode, "dask"))
		if err != nil || have.Digest != digest {
			t.Errorf("%s: have %q, %v", mode, have.Digest, err)
		}
	}
}

func misbehave(mode, kind string) Request {
	return Request{Workload: "misbehave", Module: "misbehave", Kind: kind, Policy: "no", Params: map[string]any{"mode": mode}}
}

// testBreaks breaks drivers; hang comes last, as it blocks a worker.
func testBreaks(t *testing.T, c *cluster) {
	for _, mode := range []string{"kill", "corrupt", "hang"} {
		d, process := c.driver()
		limit := patience
		if mode == "hang" {
			limit = 5 * time.Second // it never answers
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := d.Trial(ctx, misbehave(mode, "dask"))
		cancel()
		ok := errors.Is(err, ErrBroken)
		switch mode {
		case "kill":
			died, is := errors.AsType[*DiedError](err)
			ok = ok && is && strings.Contains(died.Log, "last words")
		case "corrupt":
			_, is := errors.AsType[*GarbageError](err)
			ok = ok && is
		case "hang":
			ok = ok && errors.Is(err, context.DeadlineExceeded)
		}
		if !ok {
			t.Errorf("%s: have %v", mode, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), patience)
		if _, again := d.Trial(ctx, misbehave("fine", "dask")); again != err {
			t.Errorf("%s: second call: have %v, want the first error", mode, again)
		}
		cancel()
		process.cmd.Process.Kill()
		<-process.done
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":1,"status":"ok","makespan_s":1,"digest":"d","sidekick":{"decision_us":{}}}`))
	f.Add([]byte(`{"ready":true}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decodeMessage(line)
		if err == nil && !m.Ready && m.ID == nil {
			t.Error("accepted without an id")
		}
		if r, err := decodeResponse(bytes.Clone(line)); err == nil && (r.MakespanS <= 0 || r.Digest == "") {
			t.Errorf("accepted %+v", r)
		}
	})
}
