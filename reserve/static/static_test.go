package static_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/reservetest"
	"github.com/esched/esched/reserve/static"
)

func lab(l *reserve.Ledger, now func() time.Time, hosts ...string) static.Config {
	return static.Config{Profile: reserve.Profile{Ledger: l, Now: now, Cluster: "lab"}, Hosts: hosts}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	reservetest.Run(t, func(_ *testing.T, dir string) reservetest.Setup {
		ledger := reserve.OpenLedger(dir)
		return reservetest.Setup{
			Reserver: static.New(lab(ledger, time.Now, "a", "b")),
			Ledger:   ledger, TooMany: 3, Bound: time.Minute,
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		hosts    []string
		maxNodes int
		nodes    int
		want     string // "": granted
	}{
		{"fits", []string{"a", "b"}, 0, 2, ""},
		{"empty", nil, 0, 1, "cluster lab has no hosts"},
		{"duplicate", []string{"a", "b", "a"}, 0, 1, "host a is listed twice"},
		{"too many", []string{"a", "b"}, 0, 3, "3 nodes asked, 2 host(s) listed"},
		{"beyond the profile", []string{"a", "b"}, 1, 2, "2 nodes asked, the cluster's profile allows 1 at once (max_nodes)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := lab(reserve.OpenLedger(t.TempDir()), time.Now, c.hosts...)
			config.MaxNodes = c.maxNodes
			r := static.New(config)
			err := r.Check(t.Context(), reserve.Request{Run: "/run", Nodes: c.nodes, Claim: time.Hour})
			have := ""
			if err != nil {
				have = err.Error()
				if hint.Of(err) == "" || hint.Exit(err) != hint.ExitUsage {
					t.Errorf("want a usage error with a hint, have %v", err)
				}
			}
			if have != c.want {
				t.Errorf("want %q, have %q", c.want, have)
			}
		})
	}
}

// TestQueue lets runs of one user wait for each other.
func TestQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var passed atomic.Int64
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := func() time.Time { return begin.Add(time.Duration(passed.Load())) }
	obtain := func(run string, nodes int) reserve.Reservation {
		t.Helper()
		r := static.New(lab(reserve.OpenLedger(dir), now, "a", "b", "c"))
		v, err := r.Reserve(t.Context(), reserve.Request{Run: run, Nodes: nodes, Claim: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	wants := func(v reserve.Reservation, state reserve.State, hosts ...string) reserve.Status {
		t.Helper()
		s, err := v.Status(t.Context())
		if err != nil || s.State != state || !slices.Equal(s.Hosts, hosts) {
			t.Errorf("want %s with %q, have %+v, %v", state, hosts, s, err)
		}
		return s
	}
	first, second := obtain("/first", 2), obtain("/second", 2)
	wants(first, reserve.Running, "a", "b")
	if s := wants(second, reserve.Pending); !strings.Contains(s.Reason, "held by /first until 04:04:05") {
		t.Errorf("reason: have %q", s.Reason)
	}
	third := obtain("/third", 1)
	wants(third, reserve.Running, "c")
	passed.Store(int64(time.Hour)) // claims that are over hold nothing
	wants(first, reserve.Gone)
	if s := wants(second, reserve.Running, "a", "b"); !s.Deadline.Equal(begin.Add(2 * time.Hour)) {
		t.Errorf("deadline: want an hour from the grant, have %v", s.Deadline)
	}
}

// TestExtend lengthens a claim unless somebody waits for its end.
func TestExtend(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) // a Friday
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, r *static.Reserver, l *reserve.Ledger)
		by      time.Duration
		passed  time.Duration
		want    string // of the refusal; "": granted
	}{
		{"alone", nil, time.Hour, 0, ""},
		{"beside a run with other hosts", func(t *testing.T, r *static.Reserver, _ *reserve.Ledger) { ask(t, r, "/other", 1, reserve.Running) }, time.Hour, 0, ""},
		{"awaited", func(t *testing.T, r *static.Reserver, _ *reserve.Ledger) { ask(t, r, "/next", 2, reserve.Pending) }, time.Hour, 0, "/next waits for hosts of cluster lab"},
		{"into working hours", nil, 6 * time.Hour, 0, "site's time policy"},
		{"too late", nil, time.Hour, time.Hour, "no hosts at present"},
		{"taken over", func(t *testing.T, _ *static.Reserver, l *reserve.Ledger) {
			entries, err := l.Entries()
			if err != nil || len(entries) != 1 {
				t.Fatalf("have %+v, %v", entries, err)
			}
			other := entries[0]
			other.Run = "/other"
			if err := l.Add(other); err != nil {
				t.Fatal(err)
			}
		}, time.Hour, 0, "another run has taken it over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ledger, now := reserve.OpenLedger(t.TempDir()), begin
			config := lab(ledger, func() time.Time { return now }, "a", "b", "c")
			config.Policy = reserve.DASPolicy()
			r := static.New(config)
			v := ask(t, r, "/run", 2, reserve.Running)
			if c.prepare != nil {
				c.prepare(t, r, ledger)
			}
			now = begin.Add(c.passed)
			deadline, err := v.(reserve.Extender).Extend(t.Context(), c.by)
			want := begin.Add(time.Hour)
			if c.want == "" {
				want = want.Add(c.by)
				if err != nil || !deadline.Equal(want) {
					t.Errorf("want %v, have %v, %v", want, deadline, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, have %v", c.want, err)
			}
			entries, err := ledger.Entries()
			at := slices.IndexFunc(entries, func(e reserve.Entry) bool { return e.ID == v.ID() })
			if err != nil || at < 0 || !entries[at].Deadline.Equal(want) {
				t.Errorf("ledger: want %v, have %+v, %v", want, entries, err)
			}
		})
	}
}

// ask asks for an hour on some nodes, and for the state.
func ask(t *testing.T, r *static.Reserver, run string, nodes int, want reserve.State) reserve.Reservation {
	t.Helper()
	v, err := r.Reserve(t.Context(), reserve.Request{Run: run, Nodes: nodes, Claim: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := v.Status(t.Context()); err != nil || s.State != want {
		t.Fatalf("%s: want %s, have %+v, %v", run, want, s, err)
	}
	return v
}

// TestAdopt lets a run take over what a killed one left, whether that had hosts
// or waited for some.
func TestAdopt(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name  string
		had   int // hosts of the killed run
		nodes int // that are asked
		want  string
	}{
		{"as many", 2, 2, "a b"}, {"fewer", 3, 1, "a"}, {"more", 1, 3, "a b c"}, {"all", 3, 3, "a b c"}, {"none", 0, 2, "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ledger, now := reserve.OpenLedger(t.TempDir()), begin
			r := static.New(lab(ledger, func() time.Time { return now }, "a", "b", "c"))
			killed, err := r.Reserve(t.Context(), reserve.Request{Run: "/killed", Nodes: max(c.had, 1), Claim: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if c.had > 0 {
				if _, err := killed.Status(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			left, err := ledger.Entries()
			if err != nil || len(left) != 1 || len(left[0].Hosts) != c.had {
				t.Fatalf("want one entry with %d hosts, have %+v, %v", c.had, left, err)
			}
			now = begin.Add(50 * time.Minute)
			v, err := r.Adopt(t.Context(), reserve.Request{Run: "/next", Nodes: c.nodes, Claim: time.Hour}, left[0])
			if err != nil || v == nil {
				t.Fatalf("want it adopted, have %v, %v", v, err)
			}
			s, err := v.Status(t.Context())
			if err != nil || strings.Join(s.Hosts, " ") != c.want || !s.Deadline.Equal(now.Add(time.Hour)) {
				t.Errorf("want %s for an hour from now, have %+v, %v", c.want, s, err)
			}
		})
	}
}

// TestRivals lets many runs ask for the hosts at once; none gets another's.
func TestRivals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	held := map[string]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r := static.New(lab(reserve.OpenLedger(dir), time.Now, "a", "b", "c", "d", "e"))
			v, err := r.Reserve(t.Context(), reserve.Request{Run: "/run", Nodes: 2, Claim: time.Hour})
			if err != nil {
				t.Error(err)
				return
			}
			s, err := v.Status(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, host := range s.Hosts {
				held[host]++
			}
		})
	}
	all.Wait()
	if len(held) != 4 {
		t.Errorf("want 4 of 5 hosts granted, have %v", held)
	}
	for host, n := range held {
		if n != 1 {
			t.Errorf("%s was granted %d times", host, n)
		}
	}
}
