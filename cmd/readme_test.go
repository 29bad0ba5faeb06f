package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/esched/esched/internal/need"
)

// readmeLimit bounds the blocks of one how-to on a busy machine.
const readmeLimit = 8 * time.Minute

// readme returns the text of the README.
func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var block = regexp.MustCompile("(?s)<!-- test: ([a-z-]+) -->\n```[a-z]+\n(.*?)```")

// blocks joins the README's blocks that are marked with a name.
func blocks(t *testing.T, name string) string {
	t.Helper()
	var all strings.Builder
	for _, m := range block.FindAllStringSubmatch(readme(t), -1) {
		if m[1] == name {
			all.WriteString(m[2])
		}
	}
	if all.Len() == 0 {
		t.Fatalf("README.md has no block marked %q", name)
	}
	return all.String()
}

// follow executes the blocks of a how-to in an empty directory and returns the
// directory and all output. The programs of python's environment and esched
// itself are on PATH. Runs use that environment too, since making the pinned
// one takes the network.
func follow(t *testing.T, name, python string) (dir, output string) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wrapper := "#!/bin/bash\ncase $1 in run|plan) set -- \"$@\" --env " + python + ";; esac\nexec " + executable + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "esched"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readmeLimit)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-eu", "-c", blocks(t, name))
	c.Dir = dir
	// The first client makes Dask's scheduler look at the versions of packages,
	// which has taken half a minute on a busy machine: Dask's limit.
	c.Env = append(os.Environ(), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT=300s", asMain+"=1", "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"PATH="+bin+":"+filepath.Dir(python)+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = shortly // for what a block left with the output open
	err = c.Run()
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what a failing block left; usually nothing is there
	if err != nil {
		t.Fatalf("%s: %v (%v)\n%s", name, err, ctx.Err(), out.String())
	}
	return dir, out.String()
}

func wantAll(t *testing.T, output string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(output, w) {
			t.Errorf("want %q in\n%s", w, output)
		}
	}
}

func TestReadmeExperiment(t *testing.T) {
	t.Parallel()
	dir, output := follow(t, "experiment", need.Python(t))
	wantAll(t, output, "18 trials", "run ended  18 ok", "complete, 18 of 18", "18 trial(s) done", "nothing left behind")
	for _, name := range []string{"trials.csv", "ratios.csv", "report.json", "report.md", "page.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestReadmeCluster(t *testing.T) {
	t.Parallel()
	dir, output := follow(t, "cluster", need.Python(t))
	wantAll(t, output, "claim")
	if text, err := os.ReadFile(filepath.Join(dir, "experiments.toml")); err != nil || !bytes.Contains(text, []byte("cluster = \"das6\"")) {
		t.Errorf("experiments.toml: %v\n%s", err, text)
	}
}

func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	_, output := follow(t, "program", need.Python(t))
	wantAll(t, output, "prime-count limit=20000 parts=50  sidekick/earliest-start", "run ended  4 ok")
}

// TestExamples runs the experiment in examples as it is.
func TestExamples(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	python := need.Python(t)
	// The command of the example starts python3.
	s.env["PATH"] = filepath.Dir(python) + ":" + s.env["PATH"]
	s.esched("run", "--env", python, "--only", "repetition=1", examplesFile(t)).wants(t, 0, []string{"run ended  9 ok"}, nil)
}

func examplesFile(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../examples/primes.toml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadmeSettings(t *testing.T) {
	t.Parallel()
	_, output := follow(t, "settings", need.Python(t))
	wantAll(t, output, "40 trials", "dask-tuned", "sidekick-stock/earliest-start")
}

func TestReadmeOwnCluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		python func(testing.TB) string
	}{{"current Dask", need.Python}, {"older Dask", need.OldPython}} {
		t.Run(test.name, func(t *testing.T) { // one after the other: each is a whole cluster
			dir, output := follow(t, "own-cluster", test.python(t))
			wantAll(t, output, "ready socket", "sum of squares: 332833500", "1001 placements by esched, 0 by Dask")
			eventually(t, shortly, "end of all processes", func() bool { return len(processesOf(dir)) == 0 })
		})
	}
}

