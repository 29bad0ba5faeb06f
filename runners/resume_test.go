package runners

import (
	"strings"
	"testing"

	"github.com/esched/esched/runners/record"
)

func TestResume(t *testing.T) {
	t.Parallel()
	plan := twoBlocks()
	a1, b1, a2 := plan.Blocks[0].Trials[0], plan.Blocks[0].Trials[1], plan.Blocks[1].Trials[0]
	gone := trial("removed", "dask", 1)
	forged := b1
	forged.Workers = 9
	earlier := &record.Run{
		Manifest: record.Manifest{Plan: []record.Planned{{Trial: a1}, {Trial: b1}, {Trial: a2}, {Trial: gone},
			{Trial: record.Trial{ID: "warm", Warmup: true}}}},
		Records: []record.Record{
			{Trial: a1, Status: record.StatusOK},
			{Trial: forged, Status: record.StatusOK},
			{Trial: a2, Status: record.StatusTimeout},
			{Trial: gone, Status: record.StatusOK},
			{Trial: record.Trial{ID: a2.ID, Warmup: true}, Status: record.StatusOK},
		},
		Warnings: []string{"torn line"},
	}
	have := Resume(earlier, plan)
	if len(have.Done) != 1 || have.Done[a1.ID].Status != record.StatusOK {
		t.Errorf("done: %v", have.Done)
	}
	want := "1 trial(s) done, 1 not ok before, to run again, 1 still to run, 1 new in the experiment, 1 no longer in it (records kept)"
	if have.String() != want {
		t.Errorf("want %q\nhave %q", want, have)
	}
	if len(have.Warnings) != 2 || !strings.Contains(have.Warnings[1], b1.ID) {
		t.Errorf("warnings %q", have.Warnings)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	earlier := record.Manifest{ExperimentSHA256: "1", Esched: "v1", Seed: 1, Cluster: "local",
		Environments: map[string]record.Environment{"default": {Python: "3.11.7", Packages: map[string]string{"dask": "2026.7.1", "numpy": "2.1"}}},
		Hosts:        []record.Host{{Name: "a", CPU: "x", Cores: 2, Kernel: "6.1"}},
	}
	now := earlier
	if have := Changes(earlier, now); len(have) != 0 {
		t.Errorf("equal manifests: %q", have)
	}
	now.ExperimentSHA256, now.Esched, now.Seed = "2", "v2", 2
	now.Environments = map[string]record.Environment{
		"default": {Python: "3.12.1", Packages: map[string]string{"dask": "2026.8.0", "pandas": "2.2"}}, "new": {Python: "3.9"}}
	now.Hosts = []record.Host{{Name: "a", CPU: "x", Cores: 4, Kernel: "6.2"}, {Name: "b"}}
	want := []string{
		"the experiment file has changed since the run began",
		"esched was v1, is now v2",
		"the seed was 1, is now 2",
		"Python of environment default was 3.11.7, is now 3.12.1",
		"packages of environment default differ: dask 2026.7.1 -> 2026.8.0, numpy 2.1 -> none, pandas none -> 2.2",
		"the kernel of a was 6.1, is now 6.2",
		"the number of cores of a was 2, is now 4",
		"host b was not part of the run before",
	}
	equalStrings(t, "changes", want, Changes(earlier, now))
}
