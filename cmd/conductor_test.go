package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// detached starts a run in the background and returns its directory.
func detached(t *testing.T, s *shell, repetitions int) string {
	t.Helper()
	return detachedOf(t, s, tiny(need.Python(t), `"dask", "sidekick"`, repetitions))
}

func detachedOf(t *testing.T, s *shell, experiment string) string {
	t.Helper()
	s.write("experiments.toml", experiment)
	s.esched("run", "--detach").wants(t, 0, []string{"goes on in the background", "Watch it with: esched watch runs/"}, nil)
	run := s.onlyRun()
	t.Cleanup(func() {
		if c := s.p.conductorOf(run); c != nil { // a test that failed in the middle
			_ = syscall.Kill(c.PID, syscall.SIGTERM)
		}
		nothingLeft(t, s, run)
	})
	return run
}

// held is an experiment of three trials; the second and third last until the
// returned function is called.
func held(t *testing.T, s *shell) (experiment string, goOn func()) {
	t.Helper()
	s.write("holdable.py", fmt.Sprintf(holdable, s.p.Dir))
	s.write("hold", "")
	experiment = strings.NewReplacer("warmup = 1\n", "warmup = 0\n",
		"name = \"montecarlo\"\nsimulations = 2000\nchunk = 100\n", "name = \"holdable\"\n[program.holdable]\nscript = \"holdable.py\"\n",
	).Replace(tiny(need.Python(t), `"dask", "sidekick"`, 1))
	return experiment, func() {
		if err := os.Remove(filepath.Join(s.p.Dir, "hold")); err != nil {
			t.Error(err)
		}
	}
}

// onTerminal runs a command in a new session with a terminal of its own.
func onTerminal(t *testing.T, s *shell, size pty.Winsize, args ...string) (*exec.Cmd, *os.File, *lockedBuffer) {
	t.Helper()
	c := exec.Command(s.p.Executable, args...)
	c.Dir, c.Env = s.p.Dir, append(s.p.Environ(), "TERM=xterm-256color")
	file, err := pty.StartWithSize(c, &size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close(); _ = c.Process.Kill() })
	screen := &lockedBuffer{}
	go func() { _, _ = io.Copy(screen, file) }()
	return c, file, screen
}

var usualSize = pty.Winsize{Rows: 24, Cols: 80}

