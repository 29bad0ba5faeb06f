package local_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/local"
	"github.com/esched/esched/reserve/reservetest"
)

func TestReserver(t *testing.T) {
	t.Parallel()
	reservetest.Run(t, func(_ *testing.T, dir string) reservetest.Setup {
		ledger := reserve.OpenLedger(dir)
		return reservetest.Setup{
			Reserver: local.New(local.Config{Profile: reserve.Profile{Ledger: ledger, Now: time.Now}}),
			Ledger:   ledger, TooMany: local.Nodes + 1, Bound: time.Minute,
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var passed atomic.Int64
	r := local.New(local.Config{Host: "here", Profile: reserve.Profile{
		Ledger: reserve.OpenLedger(t.TempDir()),
		Now:    func() time.Time { return begin.Add(time.Duration(passed.Load())) },
	}})
	v, err := r.Reserve(t.Context(), reserve.Request{Run: "/run", Nodes: 1, Claim: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		want  reserve.State
	}{{0, reserve.Running}, {time.Hour - 1, reserve.Running}, {time.Hour, reserve.Gone}} {
		passed.Store(int64(c.after))
		s, err := v.Status(t.Context())
		if err != nil || s.State != c.want || !s.Deadline.Equal(begin.Add(time.Hour)) {
			t.Errorf("after %v: want %s, have %+v, %v", c.after, c.want, s, err)
		}
	}
}

func TestTooManyNodes(t *testing.T) {
	t.Parallel()
	r := local.New(local.Config{Profile: reserve.Profile{Ledger: reserve.OpenLedger(t.TempDir()), Now: time.Now}})
	err := r.Check(t.Context(), reserve.Request{Run: "/run", Nodes: 2, Claim: time.Hour})
	if want := "local cluster has 1 node, 2 asked"; err == nil || err.Error() != want {
		t.Errorf("want %q, have %v", want, err)
	}
}
