package cmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/workloads/presets"
)

// laptopLimit is how long a preset without a cluster may be expected to take,
// reproductionLimit all that repeat the lab report together.
const (
	laptopLimit       = 10 * time.Minute
	reproductionLimit = 30 * time.Minute
)

// TestPresets plans every preset.
func TestPresets(t *testing.T) {
	t.Parallel()
	var reproduction time.Duration
	for _, p := range presets.All() {
		s := newShell(t)
		var have struct {
			Name     string
			Cluster  struct{ Kind string }
			Estimate struct {
				DurationS float64 `json:"duration_s"`
				TooLong   int     `json:"too_long"`
				Trials    int
			}
		}
		s.esched("plan", "@"+p.Name, "--json").into(t, &have)
		takes := time.Duration(have.Estimate.DurationS * float64(time.Second))
		if have.Estimate.Trials == 0 || have.Estimate.TooLong > 0 {
			t.Errorf("%s: %d trials, %d of them longer than a claim", p.Name, have.Estimate.Trials, have.Estimate.TooLong)
		}
		if local := have.Cluster.Kind == "local"; local == p.Cluster() {
			t.Errorf("%s: runs on a cluster of kind %s", p.Name, have.Cluster.Kind)
		}
		if !p.Cluster() && takes > laptopLimit {
			t.Errorf("%s: expected to take %s, want at most %s", p.Name, takes, laptopLimit)
		}
		if slices.Contains(presets.Reproduction(), p.Name) {
			reproduction += takes
		}
	}
	if reproduction == 0 || reproduction > reproductionLimit {
		t.Errorf("reproduction: expected to take %s, want at most %s", reproduction, reproductionLimit)
	}
}

func TestPresetCommands(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("plan", "@montecarlo-node").wants(t, 2, nil, []string{`unknown preset "montecarlo-node"`, "Try: choose one of: default, "})
	s.esched("init", "--list").wants(t, 0, presets.Names(), nil)
	s.esched("init", "--preset", "montecarlo-nodes", "nodes.toml").wants(t, 0, []string{"wrote nodes.toml", "esched run nodes.toml"}, nil)
	written := s.esched("plan", "nodes.toml")
	written.wants(t, 0, nil, nil)
	if direct := s.esched("plan", "@montecarlo-nodes"); direct.stdout != written.stdout || strings.TrimSpace(direct.stdout) == "" {
		t.Errorf("want the same plan from the file and by name; have\n%s\n%s", written.stdout, direct.stdout)
	}
}
