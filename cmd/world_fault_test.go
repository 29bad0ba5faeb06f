package cmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

// holdable is a program whose second and later trials last as long as a file
// "hold" exists, and which tells of that by a file "held". As long as a file
// "hold-first" exists its first one does not end either.
const holdable = `import pathlib
import time

HERE = pathlib.Path(%q)


def task(i):
    """Return i, when nothing holds it."""
    while (HERE / "hold-first").exists():
        time.sleep(0.05)
    while (HERE / "first").exists() and (HERE / "hold").exists():
        (HERE / "held").touch()
        time.sleep(0.05)
    return i


def run(client, params):
    """Execute some tasks on all workers."""
    total = sum(client.gather(client.map(task, range(8))))
    (HERE / "first").touch()
    return total
`

// faultPlan is an experiment of two trials on two nodes. The second one can be
// held.
func (h *headNode) faultPlan(python, options string) {
	h.t.Helper()
	h.file("holdable.py", fmt.Sprintf(holdable, h.dir))
	h.file(defaultFile, fmt.Sprintf(`name = "faults"
cluster = "test"
repetitions = 1
claim_time = "00:30:00"
poll_interval = "1s"
timeout = "180s"
retries = 0
warmup = 0
environment = %q
nodes = [2]
workers_per_node = 1
schedulers = ["dask"]

[[workload]]
name = "holdable"
part = [1, 2]

[program.holdable]
script = "holdable.py"

[clusters.test]
kind = "slurm"
scratch = "/var/tmp"
%s`, python, options))
}

// file writes a file of the user's beside the experiment.
func (h *headNode) file(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// replaceInPlan changes the experiment.
func (h *headNode) replaceInPlan(old, text string) {
	h.t.Helper()
	plan, err := os.ReadFile(filepath.Join(h.dir, defaultFile))
	if err != nil || strings.Count(string(plan), old) != 1 {
		h.t.Fatalf("want %q once in the plan, have %v\n%s", old, err, plan)
	}
	h.file(defaultFile, strings.Replace(string(plan), old, text, 1))
}

// hold keeps the second trial going until the returned function is called.
func (h *headNode) hold() (goOn func()) {
	h.t.Helper()
	return h.gate("hold")
}

// holdFirst keeps the first trial going until the returned function is called.
func (h *headNode) holdFirst() (goOn func()) {
	h.t.Helper()
	return h.gate("hold-first")
}

func (h *headNode) gate(name string) (open func()) {
	h.t.Helper()
	h.file(name, "")
	return func() {
		if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
			h.t.Error(err)
		}
	}
}

// held waits until a task of the second trial is held on a node. It does not
// wait for an esched that has ended.
func (h *headNode) held() {
	h.t.Helper()
	h.until("a task that is held", func() bool {
		if h.latest != nil {
			select {
			case <-h.latest.done:
				code, out := h.latest.ends()
				h.t.Fatalf("no task is held: esched ended with %d\n%s", code, out)
			default:
			}
		}
		_, err := os.Stat(filepath.Join(h.dir, "held"))
		return err == nil
	})
}

// worldLimit bounds one execution of esched, and waits for what it does, on a
// machine that is very busy.
const worldLimit = 10 * time.Minute

// until waits for something that a run does, and shows its events when it
// does not.
func (h *headNode) until(what string, done func() bool) {
	h.t.Helper()
	for end := time.Now().Add(worldLimit); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("%s: not within %v\n%s", what, worldLimit, h.events())
		}
	}
}

// events is the text of the events of all runs.
func (h *headNode) events() string {
	files, _ := filepath.Glob(filepath.Join(h.dir, "runs", "*", record.EventsFile))
	var all strings.Builder
	for _, f := range files {
		text, _ := os.ReadFile(f)
		all.Write(text)
	}
	return all.String()
}

// told waits until the run tells a text in an event.
func (h *headNode) told(text string) {
	h.t.Helper()
	h.until("the event "+text, func() bool { return strings.Contains(h.events(), text) })
}

// execution is an esched that runs.
type execution struct {
	h    *headNode
	c    *exec.Cmd
	log  string
	done chan struct{}
}

// start starts esched, armed with a failpoint ("" for none). It must end
// before the test does.
func (h *headNode) start(point failpoint.Point, args ...string) *execution {
	h.t.Helper()
	x := &execution{h: h, log: filepath.Join(h.t.TempDir(), "log"), done: make(chan struct{})}
	// A file, as a pipe could be kept open by what a killed esched leaves.
	log, err := os.Create(x.log)
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	x.c = h.command(context.WithoutCancel(h.t.Context()), args...)
	x.c.Stdout, x.c.Stderr = log, log
	if point != "" {
		x.c.Env = append(x.c.Env, failpoint.Variable+"="+string(point))
	}
	if err := x.c.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		defer close(x.done)
		_ = x.c.Wait() // its state says all
	}()
	h.t.Cleanup(x.kill)
	h.latest = x
	return x
}

