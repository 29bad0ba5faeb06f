package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// remoteShell executes a command in a shell that takes itself for one that
// sshd started, and returns what it printed. bash reads its start-up file when
// its standard input is a socket and it is no shell's child.
func (p Process) remoteShell(ctx context.Context, shell, command string) (string, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	stdin, ours := os.NewFile(uintptr(ends[0]), "stdin"), os.NewFile(uintptr(ends[1]), "stdin")
	defer stdin.Close()
	if err := ours.Close(); err != nil { // the shell reads an end of file
		return "", err
	}
	c := exec.CommandContext(ctx, shell, "-c", command)
	c.Dir, c.Stdin = p.Dir, stdin
	for _, kv := range p.Environ() {
		if !strings.HasPrefix(kv, "SHLVL=") {
			c.Env = append(c.Env, kv)
		}
	}
	c.Env = append(c.Env, "SSH_CLIENT=127.0.0.1 1 22")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a start-up file must not ask the terminal
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = pipeGrace
	out := &tail{}
	c.Stdout, c.Stderr = out, io.Discard
	err = c.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.text(), err
}

// checkupPrefix begins the names of the directories of checkups.
const checkupPrefix = "doctor-"

// makeDoctorDir makes a directory for the records of a checkup's reservation
// where "esched clean" can read them from any machine of the cluster.
func (p Process) makeDoctorDir() (string, error) {
	if err := os.MkdirAll(p.stateDir(), 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(p.stateDir(), checkupPrefix+"*")
}
