package ssh_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
)

// TestOutlook looks at ways to nodes that do not exist: nothing connects.
func TestOutlook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	public := deploytest.Keygen(t, path("good"), "ed25519")
	deploytest.Keygen(t, path("locked"), "ecdsa")
	if out, err := exec.Command("ssh-keygen", "-p", "-P", "", "-N", "secret", "-f", path("locked")).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	master, err := net.Listen("unix", path("master"))
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	for name, text := range map[string]string{
		"known": "node1,gate " + public + "\n@cert-authority *.site " + public + "\n",
		"config": strings.Join([]string{
			"Host node*", "  IdentityFile " + path("good"), "  IdentityFile " + path("locked"), "  Port 2200",
			"Host behind", "  IdentityFile " + path("missing"), "  ProxyJump bob@gate", "  ControlPath " + path("master"),
			"Host stale", "  ControlPath " + path("good"),
			"Host *", "  User alice", "  IdentitiesOnly yes", "  GlobalKnownHostsFile none", "  UserKnownHostsFile " + path("known"),
		}, "\n"),
	} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client, err := ssh.New(ssh.Config{Home: dir, User: "alice", Binary: "/nowhere/esched", File: path("config")})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct {
		name, address string
		jumps         []string
		keys          int
		locked        string
		unknown       []string
		shared        bool
	}{
		{"node1", "node1:2200", nil, 1, path("locked"), []string{"node1"}, false}, // known at port 22 only
		{"gate", "gate:22", nil, 0, "", nil, false},
		{"x.site", "x.site:22", nil, 0, "", nil, false},
		{"behind", "behind:22", []string{"gate"}, 0, "", []string{"behind"}, true},
		{"stale", "stale:22", nil, 0, "", []string{"stale"}, false},
	} {
		have, err := client.Outlook(t.Context(), c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if have.User != "alice" || have.Address != c.address || !slices.Equal(have.Jumps, c.jumps) || have.Shared != c.shared {
			t.Errorf("%s: way: want %+v, have %+v", c.name, c, have)
		}
		if len(have.Keys) != c.keys || have.Locked != c.locked || c.keys > 0 && !strings.HasPrefix(public, have.Keys[0]) {
			t.Errorf("%s: keys: want %+v, have %+v", c.name, c, have)
		}
		if !slices.Equal(have.Unknown, c.unknown) || !slices.Equal(have.KnownFiles, []string{path("known")}) {
			t.Errorf("%s: known hosts: want %+v, have %+v", c.name, c, have)
		}
	}
	if _, err := client.Outlook(t.Context(), "-x"); err == nil {
		t.Error("want an error for an option")
	}
}
