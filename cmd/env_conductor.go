package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// readyFile is the descriptor on which a conductor tells that it has begun.
const readyFile = 3

// background is a process that was started without a terminal.
type background struct {
	pid   int
	ready *os.File // what it tells before it lets go of our streams
	ended chan error
}

// startBackground starts esched in a session of its own, so that the end of
// this terminal is not its end. Its errors go to our standard error until it
// has a place for them.
func (p Process) startBackground(args []string) (*background, error) {
	ready, told, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("background process: %w", err)
	}
	defer told.Close()
	c := exec.Command(p.Executable, args...)
	c.Dir, c.Env, c.Stderr = p.Dir, p.Environ(), p.Stderr
	c.ExtraFiles = []*os.File{told}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("background process: %w", err), ready.Close())
	}
	b := &background{pid: c.Process.Pid, ready: ready, ended: make(chan error, 1)}
	go func() { b.ended <- c.Wait() }()
	return b, nil
}

// read waits for what the process tells, until it ends or the limit is over.
func (b *background) read(limit time.Duration) ([]byte, error) {
	if err := b.ready.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	var all []byte
	for buf := make([]byte, 4096); ; {
		n, err := b.ready.Read(buf)
		all = append(all, buf[:n]...)
		if n > 0 && all[len(all)-1] == '\n' {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// exit waits for the end of the process and returns its exit code.
func (b *background) exit() int {
	err := <-b.ended
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	if err != nil {
		return 1
	}
	return 0
}

// kill ends the process at once.
func (b *background) kill() { _ = syscall.Kill(b.pid, syscall.SIGKILL) }

// leaveTerminal makes a file the standard streams of this process, which was started
// by startBackground, and tells those who wait for it.
func (p *Process) leaveTerminal(log string, ready []byte) error {
	told := os.NewFile(readyFile, "ready")
	info, err := told.Stat()
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return errors.New("nobody waits for this process to begin")
	}
	syscall.CloseOnExec(readyFile)
	if err := os.MkdirAll(filepath.Dir(p.path(log)), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(p.path(log), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for stream := 1; stream <= 2; stream++ { // also for a panic's last words
		if err := syscall.Dup3(int(f.Fd()), stream, 0); err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
	}
	p.Stdout, p.Stderr = os.Stdout, os.Stderr
	p.StdinTerminal, p.StdoutTerminal, p.StderrTerminal = false, false, false
	_, err = told.Write(ready)
	return errors.Join(err, told.Close())
}

// hostname is the name of this machine, "" when it has none.
func (p Process) hostname() string {
	name, _ := os.Hostname()
	return name
}

// appendLine appends a line to a file that only this user may read, in one
// write.
func (p Process) appendLine(path string, line []byte) error {
	f, err := os.OpenFile(p.path(path), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// readFrom returns at most limit bytes of a file from an offset on; nothing
// when there is no such file. It opens the file anew, since that is when a
// network file system looks for what is new.
func (p Process) readFrom(path string, offset, limit int64) ([]byte, error) {
	f, err := os.Open(p.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, limit)
	n, err := f.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}
