package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
	"github.com/esched/esched/workloads"
)

const (
	// programsDir is the directory of a run with the scripts of its programs, as
	// they were when it ran: each in a directory named by its digest.
	programsDir = "programs"
	// programSlack is how much later than the driver esched itself gives a
	// program up. The driver can tell what the program printed.
	programSlack = 10 * time.Second
	// maxProgram bounds a script, and each file of a command that is read to
	// identify it.
	maxProgram = 64 << 20
)

// findProgram returns what an experiment file's reader needs to know of the
// programs that the file names.
func (p Process) findProgram(experiment string) func(string, []string) (runners.Program, error) {
	beside := filepath.Dir(p.path(experiment))
	return func(script string, command []string) (runners.Program, error) {
		if script != "" {
			file := p.beside(beside, script)
			text, err := p.programText(file)
			if err != nil {
				return runners.Program{}, hint.With(fmt.Errorf("script: %w", err), "name a Python file relative to the experiment file")
			}
			return runners.Program{Script: file, Digest: digestOf(text)}, nil
		}
		return p.findCommand(beside, command)
	}
}

// findCommand makes the names of files beside the experiment absolute, since a
// program runs in a directory of its own, and identifies the command by their
// content.
func (p Process) findCommand(beside string, command []string) (runners.Program, error) {
	found := slices.Clone(command)
	parts := []string{strings.Join(command, "\x00")}
	for i, word := range command {
		file := p.beside(beside, word)
		info, err := p.stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if i == 0 && !strings.ContainsRune(word, '/') {
			continue // a file of the same name is not what a shell would start
		}
		found[i] = file
		text, err := p.programText(file)
		if err != nil {
			return runners.Program{}, hint.With(fmt.Errorf("command: %w", err), "name a smaller file, or start the program by a script")
		}
		parts = append(parts, digestOf(text))
	}
	if strings.ContainsRune(command[0], '/') && !filepath.IsAbs(found[0]) {
		return runners.Program{}, hint.With(fmt.Errorf("command: %s: no such file", p.beside(beside, command[0])),
			"name a program that is on PATH, or a file relative to the experiment file")
	}
	return runners.Program{Command: found, Digest: digestOf([]byte(strings.Join(parts, "\x00")))}, nil
}

func (p Process) beside(dir, file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok && p.Home != "" {
		return filepath.Join(p.Home, rest)
	}
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(dir, file)
}

func (p Process) programText(file string) ([]byte, error) {
	info, err := p.stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file", file)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", file)
	case info.Size() > maxProgram:
		return nil, fmt.Errorf("%s has %d bytes, more than the largest allowed, %d", file, info.Size(), maxProgram)
	}
	return p.readFile(file)
}

// digestOf is the first 12 hexadecimal digits of the SHA-256 of a text.
func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:12]
}

// moduleOf is the name of a program's script as a Python module.
func moduleOf(p runners.Program) string { return strings.ReplaceAll(p.Name, "-", "_") }

// keepPrograms copies the scripts of the experiment into the run directory:
// nodes get these copies, and who reads the run later finds them.
func (s *session) keepPrograms() error {
	for _, name := range slices.Sorted(maps.Keys(s.experiment.Programs)) {
		p := s.experiment.Programs[name]
		if p.Script == "" {
			continue
		}
		text, err := s.programText(p.Script)
		if err != nil {
			return fmt.Errorf("program %s: %w", name, err)
		}
		if digestOf(text) != p.Digest {
			return hint.With(fmt.Errorf("program %s: %s has changed since the plan was made", name, p.Script), "start again")
		}
		dir := filepath.Join(s.dir, programsDir, p.Digest)
		if err := s.mkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("%w: %w", runners.ErrStore, err)
		}
		err = s.createFile(filepath.Join(dir, moduleOf(p)+".py"), text)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: %w", runners.ErrStore, err)
		}
	}
	return nil
}

// putPrograms brings the scripts to a node.
func (x *site) putPrograms(ctx context.Context, h deploy.Host) error {
	for _, name := range slices.Sorted(maps.Keys(x.experiment.Programs)) {
		p := x.experiment.Programs[name]
		if p.Script == "" {
			continue
		}
		kept := x.directory(filepath.Join(x.dir, programsDir, p.Digest))
		if err := h.Put(ctx, kept, path.Join(x.nodes.modules, workloads.ProgramPackage)); err != nil {
			return fmt.Errorf("program %s: %w", name, err)
		}
	}
	return nil
}

// program is what the driver needs to execute a trial of a user's own program;
// nil when it is one of esched's.
func (s *session) program(t record.Trial) *workloads.Program {
	p, ok := s.experiment.Programs[t.Workload]
	if !ok {
		return nil
	}
	spec := &workloads.Program{Argv: p.Command, Limits: workloads.Limits{
		Seconds: s.programLimit(p).Seconds(), MemoryBytes: p.Memory, ResultBytes: p.Result,
	}}
	if p.Script != "" {
		spec.Module = workloads.ProgramPackage + "." + moduleOf(p)
	}
	return spec
}

func (s *session) programLimit(p runners.Program) time.Duration {
	if p.Timeout > 0 {
		return min(p.Timeout, s.experiment.Timeout)
	}
	return s.experiment.Timeout
}

// limit is the time that one attempt of a trial may take.
func (s *session) limit(t record.Trial) time.Duration {
	if p, ok := s.experiment.Programs[t.Workload]; ok {
		return s.programLimit(p) + programSlack
	}
	return s.experiment.Timeout
}
