package ssh_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/deploy/tlsca"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
)

// TestDeployment starts Dask on real nodes: encrypted, on a network that was
// chosen, with the scheduler on a node of its own.
func TestDeployment(t *testing.T) {
	python := need.Python(t)
	slurmworld.Run(t, slurmworld.Config{Nodes: 3}, func(t *testing.T, w *slurmworld.World) {
		run := t.TempDir()
		authority, err := tlsca.New(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		modules, err := filepath.Abs("../../workloads/python")
		if err != nil {
			t.Fatal(err)
		}
		const dir = "/var/tmp/deployment" // each node's own
		spec := deploy.Spec{
			Python: python, PythonPath: path.Join(dir, "python"), WorkersPerNode: 1, Threads: 1, Apart: true,
			Addresses: map[string]string{}, TLS: &deploy.TLS{Authority: authority, Life: time.Hour},
			Dir: dir, Logs: filepath.Join(run, "logs"), Ready: 5 * time.Minute,
		}
		var hosts []deploy.Host
		for _, node := range []string{"node001", "node002", "node003"} {
			h := worldHost(t, w, node, filepath.Join(run, deploy.ProcessesDir))
			settle(t, h, &spec, modules)
			hosts = append(hosts, h)
		}
		d, err := deploy.Start(t.Context(), hosts, spec)
		if err != nil {
			t.Fatal(err)
		}
		if want := "tls://" + spec.Addresses["node001"] + ":"; !strings.HasPrefix(d.Addr(), want) {
			t.Errorf("want the scheduler at %s, have %s", want, d.Addr())
		}
		for _, h := range hosts {
			scan(t, w, h.(*ssh.Host), authority, spec.Addresses[h.Name()])
		}
		unreadable(t, w, dir)
		deploytest.Compute(t, d, spec.Python, run, "[1, 2]", 2*bound)
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		for _, h := range hosts {
			nothingLeft(t, w, h.Name())
		}

		// A node that no longer answers is found out, and the others are not.
		w.Freeze(t, "node003")
		_, err = deploy.Start(t.Context(), hosts, spec)
		if bad := deploy.BadHosts(err); len(bad) != 1 || bad[0].Host != "node003" {
			t.Errorf("want node003 to be bad, have %v", err)
		}
		w.Thaw(t, "node003")
		for _, h := range hosts {
			nothingLeft(t, w, h.Name())
		}
	})
}

// settle gets a node ready and chooses its address.
func settle(t *testing.T, h deploy.Host, spec *deploy.Spec, modules string) {
	t.Helper()
	if err := deploy.MakePrivate(t.Context(), h, spec.Dir); err != nil {
		t.Fatal(err)
	}
	if err := h.Put(t.Context(), os.DirFS(modules), spec.PythonPath); err != nil {
		t.Fatal(err)
	}
	facts, err := deploy.Examine(t.Context(), h, spec.Python)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Addresses[h.Name()], _, err = facts.Address("ib0"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := facts.Address("ib7"); err == nil || !strings.Contains(err.Error(), "ib0") {
		t.Errorf("interface ib7: want an error with those that exist, have %v", err)
	}
	skew, err := deploy.MeasureSkew(t.Context(), h, time.Now)
	// All nodes have the clock of this machine.
	if err != nil || skew.Ahead > skew.Error+time.Millisecond || skew.Ahead < -skew.Error-time.Millisecond {
		t.Errorf("clock of %s: want no skew, have %v within %v, %v", h.Name(), skew.Ahead, skew.Error, err)
	}
}

// scan looks at all that listens on a node: it must be one port of Dask's, at
// the chosen address, which answers only those who have a certificate.
func scan(t *testing.T, w *slurmworld.World, h *ssh.Host, authority *tlsca.Authority, address string) {
	t.Helper()
	sockets := w.Listening(t, h.Name())
	if len(sockets) != 1 || !strings.HasPrefix(sockets[0].Address, address+":") {
		t.Errorf("%s: want one listener at %s, have %+v", h.Name(), address, sockets)
	}
	foreign, err := tlsca.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sockets {
		for _, c := range []struct {
			name      string
			authority *tlsca.Authority
			encrypted bool
			want      bool
		}{
			{"its own", authority, true, true},
			{"a foreign certificate", foreign, true, false},
			{"no certificate", nil, true, false},
			{"no encryption", nil, false, false},
		} {
			if have := visit(t, h, s.Address, authority, c.authority, c.encrypted); have != c.want {
				t.Errorf("%s: an answer to %s: want %v, have %v", s.Address, c.name, c.want, have)
			}
		}
	}
}

// visit says whether a port on a node answers to Dask's greeting.
func visit(t *testing.T, h *ssh.Host, address string, trusted, own *tlsca.Authority, encrypted bool) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	conn, err := h.Dial(ctx, "tcp", address)
	if err != nil {
		t.Errorf("%s: %v", address, err)
		return false
	}
	var config *tls.Config
	if encrypted {
		server, _, _ := strings.Cut(address, ":")
		config = deploytest.Disguise(t, trusted, own, server)
	}
	return deploytest.Answers(t, conn, config, deploytest.DaskGreeting, bound)
}

// unreadable tests that another user sees nothing of a deployment.
func unreadable(t *testing.T, w *slurmworld.World, dir string) {
	t.Helper()
	for _, node := range []string{"node001", "node002"} {
		script := fmt.Sprintf("find %s -name '*.pem' | wc -l", dir)
		if have := strings.TrimSpace(w.OnNode(t, node, "sh", "-c", script)); have != "2" {
			t.Errorf("%s: want a key and the authority's certificate, have %s files", node, have)
		}
		script = fmt.Sprintf("su %s -s /bin/sh -c 'ls %s' 2>&1 || true", slurmworld.Other, dir)
		if have := w.OnNode(t, node, "sh", "-c", script); !strings.Contains(have, "Permission denied") {
			t.Errorf("%s: want no access for another user, have %q", node, have)
		}
	}
}
