package ssh_test

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/internal/need"
)

// nasty are arguments that shells like to change.
var nasty = []string{
	"a b", "$HOME", "x;echo INJECTED", "`id`", "it's", `"quoted"`, `back\slash`, "line\nend", "*", "~", "!!", "", "-n", "\t", "ä", "{a,b}", "#",
}

func TestArguments(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	h := dial(t, config(t, d), "node001")
	have, err := h.Run(t.Context(), deploy.Command{
		Name: "arguments; echo INJECTED", Argv: append([]string{"printf", "%s\\0"}, nasty...), Env: []string{"A=$HOME; x"},
	})
	if want := strings.Join(nasty, "\x00") + "\x00"; err != nil || string(have) != want {
		t.Errorf("want %q, have %q, %v", want, have, err)
	}
}

// TestOddPaths has a scratch directory whose name shells like to change.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	c := config(t, d)
	c.Scratch = filepath.Join(d.Dir, "it's a $HOME; echo `id` \"x\"")
	c.Binary = private(t, c.Binary)
	h := dial(t, c, "node001")
	have, err := h.Run(t.Context(), deploy.Command{Name: "ok", Argv: []string{"echo", "ok"}})
	if want := "ok\n"; err != nil || string(have) != want {
		t.Errorf("want %q, have %q, %v", want, have, err)
	}
}

// private copies a binary to a path that the node takes for something else:
// its content is there under this path only until the copy is gone.
func private(t *testing.T, binary string) string {
	t.Helper()
	text, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "esched")
	// Not executable, so that the node must not use it where it is.
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBinary(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	copies := func(c ssh.Config) []string {
		found, err := filepath.Glob(filepath.Join(c.Scratch, "esched-root", "bin", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	c := config(t, d)
	if err := attempt(t, c, "node001"); err != nil || len(copies(c)) != 0 {
		t.Errorf("binary that the node has under the same path: want no copy, have %v, %v", copies(c), err)
	}
	c.Binary = private(t, c.Binary)
	if err := attempt(t, c, "node001"); err != nil || len(copies(c)) != 1 {
		t.Fatalf("want one copy, have %v, %v", copies(c), err)
	}
	info, err := os.Stat(copies(c)[0])
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("want mode 0700, have %v, %v", info.Mode(), err)
	}
	if err := attempt(t, c, "node001"); err != nil {
		t.Error(err)
	}
	if again, err := os.Stat(copies(c)[0]); err != nil || !os.SameFile(info, again) {
		t.Errorf("want the first copy used again, have %v", err)
	}
	// A copy that somebody damaged is replaced.
	if err := os.WriteFile(copies(c)[0], []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := attempt(t, c, "node001"); err != nil {
		t.Errorf("damaged copy: %v", err)
	}
	h := dial(t, c, "node001")
	if _, err := h.Run(t.Context(), deploy.Command{Name: "ok", Argv: []string{"true"}}); err != nil {
		t.Errorf("with the new copy: %v", err)
	}
	// Somebody else may have made the directory first.
	c.Scratch = t.TempDir()
	if err := os.Mkdir(filepath.Join(c.Scratch, "esched-root"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(c.Scratch, "esched-root"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	refused(t, attempt(t, c, "node001"), []string{"only user 0 can enter"}, "scratch directory")
	c.Scratch = "/proc"
	refused(t, attempt(t, c, "node001"), []string{"copy of esched on node001 in /proc/esched-root"}, "scratch directory")
}

func TestOtherMachine(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	c := config(t, d)
	text, err := os.ReadFile(c.Binary)
	if err != nil {
		t.Fatal(err)
	}
	const machine = 18 // offset in the header
	other := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		other = elf.EM_X86_64
	}
	text[machine], text[machine+1] = byte(other), byte(other>>8)
	c.Binary = filepath.Join(t.TempDir(), "esched")
	if err := os.WriteFile(c.Binary, text, 0o700); err != nil {
		t.Fatal(err)
	}
	refused(t, attempt(t, c, "node001"), []string{"node001 runs Linux on", "is for Linux on"}, "machine type")
}

// noisy makes the login shell print something, as it happens on clusters.
func noisy(t *testing.T, bashrc string) *deploytest.SSHD {
	t.Helper()
	need.Program(t, "bash")
	home := t.TempDir()
	// bash reads this file for commands of a remote shell daemon.
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(bashrc), 0o600); err != nil {
		t.Fatal(err)
	}
	return deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{
		"SetEnv HOME=" + home,
		`ForceCommand exec bash -c '. "$HOME/.bashrc"; eval "$SSH_ORIGINAL_COMMAND"'`,
	}})
}

func TestNoise(t *testing.T) {
	t.Parallel()
	d := noisy(t, "echo Welcome to the cluster; echo '=== 3 messages' >&2; module() { :; }\n")
	c := config(t, d)
	c.Binary = private(t, c.Binary)
	h := dial(t, c, "node001")
	have, err := h.Run(t.Context(), deploy.Command{Name: "clean", Argv: []string{"echo", "only this"}})
	if want := "only this\n"; err != nil || string(have) != want {
		t.Errorf("want %q, have %q, %v", want, have, err)
	}
	if want := "Welcome to the cluster"; !strings.Contains(h.Noise(), want) {
		t.Errorf("noise: want %q, have %q", want, h.Noise())
	}
	d = noisy(t, "echo You must change your password; exit 3\n")
	refused(t, attempt(t, config(t, d), "node001"), []string{"change your password"}, "ssh node001 echo ok")
	d = deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	if h := dial(t, config(t, d), "node001"); h.Noise() != "" {
		t.Errorf("silent shell: want no noise, have %q", h.Noise())
	}
}

// TestManySessions starts more processes than a connection has sessions.
func TestManySessions(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{10, 2} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			t.Parallel()
			d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{"MaxSessions " + strconv.Itoa(limit)}})
			h := dial(t, config(t, d), "node001")
			for i := range 12 {
				_, err := h.Start(t.Context(), deploy.Command{
					Name: fmt.Sprintf("p%d", i), Argv: []string{"sleep", "100"}, Log: filepath.Join(t.TempDir(), "log"),
				})
				if err != nil {
					t.Fatalf("process %d: %v", i, err)
				}
			}
			if n := strings.Count(d.Log(), "Accepted publickey"); n < 2 {
				t.Errorf("want several connections, have %d", n)
			}
		})
	}
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{"MaxSessions 0"}})
	refused(t, attempt(t, config(t, d), "node001"), []string{"session refused"}, "MaxSessions")
}

