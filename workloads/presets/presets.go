package presets

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// files holds the text of each preset in a file of its name. What all clusters
// have in common is in clusters.part, which no preset for clusters repeats.
//
//go:embed *.toml clusters.part
var files embed.FS

// DefaultName is the name of the documented sample.
const DefaultName = "default"

// clusterSuffix ends the names of presets that need a cluster.
const clusterSuffix = "-cluster"

// Preset is a ready-made experiment.
type Preset struct {
	Name string
	// Doc is one line for people, Figures the figures of the lab report that it
	// is about, "" for none.
	Doc     string
	Figures string
}

// Cluster tells that the preset asks for more than a single machine.
func (p Preset) Cluster() bool { return strings.HasSuffix(p.Name, clusterSuffix) }

// All returns the presets, the documented sample first, then by name.
func All() []Preset {
	return []Preset{
		{DefaultName, "the documented sample: what external scheduling costs", ""},
		{"granularity", "the same work in long, short and mixed tasks: 15 graphs", ""},
		{"granularity-cluster", "the same on 8 nodes, 64 workers", ""},
		{"montecarlo-nodes", "Monte Carlo on more and more workers", "2, 5, 6"},
		{"montecarlo-nodes-cluster", "Monte Carlo on 1 to 8 nodes, 8 to 64 workers", "2, 5, 6"},
		{"montecarlo-policies", "Monte Carlo, more and more tasks under each policy", "2, 3, 4"},
		{"montecarlo-policies-cluster", "Monte Carlo, up to 70,000,000,000 simulations", "2, 3, 4"},
		{"pipeline", "data preparation, several pipelines at once", ""},
		{"pipeline-cluster", "the same on 1 to 8 nodes, tables of 6 million rows", ""},
		{"taxi-sql", "10 to 200 SQL queries at the same time, under each policy", "7"},
		{"taxi-sql-cluster", "the same on the trips of a whole year, 64 workers", "7"},
	}
}

// Reproduction returns the names of the presets that together repeat the lab
// report's evaluation on one machine, in the order of its figures.
func Reproduction() []string {
	return []string{"montecarlo-policies", "montecarlo-nodes", "taxi-sql", "pipeline", "granularity"}
}

// Default returns the documented sample: the experiment of a fresh clone's
// experiments.toml.
func Default() []byte { return text(Preset{Name: DefaultName}) }

// Names returns the names of all presets, in the order of [All].
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// Get returns the text of a preset by name.
func Get(name string) ([]byte, error) {
	all := All()
	i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		err := fmt.Errorf("unknown preset %q", name)
		return nil, hint.WithExit(hint.With(err, "choose one of: "+strings.Join(Names(), ", ")), hint.ExitUsage)
	}
	return text(all[i]), nil
}

func text(p Preset) []byte {
	parts := []string{p.Name + ".toml"}
	if p.Cluster() {
		parts = append(parts, "clusters.part")
	}
	var all [][]byte
	for _, name := range parts {
		b, err := files.ReadFile(name)
		if err != nil {
			panic(err) // a test reads each
		}
		all = append(all, b)
	}
	return bytes.Join(all, nil)
}
