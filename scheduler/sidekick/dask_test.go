package sidekick

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/scheduler/policies"
)

// outcome is a line of scenarios.py.
type outcome struct {
	Name       string         `json:"name"`
	Error      string         `json:"error"`
	Placements int            `json:"placements"`
	Decisions  int            `json:"decisions"`
	Fallbacks  int            `json:"fallbacks"`
	Latencies  int            `json:"latencies"`
	Misses     int            `json:"misses"`
	Sources    map[string]int `json:"sources"`
	Remains    map[string]int `json:"remains"`
	Active     bool           `json:"active"`
	Seconds    float64        `json:"seconds"`
}

// TestScenarios plays every scenario of testdata/python/scenarios_*.py on both
// versions of Dask: as it comes, with Dask's own checks of its state, and
// without Dask's queue.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, slots, policy string
		only                []string // scenarios; none is all of them
		options             clusterOptions
	}{
		{name: "default", slots: "adaptive", policy: "earliest-start"},
		{
			name: "validate", slots: "stock", policy: "random",
			options: clusterOptions{env: []string{"DASK_DISTRIBUTED__SCHEDULER__VALIDATE=True"}},
		},
		{
			name: "unqueued", slots: "stock", policy: "least-cpu-load",
			only: []string{
				"merge", "many", "tree", "p2p_shuffle", "no_worker", "restrictions", "actors", "cancelled", "priorities",
				"worker_joins", "worker_rests", "worker_dies",
			},
			options: clusterOptions{module: true, env: []string{"DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION=inf"}},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			interpreters(t, func(t *testing.T, python string) {
				socket := filepath.Join(shortDir(t), "s")
				var record safeBuffer
				serve(t, Config{Socket: socket, Policy: "round-robin", Seed: 1, Record: &record})
				o := x.options
				o.socket = socket
				c := newCluster(t, python, o)
				seen := 0
				c.script(t, 10*time.Minute, []string{"POLICIES=" + strings.Join(policies.Names(), ",")},
					func(line []byte) { seen++; checkOutcome(t, line) },
					"scenarios.py", append([]string{c.file, c.dir, x.policy, x.slots}, x.only...)...)
				if want := cmp.Or(len(x.only), 26); seen != want {
					t.Errorf("%d scenarios were played, want %d", seen, want)
				}
				c.quiet(t)
				checkMirror(t, record.Bytes())
			})
		})
	}
}

// TestLink plays the checks of testdata/python/link.py: the preload's
// bookkeeping with a service whose every reply is chosen.
func TestLink(t *testing.T) {
	t.Parallel()
	interpreters(t, func(t *testing.T, python string) {
		c := &cluster{dir: shortDir(t), python: python}
		seen := 0
		c.script(t, 10*time.Minute, nil, func(line []byte) {
			seen++
			var check struct{ Name, Error string }
			if err := json.Unmarshal(line, &check); err != nil {
				t.Errorf("line %q: %v", line, err)
			} else if check.Error != "" {
				t.Errorf("%s: %.3000s", check.Name, check.Error)
			}
		}, "link.py", writePreload(t, c.dir))
		if seen != 7 {
			t.Errorf("%d checks were played, want 7", seen)
		}
	})
}

func checkOutcome(t *testing.T, line []byte) {
	t.Helper()
	var o outcome
	if err := json.Unmarshal(line, &o); err != nil {
		t.Errorf("line %q: %v", line, err)
		return
	}
	t.Run(o.Name, func(t *testing.T) {
		t.Logf("%.2f s, %d decisions, %v", o.Seconds, o.Decisions, o.Sources)
		switch {
		case o.Error != "":
			t.Errorf("%.3000s", o.Error)
		case !o.Active:
			t.Error("the service does not decide any more")
		case o.Decisions != o.Placements || o.Fallbacks != 0 || o.Placements == 0:
			t.Errorf("want as many decisions as placements and no fallbacks, have %d, %d, %d (missed deadlines: %d)",
				o.Decisions, o.Placements, o.Fallbacks, o.Misses)
		case o.Latencies != o.Decisions:
			t.Errorf("want %d latencies, have %d", o.Decisions, o.Latencies)
		case len(o.Remains) > 0:
			t.Errorf("remembered after the last future went: %v", o.Remains)
		}
	})
}

// checkMirror replays a record: after all was forgotten, the core must count
// nothing either.
func checkMirror(t *testing.T, record []byte) {
	t.Helper()
	sessions := map[uint32]*Session{}
	err := frames(record, func(id uint32, s *Session, _, _ []byte) error {
		sessions[id] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range maps.Keys(sessions) {
		state := sessions[id].core.State
		if n := state.Tasks(); n != 0 {
			t.Errorf("connection %d: the core remembers %d tasks", id, n)
		}
		for _, w := range state.Workers {
			if w.Assigned() != 0 || w.Stored != 0 || w.Work != 0 {
				t.Errorf("connection %d: worker %d has %d tasks, %v s of work, %d bytes", id, w.ID, w.Assigned(), w.Work, w.Stored)
			}
		}
	}
}