// TestCancelLeaksNothing cancels many commands on one connection that allows
// few sessions.
func TestCancelLeaksNothing(t *testing.T) {
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{Server: []string{"MaxSessions 3"}})
	h := dial(t, config(t, d), "node001")
	file := filepath.Join(t.TempDir(), "pids")
	script := `trap '' INT TERM HUP; setsid sleep 1000 & echo $! >> "$0"; echo $$ >> "$0"; while :; do sleep 1; done`
	cancelled := func(n int) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		go func() {
			for ctx.Err() == nil && len(numbers(t, file)) < n {
				time.Sleep(5 * time.Millisecond)
			}
			cancel(why)
		}()
		if _, err := h.Run(ctx, deploy.Command{Name: "stubborn", Argv: []string{"sh", "-c", script, file}}); !errors.Is(err, why) {
			t.Fatalf("want %v, have %v", why, err)
		}
	}
	cancelled(2)
	settle := func(most int) error {
		if have := runtime.NumGoroutine(); have > most {
			return fmt.Errorf("there are %d, at most %d wanted", have, most)
		}
		return nil
	}
	before := runtime.NumGoroutine()
	const times = 5 // more than the connection has sessions
	for i := range times {
		cancelled(2 * (i + 2))
	}
	deploytest.Await(t, "no more goroutines than before", bound, func() error { return settle(before) })
	for _, pid := range numbers(t, file) {
		if deploytest.Alive(pid) {
			t.Errorf("process %d: want gone, have alive", pid)
		}
	}
	if n := strings.Count(d.Log(), "Accepted publickey"); n != 1 {
		t.Errorf("want all on one connection, have %d", n)
	}
}

func numbers(t *testing.T, path string) []int {
	t.Helper()
	text, _ := os.ReadFile(path)
	var all []int
	for field := range bytes.FieldsSeq(text) {
		if n, err := strconv.Atoi(string(field)); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// TestKilled kills esched itself, and the sshd's connection, while processes
// run.
func TestKilled(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	file := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(os.Args[0], holder, d.Dir, d.User, d.Config, file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deploytest.Await(t, "two processes", bound, func() error {
		if have := len(numbers(t, file)); have < 2 {
			return fmt.Errorf("there are %d", have)
		}
		return nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	deploytest.Await(t, "no process of a killed esched", bound, func() error {
		for _, pid := range numbers(t, file) {
			if deploytest.Alive(pid) {
				return fmt.Errorf("%d is alive", pid)
			}
		}
		return nil
	})
}

// holder is the part of the test binary that holds processes on a node.
const holder = "holder"

func hold(args []string) int {
	client, err := ssh.New(ssh.Config{
		Home: args[0], User: args[1], File: args[2], Binary: mustAbs(os.Args[0]), GuardArgs: deploytest.Guard()[1:], Scratch: args[0],
	})
	if err == nil {
		var h *ssh.Host
		if h, err = client.Dial(context.Background(), "node001"); err == nil {
			script := `setsid sleep 1000 & echo $! >> "$0"; echo $$ >> "$0"; sleep 1000`
			_, err = h.Run(context.Background(), deploy.Command{Name: "held", Argv: []string{"sh", "-c", script, args[3]}})
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func mustAbs(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

// TestDialFromNode reaches a port through the node.
func TestDialFromNode(t *testing.T) {
	t.Parallel()
	d := deploytest.StartSSHD(t, deploytest.SSHDConfig{})
	var h deploy.Host = dial(t, config(t, d), "node001")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "hello")
			c.Close()
		}
	}()
	conn, err := h.(deploy.Dialer).Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 5)
	if n, err := conn.Read(buf); err != nil || string(buf[:n]) != "hello" {
		t.Errorf("want %q, have %q, %v", "hello", buf[:n], err)
	}
	if have := h.(deploy.Addresser).Addr(); have != "127.0.0.1" {
		t.Errorf("address: want the HostName of ssh_config, have %q", have)
	}
}
