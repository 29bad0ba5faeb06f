package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/internal/need"
)

// fullQueue is a preserve on a cluster whose nodes are all taken: it accepts
// one reservation at a time, never grants it, and forgets it when told so.
const fullQueue = `#!/bin/sh
waiting="$(dirname "$0")/waiting"
case "$1" in
-np) : > "$waiting"; echo "Reservation number 4711:" ;;
-c) rm "$waiting" ;;
*) echo "id user start stop state nhosts hosts"
   if [ -e "$waiting" ]; then echo "4711 $USER - - PD 1 -"; fi ;;
esac
`

// TestRunWithoutNodes asks a queue that grants nothing in time: exit 4, what
// was asked for is given back, and the run can go on.
func TestRunWithoutNodes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	bin := s.p.path("bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "preserve"), []byte(fullQueue), 0o755); err != nil {
		t.Fatal(err)
	}
	s.env["PATH"], s.env["USER"] = bin+":"+s.env["PATH"], "alice"
	text := strings.Replace(tiny(need.Python(t), `"dask"`, 1), "seed = 3", "seed = 3\ncluster = \"lab\"", 1)
	s.write("experiments.toml", text+"[clusters.lab]\nkind = \"das\"\nqueue_wait = \"2s\"\n")

	_, wait := s.launch("run") // it finds programs by its own PATH
	code := wait()
	run := s.onlyRun()
	result{code, s.out.String(), s.err.String()}.wants(t, 4, []string{"run ended  0 ok, 1 not run", "exit code 4"},
		[]string{"4711: no nodes within 2s", "Try: ", "esched run --resume " + run})
	// Who looks later learns the reason, too.
	s.write(filepath.Join(run, conductorLog), "as of a run in the background\n")
	s.esched("status").wants(t, 0, []string{"\nerror: ", "reservation 4711: no nodes within 2s", "\nTry: ask for fewer", "\nlog: " + run}, nil)
	var f runFacts
	s.esched("status", "--json").into(t, &f)
	if !strings.Contains(f.Error, "no nodes within 2s") || !strings.Contains(f.Hint, "--resume") || f.Log != filepath.Join(run, conductorLog) {
		t.Errorf("status: %+v", f)
	}
	s.esched("watch").wants(t, 4, []string{"run ended  0 ok, 1 not run: ", "4711: no nodes"}, []string{"reservation 4711: no nodes", "Try: ask for fewer"})
	if _, err := os.Stat(filepath.Join(bin, "waiting")); err == nil {
		t.Error("the queue still holds the reservation")
	}
	if left, err := s.p.ledger().Entries(); err != nil || len(left) != 0 {
		t.Errorf("the ledger has %v, %v", left, err)
	}
	nothingLeft(t, s, run)
	if m := s.records(run).Manifest; m.ExitCode != 4 || m.Ended.IsZero() {
		t.Errorf("manifest: exit code %d, ended %v", m.ExitCode, m.Ended)
	}
}
