package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/local"
	"github.com/esched/esched/reserve"
)

func TestCleanWithNothingToDo(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("clean").wants(t, 0, []string{"nothing left behind by 0 run(s) in runs"}, nil)
	s.esched("clean", "--output", "nowhere").wants(t, 2, nil, []string{"nowhere: no such", "Try: name the directory"})
	if r := s.esched("clean", "--json"); r.stdout != "[]\n" {
		t.Errorf("have %q", r.stdout)
	}
}

// TestClean leaves a process and a scratch directory and finds them again.
func TestClean(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.p.Temp = t.TempDir()
	store := madeRun(t, s, false)
	run := "runs/one"
	scratch, err := s.p.makeScratch(run)
	if err != nil {
		t.Fatal(err)
	}
	h, err := local.New(local.Config{Guard: []string{s.p.Executable, "guard"}, Env: s.p.Environ(),
		Records: s.p.path(filepath.Join(run, deploy.ProcessesDir))})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	process, err := h.Start(t.Context(), deploy.Command{Name: "sleeper", Argv: []string{sleep, "600"}, Log: s.p.path("log")})
	if err != nil {
		t.Fatal(err)
	}

	// While the run goes on, nothing is touched.
	s.esched("clean").wants(t, 0, []string{"nothing left behind"}, nil)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s.esched("clean", "--dry-run").wants(t, 0, []string{"sleeper on localhost", "would be removed", scratch}, nil)
	if !s.p.alive(process.PID()) {
		t.Fatal("--dry-run ended the process")
	}
	s.esched("doctor").wants(t, 0, []string{"note    earlier runs", "esched clean"}, nil)

	s.esched("clean").wants(t, 0, []string{"sleeper on localhost", "process", "scratch " + scratch + ": removed"}, nil)
	eventually(t, shortly, "end of the process", func() bool { return !s.p.alive(process.PID()) })
	if _, err := os.Stat(scratch); err == nil {
		t.Error("the scratch directory is still there")
	}
	s.esched("clean").wants(t, 0, []string{"nothing left behind by 1 run(s)"}, nil)
}

// TestCleanLeavesForeignDirectories follows no link to where esched makes
// none.
func TestCleanLeavesForeignDirectories(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	store := madeRun(t, s, true)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	precious := t.TempDir()
	if err := os.Symlink(precious, s.p.path("runs/one/"+scratchLink)); err != nil {
		t.Fatal(err)
	}
	s.esched("clean").wants(t, 0, nil, nil)
	if _, err := os.Stat(precious); err != nil {
		t.Error("the directory is gone")
	}
}

func TestCleanReleasesReservations(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	store := madeRun(t, s, false)
	entry := reserve.Entry{Kind: "local", ID: "abc", Run: s.p.path("runs/one"), Made: time.Now(), Deadline: time.Now().Add(time.Hour)}
	if err := s.p.ledger().Add(entry); err != nil {
		t.Fatal(err)
	}
	s.esched("clean").wants(t, 0, []string{"nothing left behind"}, nil) // it goes on
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s.esched("clean", "--dry-run").wants(t, 0, []string{"reservation local abc: would be removed"}, nil)
	s.esched("clean").wants(t, 0, []string{"reservation local abc: removed"}, nil)
	if left, err := s.p.ledger().Entries(); err != nil || len(left) != 0 {
		t.Errorf("have %v, %v", left, err)
	}
}