// TestReadmePolicy builds esched with the README's policy, without changing
// the sources.
func TestReadmePolicy(t *testing.T) {
	t.Parallel()
	goTool := need.Program(t, "go")
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("../scheduler/policies/policies.go")
	if err != nil {
		t.Fatal(err)
	}
	const opening = "return []Info{\n"
	if !bytes.Contains(list, []byte(opening)) {
		t.Fatalf("policies.go has no %q", opening)
	}
	changed := strings.Replace(string(list), opening, opening+blocks(t, "policy-entry"), 1)
	replaced := map[string]string{}
	for name, text := range map[string]string{"policies.go": changed, "most_inputs.go": blocks(t, "policy")} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(root, "scheduler", "policies", name)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), readmeLimit)
	defer cancel()
	binary := filepath.Join(dir, "esched")
	build := exec.CommandContext(ctx, goTool, "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "./cmd/esched")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, binary, "policies").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantAll(t, string(out), "most-inputs")
}

// TestReadmeNames checks that the commands, flags, files and make targets
// that the documents mention exist.
func TestReadmeNames(t *testing.T) {
	t.Parallel()
	root := newRoot(&globals{Process: newShell(t).p, programs: builtin()})
	commands := map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		c.InitDefaultHelpFlag()
		commands[c.Name()] = c
	}
	flags := map[string]bool{}
	for _, c := range root.Commands() {
		for _, name := range flagNames(c) {
			flags[name] = true
		}
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"README.md", "DESIGN.md", "CHANGELOG.md"} {
		b, err := os.ReadFile(filepath.Join("..", document))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, m := range regexp.MustCompile(`(?m)^(?:bin/)?esched ([a-z]+)([^\n#]*)`).FindAllStringSubmatch(code(text), -1) {
			c := commands[m[1]]
			if c == nil {
				t.Errorf("%s: esched %s: no such command", document, m[1])
				continue
			}
			if below, _, err := c.Find(strings.Fields(m[2])); err == nil { // "data taxi" has flags of its own
				c = below
				c.InitDefaultHelpFlag()
			}
			for _, f := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(m[2], -1) {
				if c.Flags().Lookup(f[1]) == nil && root.PersistentFlags().Lookup(f[1]) == nil {
					t.Errorf("%s: esched %s --%s: no such flag", document, m[1], f[1])
				}
			}
		}
		for _, m := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(text, -1) {
			if !flags[m[1]] {
				t.Errorf("%s: --%s: no command has that flag", document, m[1])
			}
		}
		for _, m := range regexp.MustCompile("(?m)(?:`|^    )make ([a-z]+)").FindAllStringSubmatch(text, -1) {
			if !bytes.Contains(makefile, []byte("\n"+m[1]+":")) {
				t.Errorf("%s: make %s: no such target", document, m[1])
			}
		}
		for _, path := range paths(text) {
			if _, err := os.Stat(filepath.Join("..", path)); err != nil {
				t.Errorf("%s: %s: no such file", document, path)
			}
		}
	}
}

// code returns what a document sets as code, a span or a line of a block on
// each line.
func code(text string) string {
	var all strings.Builder
	fenced := regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		all.WriteString(m[1])
	}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all.WriteString(strings.ReplaceAll(m[1], "\n", " ") + "\n")
	}
	return all.String()
}

// made are paths that documents mention and users make.
var made = map[string]bool{"bin": true, "bin/esched": true, "scheduler/policies/most_inputs.go": true}

// paths returns the files that links lead to, and those in code that begin
// with a directory of the repository.
func paths(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`\]\(([^):#]+)\)`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	inCode := regexp.MustCompile("`((?:bench|cmd|deploy|docs|internal|report|reserve|runners|scheduler|workloads)(?:/[A-Za-z0-9_./-]+)?)`")
	for _, m := range inCode.FindAllStringSubmatch(text, -1) {
		if !made[m[1]] {
			all = append(all, m[1])
		}
	}
	return all
}
