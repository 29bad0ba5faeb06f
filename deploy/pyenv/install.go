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

// wheels is where pip's downloads are kept until the environment is complete.
func (in *installation) wheels() string { return in.dir + ".wheels" }

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

	if in.uv != "" {
		return in.runUV(ctx, log)
	}
	return in.runPip(ctx, log)
}

// hashed are the options under which both installers take exactly what the
// lock names. The lock is complete, so dependencies need not be looked up;
// building from source would run code that the hashes of wheels do not cover.
var hashed = []string{"--require-hashes", "--no-deps", "--only-binary", ":all:", "-r"}

func (in *installation) runUV(ctx context.Context, log *os.File) error {
	create := []string{in.uv, "venv", "--no-project", "--python", in.python.path, in.dir}
	if err := in.step(ctx, log, "virtual environment", create); err != nil {
		return err
	}
	requirements, err := in.write(filepath.Join(in.dir, "requirements.txt"), in.lockfile.Text)
	if err != nil {
		return err
	}
	// Without copies, what harms a file of the environment harms uv's cache, and
	// every later environment has it.
	install := []string{in.uv, "pip", "install", "--python", in.interpreter(), "--compile-bytecode", "--link-mode", "copy"}
	return in.step(ctx, log, "packages", append(append(install, hashed...), requirements))
}

// runPip downloads in several steps, because pip keeps what it downloaded
// only when a step ends well, or in its cache if the package index allows
// that. The files stay until the environment is complete.
func (in *installation) runPip(ctx context.Context, log *os.File) error {
	if err := in.step(ctx, log, "virtual environment", []string{in.python.path, "-m", "venv", in.dir}); err != nil {
		return err
	}
	requirements, err := in.write(filepath.Join(in.dir, "requirements.txt"), in.lockfile.Text)
	if err != nil {
		return err
	}
	wheels := in.wheels()
	if err := os.MkdirAll(wheels, 0o755); err != nil {
		return err
	}
	pip := func(args ...string) []string { return append([]string{in.interpreter(), "-m", "pip"}, args...) }
	batches := in.lockfile.batches()
	for i, batch := range batches {
		part, err := in.write(filepath.Join(in.dir, "part.txt"), batch)
		if err != nil {
			return err
		}
		in.m.progress(in.lockfile.Name, fmt.Sprintf("downloading packages, part %d of %d", i+1, len(batches)))
		download := append(pip("download", "--dest", wheels), hashed...)
		if err := in.step(ctx, log, "download", append(download, part)); err != nil {
			return err
		}
	}
	install := append(pip("install", "--no-index", "--find-links", wheels), hashed...)
	return in.step(ctx, log, "packages", append(install, requirements))
}

func (in *installation) write(path string, text []byte) (string, error) {
	return path, os.WriteFile(path, text, 0o644)
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
		return hint.With(fmt.Errorf("%s interrupted: %w", what, ended(ctx)),
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
