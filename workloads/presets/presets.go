package presets

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
)

//go:embed default.toml
var defaultTOML []byte

// DefaultName is the name of the documented sample.
const DefaultName = "default"

// Default returns the documented sample: the experiment of a fresh clone's
// experiments.toml.
func Default() []byte { return bytes.Clone(defaultTOML) }

// Names returns the names of all presets, sorted.
func Names() []string { return []string{DefaultName} }

// Get returns a preset by name.
func Get(name string) ([]byte, error) {
	if !slices.Contains(Names(), name) {
		err := fmt.Errorf("unknown preset %q", name)
		return nil, hint.WithExit(hint.With(err, "choose one of: "+strings.Join(Names(), ", ")), hint.ExitUsage)
	}
	return Default(), nil
}
