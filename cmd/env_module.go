package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/esched/esched/workloads"
)

// moduleGrace is what a Python module that generates data gets to end after it
// was told to.
const moduleGrace = 5 * time.Second

// dataPython runs modules of the workloads with an environment that is made
// when it is first needed. It may be used from several goroutines.
type dataPython struct {
	*globals
	env      string
	progress func(workloads.Progress)

	once        sync.Once
	interpreter string
	modules     string
	err         error
}

func (d *dataPython) prepare(ctx context.Context) {
	e, err := d.environment(ctx, d.env, func(text string) { d.progress(workloads.Progress{What: text}) })
	if err != nil {
		d.err = err
		return
	}
	d.interpreter = e.Interpreter
	if d.modules, d.err = d.privateDir("esched-data"); d.err == nil {
		d.err = os.CopyFS(d.modules, d.files)
	}
}

func (d *dataPython) close() {
	if d.modules != "" {
		_ = d.removeAll(d.modules) // a left one is in a temporary directory
	}
}

// run implements the Python of [workloads.Obtain].
func (d *dataPython) run(ctx context.Context, stdout io.Writer, module string, args ...string) error {
	d.once.Do(func() { d.prepare(ctx) })
	if d.err != nil {
		return d.err
	}
	var complaint tail
	c := exec.CommandContext(ctx, d.interpreter, append([]string{"-m", module}, args...)...)
	c.Dir = d.modules
	c.Env = append(d.Environ(), "PYTHONPATH="+d.modules, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	c.Stdout, c.Stderr = stdout, &complaint
	// A group of its own, so that a module's helpers end with it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = moduleGrace
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what it left; usually nothing is there
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if text := complaint.text(); text != "" {
		return fmt.Errorf("python -m %s: %w; it wrote: %s", module, err, text)
	}
	return fmt.Errorf("python -m %s: %w", module, err)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// tailBytes is what is shown of a program's complaints.
const tailBytes = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = bytes.Clone(t.b[max(0, len(t.b)-tailBytes):])
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
