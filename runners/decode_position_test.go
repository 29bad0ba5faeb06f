package runners

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/esched/esched/workloads/presets"
)

// unplaced checks that the scanner found every key and value of a text that
// the decoder accepts, and returns what is wrong. The text at the place of a
// value must decode to that value.
func unplaced(text string) string {
	values := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &values); err != nil {
		return ""
	}
	places := scanPositions(text)
	var walk func(path string, value any) string
	walk = func(path string, value any) string {
		at, ok := places[path]
		if path != "" && (!ok || at.key.to <= at.key.from || at.value.to <= at.value.from) {
			return fmt.Sprintf("%q has no place", path)
		}
		var wrong string
		switch v := value.(type) {
		case map[string]any:
			for k, sub := range v {
				wrong += walk(child(path, k), sub)
			}
		case []map[string]any:
			for i, sub := range v {
				wrong += walk(element(path, i), sub)
			}
		case []any:
			for i, sub := range v {
				wrong += walk(element(path, i), sub)
			}
		default:
			var again map[string]any
			source := text[at.value.from:at.value.to]
			err := toml.Unmarshal([]byte("x = "+source), &again)
			if err != nil || !reflect.DeepEqual(again["x"], value) && fmt.Sprint(value) != "NaN" {
				wrong += fmt.Sprintf("%q = %#v is placed at %q", path, value, source)
			}
		}
		return wrong
	}
	return walk("", values)
}

var placed = []string{
	small,
	string(presets.Default()),
	strings.ReplaceAll(small, "\n", "\r\n"),
	"\ufeffa = 1",
	"a.b.c = 1\na.b.d = [ 1, [2, 3], { x = 'y', z.w = \"]}#\" } ] # c\n",
	"[a]\nb = 1\n[[a.c]]\nd = 1\n[[a.c.e]]\n[[a.c.e]]\nf = \"\"\"\n[x]\n\\\"\"\"\"\"\n[a.c.g]\nh = 1\n[[a.c]]\nd = 2\n",
	"\"q \\\" \\u00e9\".'l.x' = '''\n''''\n[ 'a' . \"b\" ]\nc = 1979-05-27 07:32:00\n[[ d ]]\n",
	"a = [\n # c ]\n 1, # x\n 2\n,\n]\nb = {}\nc = []\n",
	"a = { b = [ { c = 1 }, { c = 2 } ], d = { e.f = nan } }",
}

func TestPositions(t *testing.T) {
	t.Parallel()
	for _, text := range placed {
		if wrong := unplaced(text); wrong != "" {
			t.Errorf("%s\n%s", wrong, text)
		}
	}
}

func FuzzPositions(f *testing.F) {
	for _, text := range placed {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if wrong := unplaced(text); wrong != "" {
			t.Error(wrong)
		}
	})
}

func TestOnCluster(t *testing.T) {
	t.Parallel()
	text := strings.Replace(small, "seed = 7", "nodes = 65\ncluster = \"big\"\nclusters.big = { kind = \"slurm\" }\nclusters.other.kind = \"slurm\"", 1)
	e := mustLoad(t, text)
	for _, c := range []struct{ name, want string }{
		{"other", ""}, {"big", ""},
		{"local", `cluster "local" (kind local) has at most 64 nodes, the experiment asks for 65`},
		{"bog", `unknown cluster "bog" in experiments.toml`},
	} {
		got, err := e.OnCluster(c.name)
		if c.want == "" {
			if err != nil || got.Cluster.Name != c.name || e.Cluster.Name != "big" {
				t.Errorf("OnCluster(%q): have %v, %v", c.name, got, err)
			}
		} else if err == nil || err.Error() != c.want {
			t.Errorf("OnCluster(%q): have %v, want %s", c.name, err, c.want)
		}
	}
}
