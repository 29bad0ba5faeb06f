package cmd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// hoursSite is a claimSite in a bubble, on a weekday morning.
func hoursSite(claims int, claim time.Duration) *claimSite {
	s := &session{
		runOptions: &runOptions{globals: &globals{Process: Process{Now: func() time.Time { return time.Now().UTC() }}}},
		experiment: &runners.Experiment{ClaimTime: claim}, runner: &runners.Runner{Claims: claims},
	}
	return &claimSite{site: &site{session: s}, policy: reserve.DASPolicy()}
}

func TestClaimsWaitForTheirHours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		claims int
		claim  time.Duration
		want   time.Duration // waited; the bubble begins on Saturday at midnight, and the test on Monday at 10
		told   string
	}{
		{"short ones run by day", 3, 15 * time.Minute, 0, ""},
		{"long ones wait for the night", 3, 2 * time.Hour, 10 * time.Hour, "claim 1 waits until Mon 2000-01-03 20:00: site's time policy"},
		{"very long ones for the weekend", 2, 30 * time.Hour, 4*24*time.Hour + 10*time.Hour, "waits until Fri 2000-01-07 20:00"},
		{"a single one is left to the queue's check", 1, 2 * time.Hour, 0, ""},
		{"one that no weekend allows, too", 2, 100 * time.Hour, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(2*24*time.Hour + 10*time.Hour)
				x := hoursSite(test.claims, test.claim)
				var told []record.Event
				began := time.Now()
				if err := x.awaitHours(t.Context(), func(e record.Event) { told = append(told, e) }); err != nil {
					t.Fatal(err)
				}
				if have := time.Since(began); have != test.want {
					t.Errorf("waited %v, want %v", have, test.want)
				}
				if (test.told == "") != (len(told) == 0) || len(told) > 1 {
					t.Fatalf("told %+v", told)
				}
				if len(told) == 1 && (!strings.Contains(told[0].Message, test.told) || told[0].Start.Sub(began) != test.want || told[0].State != "waiting") {
					t.Errorf("told %+v", told[0])
				}
			})
		})
	}
}

func TestTheWaitForHoursEndsWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(2*24*time.Hour + 10*time.Hour)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(90*time.Second, func() { cancel(runners.ErrStopped) })
		if err := hoursSite(2, time.Hour).awaitHours(ctx, func(record.Event) {}); !errors.Is(err, runners.ErrStopped) {
			t.Errorf("have %v", err)
		}
	})
}

// TestExtensionOfALocalClaim asks this machine's queue, which has no reason to
// refuse, and a kind of reservation that has no way to.
func TestExtensionOfALocalClaim(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	q, err := s.p.newReserver(clusterOptions{Kind: clusterLocal, Name: "local"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Reserve(t.Context(), reserve.Request{Run: s.p.Dir, Nodes: 1, Claim: time.Hour, Poll: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x := &claimSite{site: &site{reserver: q}, running: &holding{Reservation: r, now: s.p.Now}}
	deadline, err := x.Extend(t.Context(), time.Hour)
	if err != nil || deadline.Sub(before.Deadline) != time.Hour {
		t.Errorf("deadline %v, want an hour after %v: %v", deadline, before.Deadline, err)
	}
	if after, err := r.Status(t.Context()); err != nil || !after.Deadline.Equal(deadline) {
		t.Errorf("status %+v, %v", after, err)
	}
	if entries, err := s.p.ledger().Entries(); err != nil || len(entries) != 1 || !entries[0].Deadline.Equal(deadline) {
		t.Errorf("ledger %+v, %v", entries, err)
	}
	if err := r.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := x.Extend(t.Context(), time.Hour); err == nil {
		t.Error("a released claim was extended")
	}
	x.running.Reservation = struct{ reserve.Reservation }{r} // hides what it can
	if _, err := x.Extend(t.Context(), time.Hour); !errors.Is(err, runners.ErrFixed) {
		t.Errorf("have %v", err)
	}
}
