package pyenv

import (
	"bytes"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/esched/esched/internal/hint"
)

func TestNames(t *testing.T) {
	t.Parallel()
	want := []string{"default", "dask-2024.5"}
	if have := Names(); !slices.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}

func TestLockPinsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		pins map[string]string
	}{
		{"default", map[string]string{"dask": "2026.7.1", "distributed": "2026.7.1", "pandas": "2.2.3", "dask-sql": "2024.5.0"}},
		{"dask-2024.5", map[string]string{"dask": "2024.5.0", "distributed": "2024.5.0", "dask-expr": "1.1.0", "pandas": "2.2.3"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, err := Lock(test.name)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range test.pins {
				if have := l.Pins[name]; have != want {
					t.Errorf("%s: have %q, want %q", name, have, want)
				}
				if !slices.Contains(l.Keys, name) {
					t.Errorf("%s is not among the keys %v", name, l.Keys)
				}
			}
			for _, key := range l.Keys {
				if l.Pins[key] == "" {
					t.Errorf("key %s has no pin", key)
				}
			}
			if joined := bytes.Join(l.batches(), nil); !bytes.Equal(joined, l.Text) {
				t.Error("batches do not add up to the lock")
			}
			for i, b := range l.batches() {
				pins, conditional := parsePins(b)
				if n := len(pins) + len(conditional); n == 0 || n > batchSize {
					t.Errorf("batch %d has %d packages", i, n)
				}
			}
		})
	}
}

// Every package of every lock has hashes, and no lock says where packages
// come from: that is the machine's own configuration.
func TestLocksAreHashedAndNameNoHost(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(locks(), "*.txt")
	if err != nil || len(files) < 3 {
		t.Fatalf("have %v, %v", files, err)
	}
	hash := regexp.MustCompile(`^\s+--hash=sha256:[0-9a-f]{64}( \\)?$`)
	for _, file := range files {
		text, err := fs.ReadFile(locks(), file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if strings.Contains(line, "://") || strings.HasPrefix(line, "--") {
				t.Errorf("%s:%d: %s", file, i+1, line)
			}
			if line != "" && line[0] != ' ' && (!pin.MatchString(line) || !hash.MatchString(lines[i+1])) {
				t.Errorf("%s:%d: not a pin with hashes: %s", file, i+1, line)
			}
		}
	}
}

func TestLockUnknown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nothing", "", "../locks/default", "a/b"} {
		_, err := Lock(name)
		if err == nil || hint.Exit(err) != hint.ExitUsage || hint.Of(err) != "choose one of: default, dask-2024.5" {
			t.Errorf("%q: have %v, exit %d, hint %q", name, err, hint.Exit(err), hint.Of(err))
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"x.in": {Data: []byte("# about\nAlpha_One[extra]==1.0\n")},
		"x.txt": {Data: []byte("alpha-one==1.0 \\\n    --hash=sha256:00\nbeta==2.1 ; python_full_version < '3.12' \\\n" +
			"    --hash=sha256:00\ngamma.x==3\n")},
	}
	l, err := readLock(fsys, "x")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"alpha-one"}; !slices.Equal(l.Keys, want) || !slices.Equal(l.modules(), []string{"alpha_one"}) {
		t.Errorf("have keys %v, modules %v", l.Keys, l.modules())
	}
	tests := []struct {
		name     string
		packages map[string]string
		want     []string
	}{
		{"same", map[string]string{"alpha-one": "1.0", "beta": "2.1", "gamma-x": "3", "pip": "23"}, nil},
		{"without conditional", map[string]string{"alpha-one": "1.0", "gamma-x": "3"}, nil},
		{"missing", map[string]string{"alpha-one": "1.0"}, []string{"gamma-x is missing"}},
		{"other versions", map[string]string{"alpha-one": "1.1", "beta": "2", "gamma-x": "3"},
			[]string{"alpha-one is 1.1, not 1.0", "beta is 2, not 2.1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if have := l.differences(test.packages); !slices.Equal(have, test.want) {
				t.Errorf("have %q, want %q", have, test.want)
			}
		})
	}
}