func shows(t *testing.T, screen *lockedBuffer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		end := time.Now().Add(runLimit)
		for !strings.Contains(screen.String(), text) {
			if time.Now().After(end) {
				t.Fatalf("%q does not show in\n%q", text, screen.String())
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func TestDetachTellsMistakes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("experiments.toml", strings.Replace(tiny("default", `"dask"`, 1), "seed", "sed", 1))
	s.esched("run", "--detach").wants(t, 2, nil, []string{`unknown key "sed"`, "Try: "})
	s.esched("run", "--detach", "--resume", "nowhere").wants(t, 2, nil, []string{"nowhere", "Try: "})
	if _, err := s.p.stat("runs"); err == nil {
		t.Error("a run directory was made")
	}
	s.esched("run", "--conductor").wants(t, 2, nil, []string{`unknown key "sed"`})
}

// TestDetachedRunSurvivesItsTerminal starts a run on a terminal that is closed
// at once.
func TestDetachedRunSurvivesItsTerminal(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	experiment, goOn := held(t, s)
	s.write("experiments.toml", experiment)
	c, file, screen := onTerminal(t, s, usualSize, "run", "--detach")
	shows(t, screen, "Watch it with")
	run := s.onlyRun()
	conducts := s.p.conductorOf(run)
	if conducts == nil || conducts.PID == c.Process.Pid {
		t.Fatalf("conductor %+v, started by %d", conducts, c.Process.Pid)
	}
	if err := file.Close(); err != nil { // hangs up
		t.Fatal(err)
	}
	_ = c.Wait()
	if err := syscall.Kill(conducts.PID, syscall.SIGHUP); err != nil { // as logging out does
		t.Fatal(err)
	}
	s.esched("run", "--resume", run, "--detach").wants(t, 2, nil, []string{"another esched writes to this run", "esched watch"})

	var f runFacts
	s.esched("status", "--json").into(t, &f)
	if f.State != goingOn || f.Conductor == nil || f.Conductor.PID != conducts.PID {
		t.Errorf("status %+v", f)
	}
	goOn()
	s.esched("watch", run).wants(t, 0, []string{"run started", "trial 3/3 ok", "run ended  3 ok", "report: "}, nil)
	nothingLeft(t, s, run)
	if all := measured(t, s.records(run)); len(all) != 3 {
		t.Errorf("%d records", len(all))
	}
	if log := s.read(filepath.Join(run, conductorLog)); !strings.Contains(log, "trial 3/3 ok") || strings.Contains(log, "SIGHUP") {
		t.Errorf("log:\n%s", log)
	}
	eventually(t, shortly, "end of the conductor", func() bool { return s.p.conductorOf(run) == nil })
	// One that is over is told again, with its exit code.
	s.esched("watch").wants(t, 0, []string{"run ended  3 ok"}, nil)
	s.esched("watch", "--tell", "stop").wants(t, 2, nil, []string{"is not going on", "Try: "})
	m := s.records(run).Manifest
	if strings.Join(m.Command, " ") != "esched run --detach" {
		t.Errorf("command %q", m.Command)
	}
}

// TestWatchStopsARun attaches to a run in the background from a terminal,
// leaves it alone, attaches again and stops it after a trial.
func TestWatchStopsARun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	run := detached(t, s, 40)

	c, file, screen := onTerminal(t, s, pty.Winsize{Rows: 12, Cols: 40}, "watch")
	shows(t, screen, "claim ends in", "leave")
	press(t, file, "q")
	if err := c.Wait(); err != nil {
		t.Errorf("leaving: %v", err)
	}
	var f runFacts
	eventually(t, runLimit, "a trial", func() bool {
		f = runFacts{} // fields that are absent now must not stay
		s.esched("status", "--json").into(t, &f)
		return f.Trials[record.StatusOK] > 0 && f.Current != nil
	})
	if f.State != goingOn || f.Reservation == nil || f.Reservation.State != "running" || f.Reservation.Deadline.IsZero() ||
		f.EstimatedEnd.IsZero() || len(f.Nodes) != 1 || f.Phase != "trial" {
		t.Errorf("status of a run that goes on: %+v, reservation %+v", f, f.Reservation)
	}

	c, file, screen = onTerminal(t, s, usualSize, "watch", run)
	shows(t, screen, "so far", "claim ends in")
	press(t, file, "L")
	shows(t, screen, ".log")
	press(t, file, "L")
	press(t, file, "n")
	shows(t, screen, "first-task")
	press(t, file, "n")
	press(t, file, "e")
	shows(t, screen, "ask the queue for more time?")
	press(t, file, "y")
	eventually(t, runLimit, "extension", func() bool { return strings.Contains(s.read(filepath.Join(run, record.EventsFile)), `"extended"`) })
	press(t, file, "s")
	shows(t, screen, "stop the run after this trial?")
	press(t, file, "y")
	shows(t, screen, "stopping after the current trial", "exit code 130")
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != 130 {
		t.Errorf("exit code of the view: %d", c.ProcessState.ExitCode())
	}
	nothingLeft(t, s, run)
	have := s.records(run)
	for _, r := range measured(t, have) {
		if r.Status != record.StatusOK {
			t.Errorf("%s: %s %s", r.Trial, r.Status, r.Error)
		}
	}
	if have.Manifest.ExitCode != 130 {
		t.Errorf("exit code %d", have.Manifest.ExitCode)
	}
}

func press(t *testing.T, terminal io.Writer, keys string) {
	t.Helper()
	if _, err := io.WriteString(terminal, keys); err != nil {
		t.Fatal(err)
	}
}

// TestWatchSeesAKilledRun kills a conductor: its processes end, who watches is
// told, and the run can be resumed.
func TestWatchSeesAKilledRun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	experiment, goOn := held(t, s)
	run := detachedOf(t, s, experiment)
	eventually(t, runLimit, "a trial", func() bool { return strings.Contains(s.read(filepath.Join(run, record.TrialsFile)), `"ok"`) })
	if err := syscall.Kill(s.p.conductorOf(run).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.esched("watch", "--plain").wants(t, 1, []string{"run started", "no end of the run was seen"},
		[]string{"stopped without an end", "Try: esched run --resume " + run})
	nothingLeft(t, s, run)
	if s.p.conductorOf(run) == nil {
		t.Error("a killed conductor cannot remove its note")
	}
	s.esched("status").wants(t, 0, []string{"stopped"}, nil)
	goOn()
	s.esched("run", "--resume", run, "--detach").wants(t, 0, []string{"goes on in the background"}, nil)
	s.esched("watch", "--plain").wants(t, 0, []string{"run resumed", "run ended  3 ok"}, nil)
	if all := measured(t, s.records(run)); len(all) != 3 {
		t.Errorf("%d records", len(all))
	}
}

// TestOrders watches a long trial from two terminals and from a script, gives
// orders, and refuses what is none.
func TestOrders(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	long := strings.NewReplacer("simulations = 2000\n", "simulations = 60_000_000\n", "chunk = 100\n", "chunk = 20_000\n",
		"warmup = 1\n", "warmup = 0\n", `timeout = "300s"`, `timeout = "900s"`, `claim_time = "00:10:00"`, `claim_time = "02:00:00"`)
	run := detachedOf(t, s, long.Replace(tiny(need.Python(t), `"sidekick"`, 40)))
	s.esched("watch", "--tell", "go").wants(t, 2, nil, []string{`unknown order "go"`, "Try: choose one of"})
	var f runFacts
	eventually(t, runLimit, "progress of a trial", func() bool {
		f = runFacts{}
		s.esched("status", "--json").into(t, &f)
		return f.Progress != nil && f.Progress.Done > 0 && f.Current != nil && !f.Current.Warmup
	})
	if p := f.Progress; p.Submitted < 3000 || p.Workers != 1 || p.Trial != f.Current.ID || p.Sidekick == nil || p.Sidekick.Decisions == 0 || p.Seconds <= 0 {
		t.Errorf("progress %+v", p)
	}

	c, file, screen := onTerminal(t, s, usualSize, "watch")
	other, _, otherScreen := onTerminal(t, s, usualSize, "watch", run)
	for _, x := range []*lockedBuffer{screen, otherScreen} {
		shows(t, x, "tasks, ", "1/1 busy", "decisions/s", "% blocked")
	}
	s.esched("watch", "--tell", "extend").wants(t, 0, []string{"told " + run + ": extend"}, nil)
	shows(t, screen, "extended")
	press(t, file, "c")
	shows(t, screen, "cancel the run now?")
	press(t, file, "y")
	for watcher, x := range map[*exec.Cmd]*lockedBuffer{c: screen, other: otherScreen} {
		shows(t, x, "extended", "stopping now", "exit code 130")
		if err := watcher.Wait(); err == nil || watcher.ProcessState.ExitCode() != 130 {
			t.Errorf("exit code of a view: %d", watcher.ProcessState.ExitCode())
		}
	}
	s.esched("watch", "--plain").wants(t, 130, []string{"stopping now"}, nil)
	if left, _ := filepath.Glob(s.p.path(filepath.Join(run, record.ProgressFile+"*"))); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	info, err := os.Stat(s.p.path(filepath.Join(run, controlFile)))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("control file: %v, %v", info, err)
	}
	first, last, _ := strings.Cut(strings.TrimSpace(s.read(filepath.Join(run, controlFile))), "\n")
	for text, want := range map[string]string{first: orderExtend, last: orderCancel} {
		var o order
		if err := json.Unmarshal([]byte(text), &o); err != nil || o.Do != want || o.Time.IsZero() {
			t.Errorf("want %s, have %+v, %v", want, o, err)
		}
	}
}
