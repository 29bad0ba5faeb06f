package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
)

// orphanScript starts a process in a session of its own, which the kernel does
// not kill with the guard.
const orphanScript = `
setsid sh -c 'echo $$ > "$F.new"; mv "$F.new" "$F"; exec sleep 100' &
exec sleep 100
`

func TestCleanEndsWhatAKilledGuardLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := hosts(t, dir, "a")[0]
	file := filepath.Join(dir, "pid")
	p, err := h.Start(t.Context(), deploy.Command{
		Name: "parent", Argv: []string{"sh", "-c", orphanScript}, Env: []string{"F=" + file}, Log: filepath.Join(dir, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "an orphan", func() bool { return readNumber(file) != 0 })
	orphan := readNumber(file)
	// A stranger: it runs the same program and is in no record.
	stranger := exec.Command("sleep", "100")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()

	guard, err := os.FindProcess(parent(t, p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Kill(); err != nil {
		t.Fatal(err)
	}
	deploytest.Ended(t, p, leaseBound)
	if err := p.Err(); err == nil {
		t.Error("killed guard: want an error")
	}
	if !deploytest.Alive(orphan) {
		t.Fatalf("orphan %d: want it alive before the cleaning", orphan)
	}
	ended, err := deploy.Clean(dir)
	if err != nil {
		t.Error(err)
	}
	if len(ended) == 0 || ended[0].Name != "parent" || ended[0].Host != "a" {
		t.Errorf("want the processes of parent on a, have %+v", ended)
	}
	for _, pid := range []int{orphan, p.PID()} {
		if deploytest.Alive(pid) {
			t.Errorf("process %d: want gone, have alive", pid)
		}
	}
	if !deploytest.Alive(stranger.Process.Pid) {
		t.Error("a stranger was killed")
	}
	if again, err := deploy.Clean(dir); err != nil || len(again) != 0 {
		t.Errorf("second cleaning: want nothing to do, have %v, %v", again, err)
	}
}

// TestCleanSparesReusedIDs changes what a record says about the start of its
// process, as if the process id had been given to another since.
func TestCleanSparesReusedIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new string }{
		{"start", `"start":`, `"start":9`},
		{"boot", `"boot":"`, `"boot":"other-`},
		{"node", `"node":"`, `"node":"other-`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h := hosts(t, dir, "a")[0]
			p, err := h.Start(t.Context(), deploy.Command{Name: "innocent", Argv: []string{"sleep", "100"}, Log: filepath.Join(dir, "log")})
			if err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, deploy.ProcessesDir, "*.json"))
			if len(files) != 1 {
				t.Fatalf("want one record, have %v", files)
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.old, c.new, 1)
			if c.name == "start" { // neither the guard's start nor the mark fit either
				changed = strings.Replace(changed, `"guard_start":`, `"guard_start":9`, 1)
				changed = strings.Replace(changed, `"mark":"`, `"mark":"X`, 1)
			}
			if err := os.WriteFile(files[0], []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			if ended, err := deploy.Clean(dir); err != nil || len(ended) != 0 {
				t.Errorf("want nothing ended, have %v, %v", ended, err)
			}
			if !deploytest.Alive(p.PID()) {
				t.Error("want the process alive, have it gone")
			}
		})
	}
}
