package rules

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/esched/esched"

// pkg is what "go list" tells of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// short is a path within the module.
func short(path string) string { return strings.TrimPrefix(path, module+"/") }

// packages lists the module's packages.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		// go test reuses a result until a file that the test looked at changes.
		if _, err := os.ReadDir(p.Dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range p.GoFiles {
			if _, err := os.Stat(filepath.Join(p.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// within reports whether a package is a tree's root or below it.
func within(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

// trees are the trees of packages and what else of the module each may
// import. The first tree that holds a package counts. A package may always
// import its own tree.
var trees = []struct {
	tree string
	may  []string
}{
	{"cmd/esched", []string{"cmd"}},
	{"cmd/dashboard", []string{"internal", "runners", "report/stats"}},
	{"cmd", []string{"internal", "reserve", "deploy", "runners", "workloads", "scheduler", "report"}},
	{"runners/record", []string{"internal/hint"}},
	{"runners", []string{"internal", "reserve", "deploy", "workloads", "scheduler"}},
	{"report", []string{"internal", "runners/record"}},
	{"bench", []string{"internal", "report", "runners/record"}},
	{"reserve", []string{"internal", "runners/record"}},
	{"deploy", []string{"internal", "runners/record"}},
	{"workloads", []string{"internal"}},
	{"scheduler", []string{"internal"}},
	{"internal", nil},
}

// exact are packages that may import these and nothing else of the module,
// whatever their tree may.
var exact = map[string][]string{
	"scheduler":          nil,
	"scheduler/policies": {"scheduler"},
}

// TestImports holds the direction of the way from experiment to report: no
// package reaches back.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		path := short(p.ImportPath)
		for _, i := range p.Imports {
			if !within(i, module) {
				continue
			}
			to := short(i)
			if list, ok := exact[path]; ok {
				if !slices.Contains(list, to) {
					t.Errorf("%s imports %s; it may import %v only", path, to, list)
				}
				continue
			}
			at := slices.IndexFunc(trees, func(x struct {
				tree string
				may  []string
			}) bool {
				return within(path, x.tree)
			})
			if at < 0 {
				t.Errorf("%s is in no tree of the layout", path)
				break
			}
			may := append([]string{trees[at].tree}, trees[at].may...)
			if !slices.ContainsFunc(may, func(tree string) bool { return within(to, tree) }) {
				t.Errorf("%s imports %s; its tree may import %v", path, to, may)
			}
		}
	}
}

// strangers are pairs of trees of which the first must not know the second,
// even through others.
var strangers = []struct{ a, b string }{
	{"reserve", "deploy"}, {"deploy", "reserve"}, {"report", "scheduler"}, {"report", "deploy"}, {"report", "reserve"},
	{"scheduler", "runners"}, {"workloads", "runners"}, {"deploy", "scheduler"}, {"reserve", "scheduler"},
}

// TestStrangers holds what must not know one another even through others.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		path := short(p.ImportPath)
		for _, x := range strangers {
			if !within(path, x.a) {
				continue
			}
			for _, d := range p.Deps {
				if within(d, module+"/"+x.b) {
					t.Errorf("%s depends on %s", path, short(d))
				}
			}
		}
	}
}

// TestRulesHavePackages finds rules about packages that do not exist: such a
// rule holds nothing, and nobody notices.
func TestRulesHavePackages(t *testing.T) {
	t.Parallel()
	all := packages(t)
	// A tree is there when a package is its root or below it.
	tree := func(rule, path string) {
		if !slices.ContainsFunc(all, func(p pkg) bool { return within(short(p.ImportPath), path) }) {
			t.Errorf("%s: there is no package in %s", rule, path)
		}
	}
	single := func(rule, path string) {
		if !slices.ContainsFunc(all, func(p pkg) bool { return short(p.ImportPath) == path }) {
			t.Errorf("%s: there is no package %s", rule, path)
		}
	}
	for i, x := range trees {
		tree("trees", x.tree)
		for _, path := range x.may {
			tree("trees, "+x.tree, path)
		}
		for _, later := range trees[i+1:] {
			if within(later.tree, x.tree) {
				t.Errorf("trees: %s stands behind %s, which holds its packages, too", later.tree, x.tree)
			}
		}
	}
	for path, list := range exact {
		single("exact", path)
		for _, i := range list {
			single("exact, "+path, i)
		}
	}
	for _, path := range pure {
		single("pure", path)
	}
	for _, x := range strangers {
		tree("strangers", x.a)
		tree("strangers", x.b)
	}
	single("binary", "cmd/esched")
	single("binary", "internal/need")
	single("binary", "internal/browser")
}

// TestBinary keeps what serves tests out of the binary.
func TestBinary(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if short(p.ImportPath) != "cmd/esched" {
			continue
		}
		for _, d := range p.Deps {
			if d == "testing" || d == "pgregory.net/rapid" || d == module+"/internal/need" || d == module+"/internal/browser" || within(d, module) && strings.HasSuffix(d, "test") {
				t.Errorf("the binary contains %s", d)
			}
		}
		return
	}
	t.Error("there is no cmd/esched")
}

// pure are the packages that decide: the same events give the same decisions.
var pure = []string{"scheduler", "scheduler/policies"}

// impure are imports that a pure package has no use for; others have names
// that it may use.
var (
	impure = []string{
		"crypto/rand", "log", "log/slog", "math/rand", "net", "os", "runtime", "sync", "sync/atomic", "syscall", "unsafe",
		"context", "io/fs", "testing",
	}
	allowed = map[string][]string{
		"time":         {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
		"math/rand/v2": {"Rand", "PCG", "New", "NewPCG"},
	}
)

// TestPurity checks that the deciding packages use no clock, no input or
// output, no goroutine and no global random source.
func TestPurity(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !slices.Contains(pure, short(p.ImportPath)) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			complain := func(n ast.Node, what string) { t.Errorf("%s: %s", files.Position(n.Pos()), what) }
			names := map[string][]string{} // package name -> what may be used of it
			for _, i := range file.Imports {
				path := strings.Trim(i.Path.Value, `"`)
				if slices.ContainsFunc(impure, func(x string) bool { return within(path, x) }) && path != "math/rand/v2" {
					complain(i, "imports "+path)
				}
				if list, ok := allowed[path]; ok {
					names[importName(i, path)] = list
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					complain(n, "starts a goroutine")
				case *ast.SelectorExpr:
					x, ok := n.X.(*ast.Ident)
					if list, limited := names[identName(x, ok)]; limited && !slices.Contains(list, n.Sel.Name) {
						complain(n, "uses "+x.Name+"."+n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

func importName(i *ast.ImportSpec, path string) string {
	if i.Name != nil {
		return i.Name.Name
	}
	path = strings.TrimSuffix(path, "/v2")
	return path[strings.LastIndex(path, "/")+1:]
}

func identName(x *ast.Ident, ok bool) string {
	if !ok {
		return ""
	}
	return x.Name
}
