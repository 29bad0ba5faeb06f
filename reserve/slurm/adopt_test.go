package slurm_test

import (
	"testing"
	"time"

	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/slurm"
)

// TestAdopt goes on with reservations that other runs left, where they fit.
func TestAdopt(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		q := newQueue(t, w, nil)
		_, free := w.Occupy(t, 1)
		v := q.obtain(t, 2)
		await(t, v, reserve.Pending)
		adopt := func(name string, c reserve.Batch, change func(*reserve.Request), want bool) {
			t.Helper()
			r := request(2)
			r.Run = "/runs/two"
			change(&r)
			entries := q.entries(t, 1)
			have, err := slurm.New(c).Adopt(t.Context(), r, entries[0])
			if err != nil || (have != nil) != want {
				t.Errorf("%s: want adopted %t, have %v, %v", name, want, have, err)
			}
			if now := q.entries(t, 1); want && (now[0].Run != r.Run || now[0].ID != v.ID()) {
				t.Errorf("%s: entry: have %+v", name, now[0])
			}
		}
		other := q.config
		other.Partition = "short"
		elsewhere := q.config
		elsewhere.Cluster = "elsewhere"
		same := func(*reserve.Request) {}
		adopt("on other terms", other, same, false)
		adopt("of another cluster", elsewhere, same, false)
		adopt("too few nodes", q.config, func(r *reserve.Request) { r.Nodes = 3 }, false)
		adopt("too short", q.config, func(r *reserve.Request) { r.Claim = time.Hour }, false)
		adopt("pending", q.config, same, true)
		free()
		await(t, v, reserve.Running)
		adopt("too little time left", q.config, func(r *reserve.Request) { r.Claim = 12 * time.Minute }, false)
		adopt("running", q.config, func(r *reserve.Request) { r.Run = "/runs/three" }, true)
		stale := q.entries(t, 1)[0]
		stale.Run = "/runs/one" // as another process read it before
		if have, err := q.Adopt(t.Context(), request(2), stale); have != nil || err != nil {
			t.Errorf("adopted meanwhile: want nothing, have %v, %v", have, err)
		}
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if have, err := q.Adopt(t.Context(), request(2), stale); have != nil || err != nil {
			t.Errorf("released: want nothing, have %v, %v", have, err)
		}
	})
}
