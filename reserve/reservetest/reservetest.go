// Package reservetest is the conformance suite of reserve.Reserver
// implementations. It asks a real queue for real nodes.
package reservetest

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
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
	// Fixed is for a queue that lets its users lengthen nothing.
	Fixed bool
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
		{"CancelledStatus", testCancelledStatus},
		{"TwoHandles", testTwoHandles},
		{"DistinctIDs", testDistinctIDs},
		{"Adopt", testAdopt},
		{"Extend", testExtend},
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
	status := Await(t, v, s.Bound, reserve.Running)
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
	if status := Await(t, v, s.Bound, reserve.Released, reserve.Gone); len(status.Hosts) != 0 {
		t.Errorf("after release: want no hosts, have %q", status.Hosts)
	}
}

func testAttach(t *testing.T, s Setup, q reserve.Request) {
	v := obtain(t, s, q)
	Await(t, v, s.Bound, reserve.Running)
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
	Await(t, again, s.Bound, reserve.Running)
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

// testCancelledStatus asks with a context that is done: the answer is an
// error, and costs nothing but this question.
func testCancelledStatus(t *testing.T, s Setup, q reserve.Request) {
	v := obtain(t, s, q)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, err := v.Status(ctx); err == nil {
		t.Errorf("want an error, have %+v", status)
	}
	Await(t, v, s.Bound, reserve.Running)
	wantEntries(t, s, v.ID())
}

// testTwoHandles releases a reservation that another process has released.
func testTwoHandles(t *testing.T, s Setup, q reserve.Request) {
	v := obtain(t, s, q)
	entries, err := s.Ledger.Entries()
	if err != nil || len(entries) != 1 {
		t.Fatalf("want one entry, have %v, %v", entries, err)
	}
	other, err := s.Reserver.Attach(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, handle := range []reserve.Reservation{other, v, other} {
		if err := handle.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	wantEntries(t, s)
}

// testDistinctIDs makes a second reservation: releasing one leaves the other.
func testDistinctIDs(t *testing.T, s Setup, q reserve.Request) {
	v, other := obtain(t, s, q), obtain(t, s, q)
	if v.ID() == other.ID() {
		t.Errorf("two reservations with the id %s", v.ID())
	}
	if err := v.Release(t.Context()); err != nil {
		t.Error(err)
	}
	wantEntries(t, s, other.ID())
	Await(t, other, s.Bound, reserve.Running)
}

// testAdopt goes on with what another run left, once. A kind that grants at
// once has nothing to go on with.
func testAdopt(t *testing.T, s Setup, q reserve.Request) {
	a, adopts := s.Reserver.(reserve.Adopter)
	if !adopts {
		return
	}
	v := obtain(t, s, q)
	Await(t, v, s.Bound, reserve.Running)
	entries, err := s.Ledger.Entries()
	if err != nil || len(entries) != 1 {
		t.Fatalf("want one entry, have %v, %v", entries, err)
	}
	left, next := entries[0], q
	next.Run, next.Claim = q.Run+"-next", claim/2 // fits also where queues tell minutes only
	refuses := func(name string, q reserve.Request, e reserve.Entry) {
		t.Helper()
		if have, err := a.Adopt(t.Context(), q, e); have != nil || err != nil {
			t.Errorf("%s: want nothing adopted, have %v, %v", name, have, err)
		}
	}
	other := left
	other.Kind = "another"
	refuses("another kind's", next, other)
	other = left
	other.Cluster = "elsewhere"
	refuses("another cluster's", next, other)
	adopted, err := a.Adopt(t.Context(), next, left)
	if err != nil || adopted == nil || adopted.ID() != v.ID() {
		t.Fatalf("want %s, have %v, %v", v.ID(), adopted, err)
	}
	if entries, err = s.Ledger.Entries(); err != nil || len(entries) != 1 || entries[0].Run != next.Run || entries[0].ID != v.ID() {
		t.Errorf("ledger: want %s for %s, have %+v, %v", v.ID(), next.Run, entries, err)
	}
	status := Await(t, adopted, s.Bound, reserve.Running)
	if left := time.Until(status.Deadline); len(status.Hosts) != 1 || !status.Deadline.IsZero() && left < claim/4 {
		t.Errorf("adopted: have %+v", status)
	}
	refuses("as it was before", q, left)
	if err := adopted.Release(t.Context()); err != nil {
		t.Error(err)
	}
	wantEntries(t, s)
	left.Run = next.Run
	refuses("released", q, left)
}

// testExtend asks for more time, which is given, or refused with nothing
// changed.
func testExtend(t *testing.T, s Setup, q reserve.Request) {
	v := obtain(t, s, q)
	before := Await(t, v, s.Bound, reserve.Running)
	e, extends := v.(reserve.Extender)
	if !extends {
		t.Fatalf("%T: want a way to ask for more time, if only to be refused", v)
	}
	noted := func() []reserve.Entry {
		entries, err := s.Ledger.Entries()
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	unchanged := func(name string, by time.Duration, entries []reserve.Entry, want reserve.Status) {
		t.Helper()
		deadline, err := e.Extend(t.Context(), by)
		if err == nil || !deadline.IsZero() {
			t.Errorf("%s: want a refusal, have %v, %v", name, deadline, err)
		}
		if name == "fixed" && hint.Of(err) == "" {
			t.Errorf("%s: want a hint, have %v", name, err)
		}
		if have := noted(); !reflect.DeepEqual(have, entries) {
			t.Errorf("%s: ledger: want %+v, have %+v", name, entries, have)
		}
		if have, err := v.Status(t.Context()); err != nil || have.State != want.State || !have.Deadline.Equal(want.Deadline) {
			t.Errorf("%s: want %+v, have %+v, %v", name, want, have, err)
		}
	}
	unchanged("less time", -claim, noted(), before)
	if s.Fixed {
		unchanged("fixed", claim, noted(), before)
	} else {
		deadline, err := e.Extend(t.Context(), claim)
		if longer := deadline.Sub(before.Deadline); err != nil || longer < claim || longer > claim+time.Minute {
			t.Errorf("want an end %v after %v, have %v, %v", claim, before.Deadline, deadline, err)
		}
		if have := Await(t, v, s.Bound, reserve.Running); !have.Deadline.Equal(deadline) || !slices.Equal(have.Hosts, before.Hosts) {
			t.Errorf("extended: want %v on %q, have %+v", deadline, before.Hosts, have)
		}
		wantEntries(t, s, v.ID())
	}
	if err := v.Release(t.Context()); err != nil {
		t.Error(err)
	}
	unchanged("released", claim, nil, reserve.Status{State: reserve.Released})
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

// Await asks for a reservation until it is in one of the states.
func Await(t testing.TB, v reserve.Reservation, bound time.Duration, states ...reserve.State) reserve.Status {
	t.Helper()
	return AwaitThat(t, v, bound, fmt.Sprint(states), func(s reserve.Status) bool { return slices.Contains(states, s.State) })
}

// AwaitThat asks for a reservation until its status is as wanted.
func AwaitThat(t testing.TB, v reserve.Reservation, bound time.Duration, want string, done func(reserve.Status) bool) reserve.Status {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(50 * time.Millisecond) {
		have, err := v.Status(t.Context())
		if err == nil && done(have) {
			return have
		}
		if time.Now().After(end) {
			t.Fatalf("reservation %s: want %s within %v, have %+v, %v", v.ID(), want, bound, have, err)
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
