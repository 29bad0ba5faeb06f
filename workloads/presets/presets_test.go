package presets

import (
	"bytes"
	"os"
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
	for i, line := range strings.Split(string(Default()), "\n") {
		if len(line) > 80 {
			t.Errorf("line %d has %d characters, want at most 80", i+1, len(line))
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
	if have, want := hint.Of(err), "choose one of: default"; have != want {
		t.Errorf("hint: have %q, want %q", have, want)
	}
}
