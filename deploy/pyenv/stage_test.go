package pyenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/local"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

func TestMain(m *testing.M) { deploytest.Main(m) }

// small is an environment with a package, made with the Python of the tests.
func small(t *testing.T) Environment {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	if out, err := exec.Command(need.Python(t), "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	site, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	if err != nil || len(site) != 1 {
		t.Fatalf("site-packages: %v, %v", site, err)
	}
	pkg := filepath.Join(site[0], "small_package")
	if err := os.Mkdir(pkg, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pkg, "__init__.py"), []byte("import ssl, sys\nprint(sys.prefix, sys.base_prefix)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(pkg, "__init__.py"), filepath.Join(pkg, "link.py")); err != nil {
		t.Fatal(err)
	}
	return Environment{Interpreter: filepath.Join(dir, "bin", "python"), Environment: record.Environment{Name: "small", Path: dir}}
}

func copyOf(t *testing.T, env Environment, needs ...string) (c *Copy, told func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	m := &Manager{CacheDir: t.TempDir(), Env: os.Environ(), Progress: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, text)
	}}
	c, err := m.Copy(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	c.needs = needs
	return c, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

func thisMachine(t *testing.T, name string) deploy.Host {
	t.Helper()
	h, err := local.New(local.Config{Name: name, Guard: deploytest.Guard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// prefixes imports the package from a copy and returns what it prints.
func prefixes(t *testing.T, link string) (prefix, base string) {
	t.Helper()
	out, err := exec.Command(filepath.Join(link, "bin", "python"), "-m", "small_package.link").Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 2 {
		t.Fatalf("copy in %s: %q, %v", link, out, err)
	}
	return fields[0], fields[1]
}

func TestStage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		withBase bool
	}{{"with the node's Python", false}, {"with its own Python", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := small(t)
			root := filepath.Join(t.TempDir(), "envs")
			made, told := copyOf(t, env, "small_package")
			base := made.facts.Base
			if c.withBase {
				made.asked = "/nowhere/bin/python3" // as if the node had no such Python
			}
			links := []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")}
			for _, link := range links {
				if err := made.Stage(t.Context(), thisMachine(t, "a"), root, link); err != nil {
					t.Fatal(err)
				}
				prefix, from := prefixes(t, link)
				if prefix != link || strings.HasPrefix(from, root) != c.withBase || !c.withBase && from != base {
					t.Errorf("have prefix %s, base %s", prefix, from)
				}
			}
			if again, err := made.packed.env(); err != nil || !strings.HasSuffix(again, packedSuffix) {
				t.Errorf("packed: %s, %v", again, err)
			}
			if n := strings.Count(told(), "sending"); n != map[bool]int{false: 1, true: 2}[c.withBase] {
				t.Errorf("want the files sent once, have\n%s", told())
			}
			if err := os.RemoveAll(env.Path); err != nil {
				t.Fatal(err)
			}
			prefixes(t, links[0]) // does not need the original
			if err := Unstage(t.Context(), thisMachine(t, "a"), root); err != nil {
				t.Fatal(err)
			}
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("left after Unstage: %v", left)
			}
		})
	}
}

func TestStageRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		spoil      func(t *testing.T, c *Copy, root string)
	}{
		{"module missing", "no_such_module", func(_ *testing.T, c *Copy, _ string) { c.needs = []string{"no_such_module"} }},
		{"no room", "File exists", func(t *testing.T, _ *Copy, root string) {
			if err := os.WriteFile(root, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"the node's Python is missing", "no Python", func(_ *testing.T, c *Copy, _ string) {
			c.asked, c.facts.Base = "/nowhere/bin/python3", "/usr"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "envs")
			made, _ := copyOf(t, small(t), "small_package")
			c.spoil(t, made, root)
			link := filepath.Join(t.TempDir(), "link")
			err := made.Stage(t.Context(), thisMachine(t, "a"), root, link)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), " on a: ") {
				t.Errorf("want an error with %q, have %v", c.want, err)
			}
			if c.name != "no room" && hint.Of(err) == "" {
				t.Errorf("no hint: %v", err)
			}
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if _, err := os.Lstat(link); err == nil {
				t.Error("a link to nothing is left")
			}
		})
	}
}

// TestCopiesAtOnce lets two runs copy to one node at the same time.
func TestCopiesAtOnce(t *testing.T) {
	t.Parallel()
	env := small(t)
	root := filepath.Join(t.TempDir(), "envs")
	var wait sync.WaitGroup
	for range 3 {
		made, _ := copyOf(t, env, "small_package")
		link := filepath.Join(t.TempDir(), "link")
		wait.Go(func() {
			if err := made.Stage(t.Context(), thisMachine(t, "a"), root, link); err != nil {
				t.Error(err)
				return
			}
			prefixes(t, link)
		})
	}
	wait.Wait()
}

func TestSystemPythonIsNotCopied(t *testing.T) {
	t.Parallel()
	system := "/usr/bin/python3"
	if _, err := os.Stat(system); err != nil {
		t.Skip("no Python of the system's own: ", err)
	}
	m := &Manager{Env: os.Environ()}
	_, err := m.Copy(t.Context(), Environment{Interpreter: system, Environment: record.Environment{Name: "system"}})
	if err == nil || hint.Exit(err) != hint.ExitUsage || hint.Of(err) == "" {
		t.Errorf("want a usage error with a hint, have %v", err)
	}
}
