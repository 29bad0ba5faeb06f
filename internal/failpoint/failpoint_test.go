package failpoint_test

import (
	"testing"

	"github.com/esched/esched/internal/failpoint"
)

func TestArmed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		armed string
		reach failpoint.Point
		want  int
	}{
		{"nothing armed", "", failpoint.Result, 0},
		{"another point", "before sbatch", failpoint.After("sbatch"), 0},
		{"a program", "after sbatch", failpoint.After("sbatch"), 1},
		{"an event", "node process", failpoint.Told("node", "process"), 1},
		{"an event without states", "trial-started", failpoint.Told("trial-started", ""), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			have := 0
			failpoint.Armed(c.armed, func() { have++ }).Reach(c.reach)
			if have != c.want {
				t.Errorf("want %d crashes, have %d", c.want, have)
			}
		})
	}
}
