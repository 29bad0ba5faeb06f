package ssh_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/internal/hint"
)

// attempt dials and closes again.
func attempt(t *testing.T, c ssh.Config, name string) error {
	t.Helper()
	client, err := ssh.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	h, err := client.Dial(t.Context(), name)
	if err != nil {
		return err
	}
	return h.Close()
}

// knownHosts are the lines that an SSHD's known hosts have for these types.
func knownHosts(t *testing.T, d *deploytest.SSHD, kinds ...string) string {
	t.Helper()
	text, err := os.ReadFile(d.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		for _, kind := range kinds {
			if strings.Contains(line, kind) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "")
}

func TestKnownHosts(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{"MaxStartups 100"}})
	host := "[127.0.0.1]:" + d.Port
	stranger := deploytest.Keygen(t, filepath.Join(d.Dir, "stranger"), "ed25519")
	hashed := filepath.Join(d.Dir, "hashed")
	if err := os.WriteFile(hashed, []byte(knownHosts(t, d, "ed25519")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh-keygen", "-H", "-f", hashed).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	hashedText, err := os.ReadFile(hashed)
	if err != nil || strings.Contains(string(hashedText), host) {
		t.Fatalf("want a hashed name, have %s, %v", hashedText, err)
	}
	for _, c := range []struct {
		name, known, system string
		want                []string // parts of the error; nil for none
		hint                string
	}{
		{"AllTypes", knownHosts(t, d, deploytest.KeyTypes...), "", nil, ""},
		{"OnlyEd25519", knownHosts(t, d, "ed25519"), "", nil, ""},
		{"OnlyECDSA", knownHosts(t, d, "ecdsa"), "", nil, ""},
		{"OnlyRSA", knownHosts(t, d, "rsa"), "", nil, ""},
		{"Hashed", string(hashedText), "", nil, ""},
		{"Wildcard", strings.ReplaceAll(knownHosts(t, d, "ed25519"), host, "[127.0.0.*]:"+d.Port), "", nil, ""},
		{"SystemFile", "", knownHosts(t, d, "ed25519"), nil, ""},
		{"Unknown", "# nothing\n", "", []string{"host key unknown", "SHA256:", "user"}, "ssh node001"},
		{"NoFile", "", "", []string{"host key unknown", "no file of known hosts exists", "user"}, "ssh node001"},
		{"OtherHost", strings.ReplaceAll(knownHosts(t, d, "ed25519"), host, "node009"), "", []string{"host key unknown"}, "ssh node001"},
		{"Changed", "# a comment\n" + host + " " + stranger + "\n", "", []string{"host key changed", "user:2 has ssh-ed25519"}, "ssh-keygen -R"},
		{"Revoked", knownHosts(t, d, "ed25519") + "@revoked * " + strings.TrimPrefix(knownHosts(t, d, "ed25519"), host+" "), "",
			[]string{"host key revoked", "user:2"}, "administrators"},
		{"Garbage", host + " ssh-ed25519 AAAA\n", "", []string{"known hosts", "user:1"}, "that line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			user, system := filepath.Join(dir, "user"), filepath.Join(dir, "system")
			for path, text := range map[string]string{user: c.known, system: c.system} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			conf := config(t, d)
			conf.Options = []string{"UserKnownHostsFile=" + user, "GlobalKnownHostsFile=" + system}
			refused(t, attempt(t, conf, "node001"), c.want, c.hint)
		})
	}
}

// refused checks an error: its parts and its hint, or that there is none.
func refused(t *testing.T, err error, want []string, mend string) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("want no error, have %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("want an error with %q", want)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("want %q in the error, have %v", part, err)
		}
	}
	if have := hint.Of(err); !strings.Contains(have, mend) {
		t.Errorf("want %q in the hint, have %q", mend, have)
	}
}

// TestKeyTypeGone: what is known of the host is a key of a type that it no
// longer has.
func TestKeyTypeGone(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{"HostKeyAlgorithms ssh-ed25519"}})
	known := filepath.Join(t.TempDir(), "user")
	if err := os.WriteFile(known, []byte(knownHosts(t, d, "rsa")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, d)
	c.Options = []string{"UserKnownHostsFile=" + known}
	refused(t, attempt(t, c, "node001"), []string{"another type", "offers ssh-ed25519", "user:1 has ssh-rsa"}, "reinstalled")
}
