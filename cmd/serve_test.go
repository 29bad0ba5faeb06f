package cmd

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serving starts "esched serve" on a socket and returns how to end it.
func serving(t *testing.T, socket string) (stop func() int) {
	t.Helper()
	s := newShell(t)
	p := s.p
	p.Args = []string{"serve", "--socket", socket}
	code := make(chan int, 1)
	go func() { code <- Main(p) }()
	eventually(t, shortly, "ready line", func() bool { return strings.Contains(s.out.String(), "ready socket ") })
	return func() int {
		s.signals <- "SIGTERM"
		return <-code
	}
}

// answers tells whether somebody accepts connections on a socket.
func answers(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

func TestServeOnSocketInUse(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir, err := s.p.privateDir("esched")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")

	// A socket that a killed service left is in nobody's use.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	stop := serving(t, socket)

	r := s.esched("serve", "--socket", socket)
	r.wants(t, 1, nil, []string{"socket " + socket + ": another service listens there", "Try: give --socket"})
	if strings.Contains(r.stdout, "ready") {
		t.Errorf("the second one said %q", r.stdout)
	}
	if !answers(socket) {
		t.Error("the first service is gone")
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d of the first", code)
	}

	// What is no socket is nothing to replace.
	file := filepath.Join(dir, "notes")
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.esched("serve", "--socket", file).wants(t, 1, nil, []string{file + ": a file that is no socket is there", "Try: give --socket"})
	if text, err := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