// kill ends it as nothing can be refused, unless it has ended.
func (x *execution) kill() {
	_ = x.c.Process.Kill()
	<-x.done
}

// ends waits for its end and returns the exit code, -1 when it was killed, and
// the output.
func (x *execution) ends() (int, string) {
	x.h.t.Helper()
	select {
	case <-x.done:
	case <-time.After(worldLimit):
		x.h.t.Errorf("esched %q: no end within %v", x.c.Args[1:], worldLimit)
		x.kill()
	}
	text, err := os.ReadFile(x.log)
	if err != nil {
		x.h.t.Fatal(err)
	}
	return x.c.ProcessState.ExitCode(), string(text)
}

// endsAt checks that the failpoint has killed it.
func (x *execution) endsAt(point failpoint.Point) {
	x.h.t.Helper()
	_, out := x.ends()
	if s, ok := x.c.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
		x.h.t.Fatalf("want an end by SIGKILL at %q, have %v\n%s", point, x.c.ProcessState, out)
	}
}

// runDir is the only run directory, as a user would type it.
func (h *headNode) runDir() string {
	h.t.Helper()
	runs, err := filepath.Glob(filepath.Join(h.dir, "runs", "*"))
	if err != nil || len(runs) != 1 {
		h.t.Fatalf("want one run, have %q, %v", runs, err)
	}
	return filepath.Join("runs", filepath.Base(runs[0]))
}

// trials is the text of the records of the run.
func (h *headNode) trials() string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, h.runDir(), record.TrialsFile))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// nothingRuns waits until nothing of the user runs or listens on any node.
func (h *headNode) nothingRuns() {
	h.t.Helper()
	for _, node := range h.Nodes {
		// A job's own script is what holds the nodes; it ends with the job.
		eventually(h.t, leftoverBound, "end of what esched started on "+node, func() bool {
			for _, p := range h.Processes(h.t, node) {
				if p.Name != "sleep" && p.Name != "slurm_script" {
					return false
				}
			}
			return len(h.Listening(h.t, node)) == 0
		})
	}
}

// nothingRunsAnywhere fails when anything of the user still runs, or is
// reserved. Files may remain on nodes that were taken or gone when the run
// ended: then esched must not, or cannot, visit them.
func (h *headNode) nothingRunsAnywhere() {
	h.t.Helper()
	h.nothingReserved()
	for _, node := range h.Nodes {
		eventually(h.t, leftoverBound, "end of all processes on "+node, func() bool {
			return len(h.Processes(h.t, node)) == 0 && len(h.Listening(h.t, node)) == 0
		})
	}
}

// leftoverBound is how long processes and jobs may outlive an esched: the lease
// of guards and the time to end them, and the time until SLURM believes that a
// node is gone, on a busy machine.
const leftoverBound = 4 * time.Minute

// entries are those of the user's ledger.
func (h *headNode) entries() []reserve.Entry {
	h.t.Helper()
	entries, err := reserve.OpenLedger(h.ledgerDir()).Entries()
	if err != nil {
		h.t.Fatal(err)
	}
	return entries
}

func (h *headNode) ledgerDir() string {
	h.t.Helper()
	return filepath.Join(h.Home(h.t, slurmworld.User), ".local/state/esched/ledger")
}

// allNoted fails when a job of the user's is not in the ledger, by its id or by
// its name.
func (h *headNode) allNoted() {
	h.t.Helper()
	noted := map[string]bool{}
	for _, e := range h.entries() {
		noted[e.ID] = true
		noted[strings.Replace(e.ID, "asked-", "esched-", 1)] = true
	}
	for line := range strings.Lines(h.Output(h.t, slurmworld.User, "squeue", "-h", "--me", "-o", "%i %j")) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !noted[id] && !noted[name] {
			h.t.Errorf("job %s (%s) is not in the ledger: %+v", id, name, h.entries())
		}
	}
}

// completes resumes the run, which loses no record and leaves nothing.
func (h *headNode) completes(before string) {
	h.t.Helper()
	code, out := h.start("", "run", "--plain", "--resume", h.runDir()).ends()
	if code != 0 {
		h.t.Fatalf("resume: exit %d\n%s", code, out)
	}
	h.complete(before)
}

// complete checks that the run has all its trials, of which those that were
// recorded before are what they were.
func (h *headNode) complete(before string) {
	h.t.Helper()
	if after := h.trials(); !strings.HasPrefix(after, before) {
		h.t.Errorf("what was recorded has changed:\n%s\nnow\n%s", before, after)
	}
	done := measured(h.t, h.run())
	if len(done) != 2 {
		h.t.Errorf("want 2 trials, have %+v", done)
	}
	for _, r := range done {
		if r.Status != record.StatusOK {
			h.t.Errorf("trial %s: have %s %s", r.Trial, r.Status, r.Error)
		}
	}
}
