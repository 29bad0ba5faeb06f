package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
)

// TestWorldAccess meets nodes that let nobody in, that cannot be trusted or
// have no room, and at last a run directory without room, in sessions of one
// run.
func TestWorldAccess(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		h := newHeadNode(t, w)
		h.faultPlan(filepath.Dir(filepath.Dir(need.Python(t))), "ssh_config = \"nodes.conf\"\n")
		h.smallRuns()
		h.Output(t, slurmworld.User, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(h.dir, "stranger"))
		home := filepath.Join(h.Home(t, slurmworld.User), ".ssh")
		h.file("changed", h.withOtherKey(filepath.Join(home, "known_hosts"), "node002", filepath.Join(h.dir, "stranger.pub")))
		nothing := func() {}
		key, known := filepath.Join(home, "id_ed25519"), filepath.Join(home, "known_hosts")
		args := []string{"run", "--plain"}
		for _, c := range []struct {
			name       string
			key, known string
			strike     func()
			mend       func()
			code       int
			want       []string // in the output
		}{
			{"wrong key", filepath.Join(h.dir, "stranger"), known, nothing, nothing,
				hint.ExitError, []string{"login as das refused", "none of 1 keys was accepted", "Try: "}},
			{"host key changed", key, filepath.Join(h.dir, "changed"), nothing, nothing,
				hint.ExitTrials, []string{"node002 failed  ssh", "host key changed", "1 of 2 node(s) are usable", "asks for 2 node(s)"}},
			{"no known hosts", key, filepath.Join(h.dir, "none"), nothing, nothing,
				hint.ExitError, []string{"host key unknown", "Try: connect once with: ssh node00"}},
			{"node's disk full", key, known,
				func() {
					w.OnNode(t, "node002", "mount", "-t", "tmpfs", "-o", "mode=1777,size=4k", "small", "/var/tmp")
					w.OnNode(t, "node002", "sh", "-c", "cat /dev/zero >/var/tmp/filler || true")
				},
				func() { w.OnNode(t, "node002", "umount", "-l", "/var/tmp") },
				hint.ExitTrials, []string{"node002 is not used any more", "No space left on device", "1 of 2 node(s) are usable"}},
		} {
			h.sshConfig(c.key, c.known)
			c.strike()
			code, out := h.start("", args...).ends()
			c.mend()
			if code != c.code {
				t.Errorf("%s: exit %d, want %d\n%s", c.name, code, c.code, out)
			}
			for _, want := range c.want {
				if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) {
					t.Errorf("%s: want %q in\n%s", c.name, want, out)
				}
			}
			if n := len(h.ok()); n > 0 {
				t.Errorf("%s: have %d good records", c.name, n)
			}
			h.nothingLeft()
			args = []string{"run", "--plain", "--resume", h.runDir()}
		}
		h.sshConfig(key, known)
		testRunDirectoryFull(t, h, args)
	})
}

// testRunDirectoryFull fills the file system of the run in a trial.
func testRunDirectoryFull(t *testing.T, h *headNode, args []string) {
	goOn := h.hold()
	x := h.start("", args...)
	h.held()
	filler := filepath.Join(h.dir, h.runDir(), "filler")
	fill(t, filler)
	goOn()
	code, out := x.ends()
	// The last lines may just have had room in blocks that the files had already;
	// then the report has not.
	ended := code == hint.ExitError && strings.Contains(out, "Try: free space")
	complete := code == hint.ExitOK && len(h.ok()) == 2 && strings.Contains(out, "no report was made")
	if !ended && !complete || !strings.Contains(out, "no space left on device") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if len(h.ok()) == 0 { // that of the second may just have had room
		t.Error("the record of the first trial is lost")
	}
	h.nothingLeft()
	before := h.trials()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	h.completes(before)
	h.nothingLeft()
}

// smallRuns puts the runs on a file system of their own that is easily filled.
func (h *headNode) smallRuns() {
	h.t.Helper()
	runs := filepath.Join(h.dir, "runs")
	if err := os.Mkdir(runs, 0o777); err != nil {
		h.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", runs, "tmpfs", 0, "size=16m,mode=777"); err != nil {
		h.t.Fatalf("file system for the runs: %v", err)
	}
	h.t.Cleanup(func() { _ = syscall.Unmount(runs, syscall.MNT_DETACH) })
}

// sshConfig writes a configuration for ssh with one key and one file of known
// hosts.
func (h *headNode) sshConfig(key, known string) {
	h.t.Helper()
	h.file("nodes.conf", "IdentityFile "+key+"\nIdentitiesOnly yes\nUserKnownHostsFile "+known+"\nGlobalKnownHostsFile none\nConnectTimeout 60\n")
}

// withOtherKey is a file of known hosts in which a node has another key.
func (h *headNode) withOtherKey(known, node, public string) string {
	h.t.Helper()
	text, err := os.ReadFile(known)
	if err != nil {
		h.t.Fatal(err)
	}
	other, err := os.ReadFile(public)
	if err != nil {
		h.t.Fatal(err)
	}
	mine := regexp.MustCompile(`(?m)^` + node + `,(\S+) ssh-ed25519 .*$`)
	if !mine.Match(text) {
		h.t.Fatalf("no key of %s in\n%s", node, text)
	}
	text = mine.ReplaceAll(text, []byte(node+",$1 "+strings.TrimSpace(string(other))))
	// Its key of another type would vouch for it.
	return regexp.MustCompile(`(?m)^`+node+`,\S+ ecdsa.*\n`).ReplaceAllString(string(text), "")
}
