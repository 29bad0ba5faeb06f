package ssh_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/internal/need"
)

func TestWrongKey(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	wrong := filepath.Join(t.TempDir(), "wrong")
	deploytest.Keygen(t, wrong, "ed25519")
	c := config(t, d)
	c.Options = []string{"IdentityFile=none", "IdentitiesOnly=yes"}
	c.File = withIdentity(t, d, wrong)
	refused(t, attempt(t, c, "node001"), []string{"login as root refused", "none of 1 keys"}, "ssh node001 true")
	c.File = withIdentity(t, d, filepath.Join(t.TempDir(), "missing"))
	refused(t, attempt(t, c, "node001"), []string{"login as root refused", "no key was found"}, "ssh node001 true")
}

// withIdentity is the SSHD's ssh_config with another key.
func withIdentity(t *testing.T, d *deploytest.SSHD, key string) string {
	t.Helper()
	text, err := os.ReadFile(d.Config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ssh_config")
	changed := strings.ReplaceAll(string(text), "IdentityFile "+d.Key, "IdentityFile "+key)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPassphrase has a key with a passphrase, first without an agent and then
// with one.
func TestPassphrase(t *testing.T) {
	t.Parallel()
	program := need.Program(t, "ssh-agent")
	need.Program(t, "ssh-add")
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	text, err := os.ReadFile(d.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(locked, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh-keygen", "-p", "-P", "", "-N", "secret", "-f", locked).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	c := config(t, d)
	c.File = withIdentity(t, d, locked)
	refused(t, attempt(t, c, "node001"), []string{"login as root refused", "has a passphrase"}, "ssh-add "+locked)

	socket := filepath.Join(dir, "agent")
	agent := exec.Command(program, "-D", "-a", socket)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Process.Kill(); _ = agent.Wait() }()
	deploytest.Await(t, "an agent", bound, func() error {
		conn, err := net.Dial("unix", socket) // the file is there before anybody listens
		if err != nil {
			return err
		}
		return conn.Close()
	})
	add := exec.Command("ssh-add", "-q", d.Key)
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v: %s", err, out)
	}
	config, err := os.ReadFile(c.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.File, []byte(strings.ReplaceAll(string(config), "IdentityAgent none", "IdentitiesOnly yes")), 0o600); err != nil {
		t.Fatal(err)
	}
	c.AgentSocket = socket
	if err := attempt(t, c, "node001"); err != nil {
		t.Errorf("with the key in the agent: %v", err)
	}
}

// TestSilentServer accepts connections and says nothing.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	conf := ssh.Config{
		Home: t.TempDir(), User: "root", Binary: c, File: "/dev/null", Connect: bound,
		Options: []string{"HostName=127.0.0.1", "Port=" + port},
	}
	// A caller that gives up in the middle is not kept.
	client, err := ssh.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		conn, err := l.Accept()
		cancel(why)
		if err == nil {
			<-t.Context().Done()
			conn.Close()
		}
	}()
	if _, err := client.Dial(ctx, "node001"); !errors.Is(err, why) {
		t.Errorf("given up: want %v, have %v", why, err)
	}
	// One that does not is told after the limit; the kernel accepts for the server.
	conf.Connect = time.Second
	done := make(chan error, 1)
	go func() { done <- attempt(t, conf, "node001") }()
	select {
	case err := <-done:
		refused(t, err, []string{"ssh to node001", "no login within 1s"}, "ConnectTimeout")
	case <-time.After(bound):
		t.Fatalf("still waiting after %v", bound)
	}
}

// TestJump goes through two jump hosts, each of them verified.
func TestJump(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Client: []string{
		"Match originalhost inner", "ProxyJump root@first,second",
		"Match originalhost stranger", "HostKeyAlias nobody",
		"Match originalhost hidden", "ProxyJump stranger",
		"Match originalhost circle", "ProxyJump circle",
	}})
	c := config(t, d)
	h := dial(t, c, "inner")
	have, err := h.Run(t.Context(), deploy.Command{Name: "ok", Argv: []string{"echo", "through"}})
	if want := "through\n"; err != nil || string(have) != want {
		t.Errorf("want %q, have %q, %v", want, have, err)
	}
	if n := strings.Count(d.Log(), "Accepted publickey"); n != 3 {
		t.Errorf("want 3 logins (two jumps and the node), have %d", n)
	}
	refused(t, attempt(t, c, "hidden"), []string{"ssh to hidden: jump host: ssh to stranger", "host key unknown"}, "ssh stranger")
	refused(t, attempt(t, c, "circle"), []string{"ssh to circle: jump hosts: more than"}, "circle")
}

// TestControlMaster uses the connection of the user's own ssh, with a key that
// esched has not.
func TestControlMaster(t *testing.T) {
	t.Parallel()
	need.Program(t, "ssh")
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	// Paths of sockets are short.
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "%r@%h")
	master := exec.Command("ssh", "-F", d.Config, "-M", "-N", "-S", socket, "node001")
	if err := master.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Process.Kill(); _ = master.Wait() }()
	deploytest.Await(t, "a master", bound, func() error { _, err := os.Stat(filepath.Join(dir, "root@127.0.0.1")); return err })
	c := config(t, d)
	c.File = withIdentity(t, d, filepath.Join(dir, "missing"))
	c.Options = []string{"ControlPath=" + socket}
	h := dial(t, c, "node001")
	have, err := h.Run(t.Context(), deploy.Command{Name: "copy", Argv: []string{"cat"}, Stdin: strings.NewReader("shared")})
	if want := "shared"; err != nil || string(have) != want {
		t.Errorf("want %q, have %q, %v", want, have, err)
	}
	if n := strings.Count(d.Log(), "Accepted publickey"); n != 1 {
		t.Errorf("want the master's login only, have %d", n)
	}
}

func TestPermit(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	c := config(t, d)
	why := errors.New("no running reservation")
	var asked []string
	c.Permit = func(_ context.Context, host string) error {
		asked = append(asked, host)
		return why
	}
	err := attempt(t, c, "node007")
	refused(t, err, []string{"ssh to node007: not permitted: no running reservation"}, "")
	if !errors.Is(err, why) || len(asked) != 1 || asked[0] != "node007" {
		t.Errorf("want one question about node007, have %v, %v", asked, err)
	}
	if strings.Contains(d.Log(), "Connection from") || strings.Contains(d.Log(), "Accepted") {
		t.Errorf("want no connection, have %s", d.Log())
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Client: []string{"Match originalhost proxied", "ProxyCommand nc %h %p"}})
	c := config(t, d)
	refused(t, attempt(t, c, "proxied"), []string{"ProxyCommand"}, "ProxyJump")
	refused(t, attempt(t, c, "-oProxyCommand=touch"), []string{"not a host name"}, "")
	c.Options = []string{"Port=none"}
	refused(t, attempt(t, c, "node001"), []string{"ssh configuration of node001"}, "ssh -G node001")
	// Without the program the user's defaults count, which lead nowhere here.
	c = config(t, d)
	c.Program, c.Home, c.Connect = "no-such-ssh", t.TempDir(), time.Second
	if err := attempt(t, c, "127.0.0.1"); err == nil {
		t.Error("without ssh_config: want no way to this sshd")
	}
}
