package sidekick

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bound is how long these tests wait for what takes milliseconds.
const bound = 90 * time.Second

// caller is a connection that speaks the protocol.
type caller struct {
	t    *testing.T
	conn net.Conn
}

func call(t *testing.T, socket string) *caller {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(bound)); err != nil {
		t.Fatal(err)
	}
	return &caller{t, conn}
}

// greet begins a conversation and waits for the first reply.
func (c *caller) greet() error {
	records := join(hello, words(tagSync, uint32(1)))
	frame := append(binary.LittleEndian.AppendUint32(nil, uint32(len(records))), records...)
	if _, err := c.conn.Write(frame); err != nil {
		return err
	}
	_, err := io.ReadFull(c.conn, make([]byte, 8))
	return err
}

// TestServeEndsWithItsListener fails the listener under a living connection:
// Serve's loop returns the error, and does not wait for a conversation that
// would never end.
func TestServeEndsWithItsListener(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	l, err := listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- accept(context.Background(), l, Config{Socket: socket, Policy: "random"}) }()
	c := call(t, socket)
	if err := c.greet(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("want the listener's error, have %v", err)
		}
	case <-time.After(bound):
		t.Fatal("the loop waits for its connections")
	}
	if n, err := c.conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("want the connection closed, have %d bytes, %v", n, err)
	}
}

// TestServeWithoutDescriptors lets more callers come than the service has
// descriptors for: those that wait are served when others have gone.
func TestServeWithoutDescriptors(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	service := exec.Command(os.Args[0])
	service.Env = append(os.Environ(), serviceVariable+"=scarce "+socket)
	out, err := service.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	launch(t, service)
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		t.Fatalf("want the service ready, have %q, %v", line, err)
	}
	first := call(t, socket)
	if err := first.greet(); err != nil {
		t.Fatal(err)
	}
	var crowd []*caller
	for range 2 * scarceDescriptors {
		crowd = append(crowd, call(t, socket))
	}
	if line, err := said.ReadString('\n'); !strings.Contains(line, unix.EMFILE.Error()) {
		t.Fatalf("want a warning of %v, have %q, %v", unix.EMFILE, line, err)
	}
	if err := first.greet(); err != nil {
		t.Errorf("the first conversation: %v", err)
	}
	for _, c := range crowd {
		_ = c.conn.Close()
	}
	err = within(bound, "a new conversation", func() bool {
		c := call(t, socket)
		defer c.conn.Close()
		return c.greet() == nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := service.Wait(); err != nil {
		t.Errorf("the service ended with %v", err)
	}
}
