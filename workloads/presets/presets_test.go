package presets

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/internal/hint"
)

func TestDefaultIsTheRepositorysExperiment(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile("../../experiments.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, Default()) {
		t.Error("experiments.toml differs from workloads/presets/default.toml: copy the one that is right over the other")
	}
}

func TestLinesFitATerminal(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		b, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			if len(line) > 80 {
				t.Errorf("%s: line %d has %d characters, want at most 80", name, i+1, len(line))
			}
		}
	}
}

// TestList holds that every file is a preset, and that each says what it is.
func TestList(t *testing.T) {
	t.Parallel()
	paths, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range paths {
		name, isPreset := strings.CutSuffix(f.Name(), ".toml")
		if isPreset && !slices.Contains(Names(), name) {
			t.Errorf("%s: not in the list of presets", f.Name())
		}
	}
	for _, p := range All() {
		b, err := Get(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b, []byte("# ")) || p.Doc == "" {
			t.Errorf("%s: does not begin by saying what it is", p.Name)
		}
		if p.Name != DefaultName && !bytes.Contains(b, []byte("\nname = \""+p.Name+"\"\n")) {
			t.Errorf("%s: its experiment has another name", p.Name)
		}
		if p.Cluster() && !slices.Contains(Names(), strings.TrimSuffix(p.Name, clusterSuffix)) {
			t.Errorf("%s: there is no smaller one", p.Name)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nREPRODUCTION := " + strings.Join(Reproduction(), " ") + "\n"; !strings.Contains(string(makefile), want) {
		t.Errorf("Makefile: want the line %q", strings.TrimSpace(want))
	}
	for _, name := range Reproduction() {
		if !slices.Contains(Names(), name) {
			t.Errorf("%s: no such preset", name)
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		if b, err := Get(name); err != nil || len(b) == 0 {
			t.Errorf("Get(%q): %d bytes, %v", name, len(b), err)
		}
	}
	_, err := Get("defualt")
	if have, want := hint.Exit(err), hint.ExitUsage; have != want {
		t.Errorf("exit code of an unknown preset: have %d, want %d", have, want)
	}
	if have, want := hint.Of(err), "choose one of: default, "; !strings.HasPrefix(have, want) {
		t.Errorf("hint: have %q, want %q", have, want)
	}
}
