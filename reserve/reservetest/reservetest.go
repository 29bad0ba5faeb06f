// Package reservetest is the conformance suite of reserve.Reserver
// implementations. It asks a real queue for real nodes.
package reservetest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Setup is what a Reserver is tested with.
type Setup struct {
	Reserver reserve.Reserver
	// Ledger is the one the Reserver enters its reservations in.
	Ledger *reserve.Ledger
	// TooMany is a number of nodes that the cluster does not have.
	TooMany int
	// Bound is how long one node may take to be granted or given back.
	Bound time.Duration
}

// claim is long enough for a test and short enough for any site.
const claim = 5 * time.Minute

// Run tests that a Reserver keeps its contract. factory makes a Reserver with
// a ledger in dir.
func Run(t *testing.T, factory func(t *testing.T, dir string) Setup) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s Setup, q reserve.Request)
	}{
		{"Check", testCheck},
		{"GrantAndRelease", testGrant},
		{"Attach", testAttach},
		{"ReleaseWithoutGrant", testEarlyRelease},
		{"CancelledContext", testCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			q := reserve.Request{Run: filepath.Join(dir, "run"), Nodes: 1, Claim: claim, Poll: time.Second}
			c.test(t, factory(t, filepath.Join(dir, "ledger")), q)
		})
	}
}

func testCheck(t *testing.T, s Setup, q reserve.Request) {
	if err := s.Reserver.Check(t.Context(), q); err != nil {
		t.Errorf("one node: %v", err)
	}
	for _, c := range []struct {
		name   string
		change func(*reserve.Request)
	}{
		{"no nodes", func(q *reserve.Request) { q.Nodes = 0 }},
		{"too many nodes", func(q *reserve.Request) { q.Nodes = s.TooMany }},
		{"no claim", func(q *reserve.Request) { q.Claim = 0 }},
	} {
		bad := q
		c.change(&bad)
		if err := s.Reserver.Check(t.Context(), bad); hint.Exit(err) != hint.ExitUsage || hint.Of(err) == "" {
			t.Errorf("%s: want a usage error with a hint, have %v", c.name, err)
		}
		if v, err := s.Reserver.Reserve(t.Context(), bad); err == nil {
			t.Errorf("%s: want no reservation, have %s", c.name, v.ID())
		}
	}
	wantEntries(t, s)
}

func testGrant(t *testing.T, s Setup, q reserve.Request) {
	v := obtain(t, s, q)
	wantEntries(t, s, v.ID())
	status := await(t, s, v, reserve.Running)
	if len(status.Hosts) != 1 || status.Hosts[0] == "" {
		t.Errorf("hosts: want one, have %q", status.Hosts)
	}
	// The queue may round up, and its clock may not be ours.
	if left := time.Until(status.Deadline); !status.Deadline.IsZero() && (left < claim/2 || left > 2*claim) {
		t.Errorf("deadline: want about %v from now, have %v", claim, left)
	}
	for range 2 {
		if err := v.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	wantEntries(t, s)
	if status := await(t, s, v, reserve.Released, reserve.Gone); len(status.Hosts) != 0 {
		t.Errorf("after release: want no hosts, have %q", status.Hosts)
	}
}

func testAttach(t *testing.T, s Setup, q reserve.Request) {
	v := obtain(t, s, q)
	await(t, s, v, reserve.Running)
	entries, err := s.Ledger.Entries()
	if err != nil || len(entries) != 1 {
		t.Fatalf("want one entry, have %v, %v", entries, err)
	}
	e := entries[0]
	if e.Kind != s.Reserver.Kind() || e.Run != q.Run || e.Made.IsZero() {
		t.Errorf("entry: have %+v", e)
	}
	again, err := s.Reserver.Attach(e)
	if err != nil {
		t.Fatal(err)
	}
	if again.ID() != v.ID() {
		t.Errorf("id: want %s, have %s", v.ID(), again.ID())
	}
	await(t, s, again, reserve.Running)
	if err := again.Release(t.Context()); err != nil {
		t.Error(err)
	}
	wantEntries(t, s)
	e.Kind = "another"
	if _, err := s.Reserver.Attach(e); err == nil {
		t.Error("entry of another kind: want an error")
	}
}

func testEarlyRelease(t *testing.T, s Setup, q reserve.Request) {
	v := obtain(t, s, q)
	if err := v.Release(t.Context()); err != nil {
		t.Error(err)
	}
	wantEntries(t, s)
}

func testCancelled(t *testing.T, s Setup, q reserve.Request) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := s.Reserver.Reserve(ctx, q); err == nil {
		t.Errorf("want no reservation, have %s", v.ID())
	}
	wantEntries(t, s)
}

func obtain(t *testing.T, s Setup, q reserve.Request) reserve.Reservation {
	t.Helper()
	v, err := s.Reserver.Reserve(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Release(context.Background()); err != nil {
			t.Errorf("release: %v", err)
		}
	})
	return v
}

func await(t *testing.T, s Setup, v reserve.Reservation, states ...reserve.State) reserve.Status {
	t.Helper()
	for end := time.Now().Add(s.Bound); ; time.Sleep(50 * time.Millisecond) {
		status, err := v.Status(t.Context())
		if err == nil && slices.Contains(states, status.State) {
			return status
		}
		if time.Now().After(end) {
			t.Fatalf("reservation %s: want %v within %v, have %+v, %v", v.ID(), states, s.Bound, status, err)
		}
	}
}

func wantEntries(t *testing.T, s Setup, want ...string) {
	t.Helper()
	entries, err := s.Ledger.Entries()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.ID)
	}
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("ledger: want %q, have %q", want, have)
	}
}
