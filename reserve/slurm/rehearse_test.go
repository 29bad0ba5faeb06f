package slurm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
)

func TestRehearse(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		for _, c := range []struct {
			name   string
			change func(*reserve.Batch)
			nodes  int
			want   string // part of the refusal; "" for none
			mend   string
		}{
			{"fine", nil, 2, "", ""},
			{"several partitions", func(c *reserve.Batch) { c.Partition = "closed,defq" }, 1, "", ""},
			{"partition is down", func(c *reserve.Batch) { c.Partition = "closed" }, 1, "partition closed takes no jobs: it is down", "one that is up: defq, short"},
			{"no such partition", func(c *reserve.Batch) { c.Partition = "nope" }, 1, `no partition "nope"`, "defq"},
			{"too many nodes", nil, 3, "partition defq has 2", "up to 2 nodes"},
			{"option that sbatch does not know", func(c *reserve.Batch) { c.Native = []string{"--nonsense"} }, 1, "--nonsense", "correct native"},
			{"expression that no node meets", func(c *reserve.Batch) { c.Constraint = "cpunode&gpunode" }, 1, "nvalid feature", "constraint"},
		} {
			start, err := newQueue(t, w, c.change).Rehearse(t.Context(), request(c.nodes))
			if c.want == "" {
				if err != nil || time.Since(start).Abs() > time.Hour {
					t.Errorf("%s: want a start about now, have %v, %v", c.name, start, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.mend) {
				t.Errorf("%s: want %q (%s), have %v (%s)", c.name, c.want, c.mend, err, hint.Of(err))
			}
		}
		if jobs := w.Output(t, slurmworld.User, "squeue", "-h", "--me"); jobs != "" {
			t.Errorf("a rehearsal made jobs: %s", jobs)
		}
		w.Occupy(t, 1)
		start, err := newQueue(t, w, nil).Rehearse(t.Context(), request(2))
		if err != nil || time.Until(start) < 30*time.Minute {
			t.Errorf("busy: want a start in an hour, have %v, %v", start, err)
		}
	})
}
