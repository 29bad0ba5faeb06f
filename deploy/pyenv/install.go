package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/esched/esched/internal/hint"
)

// installation is one attempt to fill an environment's directory.
type installation struct {
	m        *Manager
	lockfile Lockfile
	python   python
	uv       string // path, or empty to install with pip
	dir      string
	lock     *dirLock
}

func (in *installation) interpreter() string { return filepath.Join(in.dir, "bin", "python") }

// logPath is where everything that the installer says is kept. It is beside
// the directory and so outlives it.
func (in *installation) logPath() string { return in.dir + ".log" }

func (in *installation) installer() string {
	if in.uv != "" {
		return "uv"
	}
	return "pip"
}

// run makes the virtual environment and installs the lock into it.
func (in *installation) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installLimit, fmt.Errorf("not finished within %v", installLimit))
	defer cancel()
	log, err := os.Create(in.logPath())
	if err != nil {
		return err
	}
	defer log.Close()

	create := []string{in.python.path, "-m", "venv", in.dir}
	if in.uv != "" {
		create = []string{in.uv, "venv", "--no-project", "--python", in.python.path, in.dir}
	}
	if err := in.step(ctx, log, "virtual environment", create); err != nil {
		return err
	}
	requirements := filepath.Join(in.dir, "requirements.txt")
	if err := os.WriteFile(requirements, in.lockfile.Text, 0o644); err != nil {
		return err
	}
	// The lock is complete, so dependencies need not be looked up. Building
	// from source would run code that the hashes of wheels do not cover.
	install := []string{in.interpreter(), "-m", "pip", "install"}
	if in.uv != "" {
		install = []string{in.uv, "pip", "install", "--python", in.interpreter(), "--compile-bytecode"}
	}
	install = append(install, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", requirements)
	return in.step(ctx, log, "packages", install)
}

// step runs one program of the installation to its end in a process group of
// its own. When ctx is done the whole group is ended.
func (in *installation) step(ctx context.Context, log *os.File, what string, argv []string) error {
	said := &transcript{log: log, progress: func(line string) { in.m.progress(in.lockfile.Name, line) }}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", in.m.isolated() // no project's configuration around us
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	cmd.ExtraFiles = []*os.File{in.lock.file}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	in.lock.describe(fmt.Sprintf("%s (its %s is pid %d)", in.lock.owner, in.installer(), cmd.Process.Pid))
	err := cmd.Wait()
	said.flush()
	if err == nil {
		return nil
	}
	// What is left of the group has had its time.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error means that nothing is left
	if ctx.Err() != nil {
		return hint.With(fmt.Errorf("%s interrupted: %w", what, context.Cause(ctx)),
			"start again: what was downloaded is kept")
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return in.explain(what, said, exit)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// explain turns the end of an installer's output into an error that says
// which package and what went wrong, and what to do.
func (in *installation) explain(what string, said *transcript, exit error) error {
	err := fmt.Errorf("%s: %s: %w\n%s", what, in.installer(), exit, said.end())
	if p := said.pkg; p != "" {
		err = fmt.Errorf("%s: %s at %s: %w\n%s", what, in.installer(), p, exit, said.end())
	}
	return hint.With(err, said.mend(in.m.CacheDir)+" (all output: "+in.logPath()+")")
}
