package cmd

import (
	"testing"

	"github.com/esched/esched/runners"
)

// TestPreload checks that people get what runs deploy.
func TestPreload(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.programs = builtin()
	r := s.esched("preload")
	r.wants(t, 0, []string{"ESCHED_SOCKET", "async def dask_setup"}, nil)
	x := &site{session: &session{runOptions: &runOptions{globals: &globals{programs: s.programs}}, experiment: &runners.Experiment{}, plan: &runners.Plan{}}, nodes: &nodes{}}
	deployed := x.spec(runners.Block{Scheduler: runners.SchedulerSpec{Kind: kindSidekick}}, "logs").Preload
	if string(deployed) != r.stdout {
		t.Errorf("printed are %d bytes, deployed others: %d", len(r.stdout), len(deployed))
	}
}
