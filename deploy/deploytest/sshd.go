package deploytest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/esched/esched/internal/need"
)

// SSHD is a real sshd on a port of the loopback interface, with files of its
// own: host keys, a key that it accepts, known hosts, and an ssh_config that
// leads every host name to it.
type SSHD struct {
	Dir        string // holds all of it
	Port       string
	Config     string // ssh_config for clients
	KnownHosts string // what that ssh_config names; complete
	Key        string // private key that is accepted
	User       string // whose login it is
}

// SSHDConfig changes what [StartSSHD] starts.
type SSHDConfig struct {
	// Server are further lines of sshd_config, Client of ssh_config; the first
	// value of a keyword counts.
	Server []string
	Client []string
	// Ordinary makes the login that of an ordinary user of an own making, seen
	// by this sshd only.
	Ordinary bool
}

// KeyTypes are the types of host keys that every SSHD has.
var KeyTypes = []string{"ed25519", "ecdsa", "rsa"}

// ordinaryID is the user id of the ordinary user: one that nobody has.
const ordinaryID = 61234

// StartSSHD starts an sshd that ends with the test.
func StartSSHD(t testing.TB, c SSHDConfig) *SSHD {
	t.Helper()
	need.Program(t, "ssh-keygen")
	program := need.Program(t, "sshd")
	if os.Getuid() != 0 {
		need.Skip(t, "starting an sshd that anybody can log in to needs root")
	}
	s := &SSHD{Dir: t.TempDir(), User: "root"}
	if c.Ordinary {
		s.User = "student"
		Open(t, s.Dir, 0o755)
	}
	in := func(name string) string { return filepath.Join(s.Dir, name) }
	s.Config, s.KnownHosts, s.Key = in("ssh_config"), in("known_hosts"), in("key")
	var public []string
	for _, kind := range KeyTypes {
		public = append(public, Keygen(t, in("host_"+kind), kind))
	}
	s.write(t, "authorized_keys", Keygen(t, s.Key, "ed25519"))
	// sshd refuses to run without this directory, which systemd makes elsewhere.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	argv := []string{program, "-D", "-e", "-f", in("sshd_config")}
	if c.Ordinary {
		argv = s.withUser(t, argv)
	}
	// A port that was free may be taken before sshd listens on it.
	for {
		s.Port = freePort(t)
		s.configure(t, c, public)
		if s.run(t, argv) {
			return s
		}
	}
}

// configure writes what names the port.
func (s *SSHD) configure(t testing.TB, c SSHDConfig, public []string) {
	t.Helper()
	var known, keys []string
	for i, kind := range KeyTypes {
		keys = append(keys, "HostKey "+filepath.Join(s.Dir, "host_"+kind))
		known = append(known, fmt.Sprintf("[127.0.0.1]:%s %s", s.Port, public[i]))
	}
	s.write(t, "known_hosts", known...)
	s.write(t, "ssh_config", slices.Concat(c.Client, []string{"Host *", "HostName 127.0.0.1", "Port " + s.Port, "User " + s.User,
		"IdentityFile " + s.Key, "IdentityAgent none", "UserKnownHostsFile " + s.KnownHosts, "GlobalKnownHostsFile none"})...)
	s.write(t, "sshd_config", slices.Concat(c.Server, []string{"ListenAddress 127.0.0.1:" + s.Port, "PidFile none", "StrictModes no",
		"UseDNS no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password",
		"AllowStreamLocalForwarding yes", "AuthorizedKeysFile " + filepath.Join(s.Dir, "authorized_keys")}, keys)...)
}

// Open lets ordinary users into a directory that t.TempDir made.
func Open(t testing.TB, dir string, mode os.FileMode) {
	t.Helper()
	for path, mode := range map[string]os.FileMode{dir: mode, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *SSHD) write(t testing.TB, name string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withUser makes a user that exists for one program: it sees other files of
// users in a mount namespace of its own.
func (s *SSHD) withUser(t testing.TB, argv []string) []string {
	t.Helper()
	need.Program(t, "unshare")
	home := filepath.Join(s.Dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, ordinaryID, ordinaryID); err != nil {
		t.Fatal(err)
	}
	for file, line := range map[string]string{
		"passwd": fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh", s.User, ordinaryID, ordinaryID, home),
		"shadow": s.User + ":*:19000::::::",
		"group":  fmt.Sprintf("%s:x:%d:", s.User, ordinaryID),
	} {
		text, err := os.ReadFile("/etc/" + file)
		if err != nil {
			t.Fatal(err)
		}
		s.write(t, file, strings.TrimSpace(string(text)), line)
	}
	script := `for f in passwd shadow group; do mount --bind "$0/$f" /etc/$f || exit 1; done; exec "$@"`
	return append([]string{"unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, s.Dir}, argv...)
}

// run starts sshd and waits until it listens. It tells whether it does: another
// may have the port.
func (s *SSHD) run(t testing.TB, argv []string) bool {
	t.Helper()
	log, err := os.Create(filepath.Join(s.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd:\n%s", s.Log())
		}
	})
	taken := false
	await(t, "sshd listening: "+log.Name(), func() bool {
		said := s.Log()
		taken = strings.Contains(said, "Address already in use")
		return taken || strings.Contains(said, "Server listening")
	})
	return !taken
}

// Log is what the sshd said so far.
func (s *SSHD) Log() string {
	text, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Keygen makes a key pair without a passphrase and returns the public one.
func Keygen(t testing.TB, path, kind string) string {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	text, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
