package pyenv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
)

// Node is where an environment is copied to: a deploy.Host fits.
type Node interface {
	Name() string
	Run(ctx context.Context, c deploy.Command) ([]byte, error)
}

const (
	// lookLimit bounds looking at what a node has: it starts an interpreter.
	lookLimit = 2 * time.Minute
	// sendLimit bounds sending a gigabyte over a slow network.
	sendLimit = 20 * time.Minute
)

// Copy is an environment that is copied to nodes without a network of their
// own and without the file system it is on. The files are packed when the
// first node asks for them. Its methods may be called from several goroutines.
//
// What is copied is the environment's directory, and the Python that it was
// made with where a node has not the same one at the same path.
type Copy struct {
	env    Environment
	facts  layout
	asked  string // the Python that a node may have already
	key    string
	needs  []string // modules that must be found in the copy
	tell   func(string)
	packed struct{ env, base func() (string, error) }
}

// layout is where an interpreter has its files.
type layout struct {
	Prefix  string `json:"prefix"`
	Base    string `json:"base"`    // prefix of the Python it was made with
	Program string `json:"program"` // of that Python, without links
	Version string `json:"version"`
}

const layoutScript = `import json, os, sys; print("\n" + json.dumps(dict(prefix=sys.prefix, base=sys.base_prefix, ` +
	`program=os.path.realpath(sys.executable), version=sys.version.split()[0])))`

// Copy prepares copies of an environment. The packed files are kept in the
// cache for later runs. ctx bounds the packing, too.
func (m *Manager) Copy(ctx context.Context, env Environment) (*Copy, error) {
	cmd := exec.CommandContext(ctx, env.Interpreter, "-c", layoutScript)
	cmd.Env, cmd.WaitDelay = m.isolated(), killGrace
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("environment %s: interpreter %s: %w", env.Name, env.Interpreter, err)
	}
	c := &Copy{env: env, needs: []string{"dask", "distributed"}, tell: func(text string) { m.progress(env.Name, text) }}
	if err := json.Unmarshal([]byte(lastLine(out)), &c.facts); err != nil {
		return nil, fmt.Errorf("environment %s: interpreter %s: its answer: %w", env.Name, env.Interpreter, err)
	}
	f := c.facts
	c.asked = f.Program
	if f.Prefix == f.Base && slices.Contains([]string{"/", "/usr", "/usr/local"}, f.Prefix) {
		err := fmt.Errorf("environment %s: the system's Python in %s cannot be copied", env.Name, f.Prefix)
		return nil, hint.WithExit(hint.With(err, "make a virtual environment, or set environment_on = \"shared\""), hint.ExitUsage)
	}
	if c.key, err = copyKey(env, f); err != nil {
		return nil, fmt.Errorf("environment %s: %w", env.Name, err)
	}
	pack := func(name, from string, skip func(string, fs.DirEntry) bool) func() (string, error) {
		return sync.OnceValues(func() (string, error) {
			file, err := m.pack(ctx, name, from, skip, c.tell)
			if err != nil {
				return "", fmt.Errorf("environment %s: pack %s: %w", env.Name, from, err)
			}
			return file, nil
		})
	}
	base := sha256.Sum256([]byte(f.Program + " " + f.Version))
	c.packed.env = pack(c.key, f.Prefix, skipNothing)
	c.packed.base = pack("base-"+hex.EncodeToString(base[:8]), f.Base, skipNeedless)
	return c, nil
}

// Pack packs the environment now, so that no node has to wait for it.
func (c *Copy) Pack() error {
	_, err := c.packed.env()
	return err
}

