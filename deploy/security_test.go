package deploy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/local"
	"github.com/esched/esched/deploy/tlsca"
	"github.com/esched/esched/internal/need"
)

// nodes are hosts that stand for machines of their own: each has its address.
func nodes(t *testing.T, dir string, addresses ...string) []deploy.Host {
	t.Helper()
	var all []deploy.Host
	for i, address := range addresses {
		h, err := local.New(local.Config{
			Name: fmt.Sprintf("node%03d", i+1), Addr: address, Guard: deploytest.Guard(),
			Records: filepath.Join(dir, deploy.ProcessesDir),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		all = append(all, h)
	}
	return all
}

func authority(t *testing.T) *tlsca.Authority {
	t.Helper()
	a, err := tlsca.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// modules is the directory with the workloads' modules.
func modules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../workloads/python")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNothingListensInTheOpen looks at every port that a deployment's
// processes listen on.
func TestNothingListensInTheOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		python  func(testing.TB) string
		instant bool
	}{{"current", need.Python, false}, {"old", need.OldPython, false}, {"instant", need.Python, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := short(t)
			spec := plain(dir, c.python(t))
			spec.PythonPath, spec.WorkersPerNode, spec.Instant, spec.Apart = modules(t), 1, c.instant, true
			ours := authority(t)
			spec.TLS = &deploy.TLS{Authority: ours, Life: time.Hour}
			d, err := deploy.Start(t.Context(), nodes(t, dir, "127.0.0.2", "127.0.0.3"), spec)
			if err != nil {
				t.Fatal(err)
			}
			var listeners []string
			for _, m := range append(d.Workers(), d.Scheduler()) {
				own := listening(t, m.PID())
				if len(own) != 1 {
					t.Errorf("%s: want one listener, have %v", m.Name, own)
				}
				listeners = append(listeners, own...)
			}
			if !strings.HasPrefix(d.Addr(), "tls://127.0.0.2:") || !slices.Contains(listeners, strings.TrimPrefix(d.Addr(), "tls://")) {
				t.Errorf("scheduler at %s, listeners %v", d.Addr(), listeners)
			}
			for _, address := range listeners {
				if !visit(t, address, ours, ours) {
					t.Errorf("%s does not welcome its own", address)
				}
				refused(t, address, ours)
			}
			t.Run("secrets", func(t *testing.T) { private(t, dir) })
			t.Run("foreign worker", func(t *testing.T) { foreignWorker(t, spec, d) })
			sumOn(t, dir, spec, d)
			if err := d.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// refused tests that a port answers nobody else.
func refused(t *testing.T, address string, ours *tlsca.Authority) {
	t.Helper()
	foreign := authority(t)
	for name, visited := range map[string]bool{
		"a foreign certificate":        visit(t, address, ours, foreign),
		"who trusts another authority": visit(t, address, foreign, ours),
		"no certificate":               visit(t, address, ours, nil),
		"Dask's protocol without TLS":  greet(t, address, deploytest.DaskGreeting),
		"a request for a page":         greet(t, address, "GET / HTTP/1.0\r\n\r\n"),
	} {
		if visited {
			t.Errorf("%s answers to %s", address, name)
		}
	}
}

// visit says whether a port answers to a visitor that trusts one authority and
// shows a certificate of another, or none.
func visit(t *testing.T, address string, trusted, own *tlsca.Authority) bool {
	t.Helper()
	host, _, _ := net.SplitHostPort(address)
	return answers(t, address, deploytest.Disguise(t, trusted, own, host), deploytest.DaskGreeting)
}

// greet says whether a port answers to what is said without encryption.
func greet(t *testing.T, address, text string) bool {
	t.Helper()
	return answers(t, address, nil, text)
}

func answers(t *testing.T, address string, config *tls.Config, text string) bool {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, ready)
	if err != nil {
		t.Errorf("%s: %v", address, err)
		return false
	}
	return deploytest.Answers(t, conn, config, text, ready)
}

// listening lists the TCP ports that a process listens on.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	inodes := map[string]bool{}
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(descriptors) == 0 {
		t.Fatalf("process %d: no descriptors, %v", pid, err)
	}
	for _, d := range descriptors {
		if to, err := os.Readlink(d); err == nil && strings.HasPrefix(to, "socket:[") {
			inodes[strings.Trim(to, "socket:[]")] = true
		}
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a machine without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const listen = "0A"
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 9 && fields[3] == listen && inodes[fields[9]] {
				found = append(found, readAddress(t, fields[1]))
			}
		}
	}
	return found
}

// readAddress reads "0200007F:1F90".
func readAddress(t *testing.T, text string) string {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	if len(host) != 8 {
		return fmt.Sprintf("[%s]:%d", host, n) // of IPv6, which no deployment uses
	}
	var ip [4]byte
	if _, err := fmt.Sscanf(host, "%2x%2x%2x%2x", &ip[3], &ip[2], &ip[1], &ip[0]); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d.%d.%d.%d:%d", ip[0], ip[1], ip[2], ip[3], n)
}

// private tests that nobody else can read a deployment's files.
func private(t *testing.T, dir string) {
	own, _ := filepath.Glob(filepath.Join(dir, "d*"))
	secrets := 0
	for _, d := range own {
		info, err := os.Stat(d)
		if err != nil || !info.IsDir() {
			continue
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s: want mode 0700, have %v", d, info.Mode())
		}
		files, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(d, f.Name()))
			if err != nil || !strings.Contains(string(text), "PRIVATE KEY") {
				continue
			}
			secrets++
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: want mode 0600, have %v, %v", f.Name(), info.Mode(), err)
			}
		}
	}
	if secrets != 2 { // one for each host
		t.Errorf("want 2 files with a key, have %d in %v", secrets, own)
	}
}

// foreignWorker tests that Dask's own worker cannot register without a
// certificate of the run, nor with another's.
func foreignWorker(t *testing.T, spec deploy.Spec, d *deploy.Deployment) {
	id, err := authority(t).Issue("thief", []string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pem := filepath.Join(dir, "thief.pem")
	if err := os.WriteFile(pem, id.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, with := range [][]string{nil, {"--tls-ca-file", pem, "--tls-cert", pem, "--tls-key", pem}} {
		argv := append([]string{"-m", "distributed.cli.dask_worker", d.Addr(), "--no-nanny", "--no-dashboard",
			"--dashboard-address", "127.0.0.1:0", "--name", "thief", "--death-timeout", "3", "--local-directory", dir}, with...)
		ctx, cancel := context.WithTimeout(t.Context(), ready)
		cmd := exec.CommandContext(ctx, spec.Python, argv...)
		cmd.WaitDelay = time.Second
		out, _ := cmd.CombinedOutput() // how it ends is Dask's matter
		if ctx.Err() != nil {
			t.Errorf("a foreign worker with %q stays: %s", with, out)
		}
		cancel()
		if strings.Contains(string(out), "Registered to") {
			t.Errorf("a foreign worker with %q registered: %s", with, out)
		}
	}
}

// sumOn computes something on a deployment.
func sumOn(t *testing.T, dir string, spec deploy.Spec, d *deploy.Deployment) {
	t.Helper()
	want := "[1, 2]"
	if spec.Instant {
		want = "[0, 0]"
	}
	deploytest.Compute(t, d, spec.Python, dir, want, ready)
}
