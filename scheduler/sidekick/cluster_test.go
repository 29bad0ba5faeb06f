package sidekick

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
)

// interpreters are the two ends of the range of Dask that the preload serves.
func interpreters(t *testing.T, test func(t *testing.T, python string)) {
	t.Helper()
	for _, x := range []struct {
		name   string
		python func(testing.TB) string
	}{{"current", need.Python}, {"old", need.OldPython}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			test(t, x.python(t))
		})
	}
}

// cluster is a Dask scheduler with the preload; workers and clients are up to
// the test.
type cluster struct {
	dir    string
	python string
	socket string // that the preload connects to
	file   string // the scheduler file
	log    string // of the scheduler
}

// clusterOptions change how a scheduler starts.
type clusterOptions struct {
	socket string   // instead of DIR/s
	env    []string // more variables
	module bool     // preload by the module's name, not by its file
	// impatient keeps the preload's own deadline for answers.
	impatient bool
}

func newCluster(t *testing.T, python string, o clusterOptions) *cluster {
	t.Helper()
	dir := shortDir(t)
	c := &cluster{
		dir: dir, python: python, socket: o.socket,
		file: filepath.Join(dir, "scheduler.json"), log: filepath.Join(dir, "scheduler.log"),
	}
	if c.socket == "" {
		c.socket = filepath.Join(dir, "s")
	}
	module := filepath.Join(dir, "esched_preload.py")
	text := Preload("test")
	if !o.impatient {
		// A machine that is busy with tests is not a service that hangs.
		text = regexp.MustCompile(`(?m)^DEADLINE = [0-9.]+`).ReplaceAll(text, []byte("DEADLINE = 5.0"))
		if bytes.Equal(text, Preload("test")) {
			t.Fatal("the preload has no line DEADLINE = ...")
		}
	}
	if err := os.WriteFile(module, text, 0o600); err != nil {
		t.Fatal(err)
	}
	preload := module
	if o.module {
		preload = "esched_preload"
	}
	cmd := c.command("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
		"--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", c.file, "--preload", "esched_mends", "--preload", preload)
	cmd.Env = append(cmd.Env, "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH=1000000")
	cmd.Env = append(cmd.Env, o.env...)
	cmd.Env = append(cmd.Env, "ESCHED_SOCKET="+c.socket)
	log, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	launch(t, cmd)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the scheduler's log:\n%s", notable(c.logged(t)))
		}
	})
	return c
}

// command prepares a run of the cluster's interpreter with the test's modules
// on its path.
func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.python, args...)
	scripts, _ := filepath.Abs("testdata/python")
	cmd.Dir = c.dir
	mends, _ := filepath.Abs("../../deploy") // esched_mends.py
	cmd.Env = append(os.Environ(), "PYTHONPATH="+scripts+":"+mends+":"+c.dir, "PYTHONDONTWRITEBYTECODE=1",
		"DASK_DISTRIBUTED__WORKER__PRELOAD=esched_mends",
		"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "DASK_DATAFRAME__CONVERT_STRING=False")
	return cmd
}

// script runs a script of testdata/python and calls each for every line that
// it prints.
func (c *cluster) script(t *testing.T, bound time.Duration, env []string, each func(line []byte), name string, args ...string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "python", name))
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.command(append([]string{path}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(bound, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		each(lines.Bytes())
	}
	err = cmd.Wait()
	if !late.Stop() {
		t.Errorf("%s: did not end within %v", name, bound)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // forked workers that lost their parent
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, notable(errs.String()))
	} else if t.Failed() {
		t.Logf("%s wrote:\n%s", name, notable(errs.String()))
	}
}

// notable returns the last lines of a log that tell more than that workers
// came.
func notable(log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, " INFO ") || strings.Contains(line, "esched") || strings.Contains(line, "Remove worker") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[max(0, len(kept)-60):], "")
}

func (c *cluster) logged(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(c.log)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// entry begins a message in the scheduler's log.
var entry = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d `)

// quiet checks that nothing went wrong unseen inside the scheduler, except
// that a killed worker's connection broke.
func (c *cluster) quiet(t *testing.T) {
	t.Helper()
	log := c.logged(t)
	starts := append(entry.FindAllStringIndex(log, -1), []int{len(log), len(log)})
	for i, at := range starts[:len(starts)-1] {
		message := log[at[0]:starts[i+1][0]]
		if !strings.Contains(message, "Traceback") && !strings.Contains(message, " ERROR ") {
			continue
		}
		if strings.Contains(message, "CommClosedError") || strings.Contains(message, "StreamClosedError") {
			continue
		}
		t.Errorf("scheduler logged: %.3000s", message)
	}
}

// launch starts a process in a group of its own, which ends with the test.
func launch(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
}

// shortDir makes a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "es")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// serve runs a service in this process until the test ends.
func serve(t *testing.T, cfg Config) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	cfg.Ready = func() { close(ready) }
	var mu sync.Mutex
	var warnings []error
	if cfg.Warn == nil {
		cfg.Warn = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			warnings = append(warnings, err)
		}
	}
	go func() { done <- Serve(ctx, cfg) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if err := errors.Join(warnings...); err != nil {
			t.Errorf("service warned: %v", err)
		}
	})
}

// within polls a condition.
func within(bound time.Duration, what string, condition func() bool) error {
	for end := time.Now().Add(bound); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %v", what, bound)
		}
	}
	return nil
}

// safeBuffer collects a record while the service writes to it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.b.Bytes())
}

var _ io.Writer = (*safeBuffer)(nil)
