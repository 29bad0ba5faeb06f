package cmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// ownMounts makes the test binary run one test among file systems of its own,
// which vanish with it.
const ownMounts = "ESCHED_TEST_OWN_MOUNTS"

// amongOwnMounts runs the test that calls it once more, in a mount namespace,
// and returns true there. For a user who is not root it is inside a user
// namespace.
func amongOwnMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownMounts) != "" {
		// Nothing that is mounted from here on shows outside.
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Fatalf("private mounts: %v", err)
		}
		return true
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout="+(2*runLimit).String())
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, asMain+"=") { // it is to be a test
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, ownMounts+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	out, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) {
		need.Skip(t, "no mount namespaces here: "+err.Error())
	}
	if err != nil {
		t.Errorf("among mounts of its own: %v\n%s", err, out)
	}
	return false
}

// TestRunDiskFull fills the file system of the run in the middle of the plan:
// what was recorded stays, nothing is left running, and with space again the
// run is completed. On one that nobody can write to no run begins.
func TestRunDiskFull(t *testing.T) {
	t.Parallel()
	if !amongOwnMounts(t) {
		return
	}
	s := newShell(t)
	small := s.p.path("small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatalf("file system for the run: %v", err)
	}
	defer syscall.Unmount(small, syscall.MNT_DETACH) // so that the directory can be removed
	s.write("experiments.toml", tiny(need.Python(t), `"dask"`, 3))

	s.p.Failpoints = atPoint(trialEnded, 2, func() { fill(t, filepath.Join(small, "filler")) }) // after a warm-up
	r := s.esched("run", "--output", "small")
	s.p.Failpoints = nil
	runs, err := s.p.runDirs("small")
	if err != nil || len(runs) != 1 {
		t.Fatalf("want one run, have %q, %v", runs, err)
	}
	run := runs[0]
	r.wants(t, 1, []string{"trial 1/3 ok"},
		[]string{"no space left on device", "Try: free space", "--resume"})
	nothingLeft(t, s, run)
	trials := filepath.Join(s.p.path(run), record.TrialsFile)
	before, err := os.ReadFile(trials)
	if err != nil {
		t.Fatal(err)
	}
	recorded := measured(t, s.records(run))
	if len(recorded) == 0 || len(recorded) == 3 {
		t.Errorf("%d of 3 trials are recorded", len(recorded))
	}

	if err := os.Remove(filepath.Join(small, "filler")); err != nil {
		t.Fatal(err)
	}
	s.esched("run", "--resume", run).wants(t, 0, []string{"run ended  3 ok", "report: " + run}, nil)
	nothingLeft(t, s, run)
	after, err := os.ReadFile(trials)
	if err != nil || !bytes.HasPrefix(after, before) {
		t.Errorf("what was recorded has changed (%v):\n%s\nnow\n%s", err, before, after)
	}
	have := s.records(run)
	if all := measured(t, have); len(all) != 3 || len(have.Superseded) != 0 {
		t.Errorf("%d records, %d superseded", len(all), len(have.Superseded))
	}
	unwritable(t, s)
}

// unwritable holds that a run in a directory that nobody can write to, not even
// root, ends before anything is started.
func unwritable(t *testing.T, s *shell) {
	t.Helper()
	dir := s.p.path("locked")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Fatalf("file system that is read-only: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	r := s.esched("run", "--output", "locked")
	r.wants(t, 1, nil, []string{"locked", "read-only file system", "Try: "})
	if strings.Contains(r.stdout, "reservation") || strings.Contains(r.stdout, "deployment") {
		t.Errorf("something was started:\n%s", r.stdout)
	}
}

// fill writes until the file system has no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		n, err := f.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			block = block[:min(len(block)/2, len(block)-n)] // down to the last byte
		case err != nil:
			t.Fatal(err)
		}
	}
}