// copyKey names the content of an environment: a pinned one is what its lock
// says, any other what its files look like.
func copyKey(env Environment, f layout) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, env.Lock, f.Version)
	if env.Lock == "" {
		err := filepath.WalkDir(f.Prefix, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return nil // its time changes with every __pycache__
			}
			info, err := d.Info()
			if err == nil && filepath.Ext(path) != ".pyc" { // written by whoever imports first
				fmt.Fprintln(h, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return "env-" + hex.EncodeToString(h.Sum(nil))[:16], nil
}

// Scripts for nodes. A copy is a directory that begins with the key and has a
// name of its own, so that two runs that copy at the same time do not meet; it
// counts when it has the file "complete", which is written last.
const (
	// lookScript links $3 to a complete copy of $2 below $1 and prints "have", or
	// prints "base" when the program $4 has version $5, or else nothing.
	lookScript = `umask 077; mkdir -p "$1" || exit 1; for d in "$1/$2".*; do ` +
		`if [ -f "$d/complete" ] && "$d/env/bin/python" -c pass; then rm -f "$3"; ln -s "$d/env" "$3" && echo have; exit; fi; done; ` +
		`v=$("$4" -c "import sys; print(sys.version.split()[0])" 2>/dev/null); if [ "$v" = "$5" ]; then echo base; fi`
	// envScript makes a copy of $2 below $1 from its input and prints its path.
	envScript = `umask 077; d=$(mktemp -d "$1/$2.XXXXXX") && mkdir "$d/env" || exit 1; ` +
		`if tar -xzof - -C "$d/env"; then echo "$d"; else rm -rf "$d"; exit 1; fi`
	// baseScript adds a Python from its input to the copy $1, with the program $2
	// in it, and leads the environment to it.
	baseScript = `umask 077; mkdir "$1/base" && tar -xzof - -C "$1/base" || exit 1; ` +
		`p="$1/base/$2"; for n in python python3 "$(basename "$p")"; do rm -f "$1/env/bin/$n"; ln -s "$p" "$1/env/bin/$n" || exit 1; done; ` +
		`c="$1/env/pyvenv.cfg"; { grep -v "^home *=" "$c"; echo "home = $(dirname "$p")"; } > "$c.new" && mv "$c.new" "$c"`
	// finishScript verifies the copy $1, completes it and links $2 to it.
	finishScript = `d=$1; l=$2; shift 2; "$d/env/bin/python" -c "$FINISH" "$d/env" "$@" || exit 1; ` +
		`: > "$d/complete" && rm -f "$l" && ln -s "$d/env" "$l"`
	finishPython = `import importlib.util as u, os, sys; ` +
		`missing = [m for m in sys.argv[2:] if u.find_spec(m) is None]; ` +
		`wrong = os.path.realpath(sys.prefix) != os.path.realpath(sys.argv[1]); ` +
		`sys.exit("modules not found: " + ", ".join(missing) if missing else "its prefix is " + sys.prefix if wrong else 0)`
	dropScript = `case "$1" in /*) rm -rf -- "$1";; esac`
)

// Stage sees to it that a node has a copy below root, a directory that only the
// user can enter, and links link to it; link/bin/python is the interpreter. A
// copy that an earlier run made is used again.
func (c *Copy) Stage(ctx context.Context, n Node, root, link string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("environment %s on %s: %w", c.env.Name, n.Name(), err)
		}
	}()
	said, err := c.script(ctx, n, "look", lookLimit, lookScript, "", root, c.key, link, c.asked, c.facts.Version)
	if err != nil || said == "have" {
		return err
	}
	withBase := c.facts.Base != c.facts.Prefix && said != "base"
	if withBase && slices.Contains([]string{"/", "/usr", "/usr/local"}, c.facts.Base) {
		err := fmt.Errorf("no Python %s at %s", c.facts.Version, c.asked)
		return hint.With(err, "install that Python on the nodes, or make the environment with one that can be copied: uv python install 3.11")
	}
	file, err := c.packed.env()
	if err != nil {
		return err
	}
	c.tell(fmt.Sprintf("sending %s to %s", sizeOf(file), n.Name()))
	copied, err := c.script(ctx, n, "environment", sendLimit, envScript, file, root, c.key)
	if err != nil {
		return hint.With(err, "choose a scratch directory on the nodes that has room")
	}
	if err := c.complete(ctx, n, copied, link, withBase); err != nil {
		_, _ = c.script(context.WithoutCancel(ctx), n, "environment-drop", lookLimit, dropScript, "", copied)
		return err
	}
	return nil
}

// complete adds the Python if need be, and verifies.
func (c *Copy) complete(ctx context.Context, n Node, copied, link string, withBase bool) error {
	if withBase {
		file, err := c.packed.base()
		if err != nil {
			return err
		}
		program, err := filepath.Rel(c.facts.Base, c.facts.Program)
		if err != nil {
			return err
		}
		c.tell(fmt.Sprintf("sending %s with its Python to %s", sizeOf(file), n.Name()))
		if _, err := c.script(ctx, n, "python", sendLimit, baseScript, file, copied, program); err != nil {
			return hint.With(err, "choose a scratch directory on the nodes that has room")
		}
	}
	_, err := c.script(ctx, n, "environment-check", lookLimit, finishScript, "", append([]string{copied, link}, c.needs...)...)
	if err != nil {
		return hint.With(fmt.Errorf("the copy does not work: %w", err), `make the environment on a machine like the nodes, or set environment_on = "shared"`)
	}
	return nil
}

// script runs a script on a node, with a file as its input unless that is "",
// and returns the last line it printed.
func (c *Copy) script(ctx context.Context, n Node, name string, limit time.Duration, text, file string, args ...string) (string, error) {
	ctx, release := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end within %v", limit))
	defer release()
	command := deploy.Command{
		Name: name, Argv: append([]string{"sh", "-c", text, "sh"}, args...),
		Env: []string{"FINISH=" + finishPython, "PYTHONPATH=", "PYTHONHOME=", "PYTHONNOUSERSITE=1"},
	}
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		command.Stdin = f
	}
	out, err := n.Run(ctx, command)
	return strings.TrimSpace(string(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:])), err
}

// Unstage removes all copies below root from a node.
func Unstage(ctx context.Context, n Node, root string) error {
	ctx, release := context.WithTimeoutCause(ctx, sendLimit, fmt.Errorf("no end within %v", sendLimit))
	defer release()
	_, err := n.Run(ctx, deploy.Command{Name: "environment-drop", Argv: []string{"sh", "-c", dropScript, "sh", path.Clean(root)}})
	if err != nil {
		return fmt.Errorf("copies of environments on %s: %w", n.Name(), err)
	}
	return nil
}
