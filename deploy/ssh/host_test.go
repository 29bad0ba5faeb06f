package ssh_test

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
)

func TestMain(m *testing.M) {
	deploytest.Main(m, deploytest.Part{Name: holder, Main: hold})
}

// config is that of a client of an sshd.
func config(t *testing.T, d *deploytest.SSHD) ssh.Config {
	t.Helper()
	guard := deploytest.Guard()
	binary, err := filepath.Abs(guard[0])
	if err != nil {
		t.Fatal(err)
	}
	return ssh.Config{
		Home: d.Dir, User: d.User, File: d.Config, Binary: binary, GuardArgs: guard[1:], Scratch: filepath.Join(d.Dir, "scratch"),
		Connect: bound, Lease: bound,
	}
}

// dial returns a host that is closed at the end of the test.
func dial(t *testing.T, c ssh.Config, name string) *ssh.Host {
	t.Helper()
	client, err := ssh.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.Dial(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := client.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	return h
}

func TestHost(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{"MaxStartups 100"}})
	deploytest.Run(t, func(t *testing.T, records string) deploy.Host {
		c := config(t, d)
		c.Records = records
		return dial(t, c, "node001")
	})
}

// TestNodeIsGivenBack lets the node's time be over while the connection is
// alive.
func TestNodeIsGivenBack(t *testing.T) {
	t.Parallel()
	c := config(t, deploytest.StartSSHD(t, deploytest.SSHDConfig{}))
	c.Lease = 6 * time.Second
	var over atomic.Bool
	c.Until = func() time.Time {
		if over.Load() {
			return time.Now().Add(-time.Minute)
		}
		return time.Now().Add(time.Hour)
	}
	p, err := dial(t, c, "node001").Start(t.Context(), deploy.Command{
		Name: "lasting", Argv: []string{"sleep", "1000"}, Log: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	over.Store(true)
	select {
	case <-p.Done():
	case <-time.After(bound):
		t.Fatal("the process outlives its time")
	}
	if exit, ok := errors.AsType[*deploy.ExitError](p.Err()); !ok || exit.Signal != "SIGTERM" {
		t.Errorf("want an end by the guard, have %v", p.Err())
	}
}

func TestHostAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Ordinary: true, Server: []string{"MaxStartups 100"}})
	deploytest.Run(t, func(t *testing.T, records string) deploy.Host {
		c := config(t, d)
		c.Records = records
		c.Scratch = filepath.Join(d.Dir, "home", "scratch")
		deploytest.Open(t, filepath.Dir(records), 0o777) // commands of the suite write there
		return dial(t, c, "node001")
	})
}
