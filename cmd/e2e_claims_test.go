package cmd

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/runners/record"
)

// lateRelease is how much later than its claim a reservation may be released on
// a machine that is busy with other tests.
const lateRelease = 30 * time.Second

// outOfTime is how long before the deadline of a claim of minutes no trial
// starts any more.
const outOfTime = 15 * time.Second

// TestRunInSeveralClaims runs a plan that is too long for a claim: it goes on
// in the next ones until it is done, and no trial goes on beyond a deadline.
// How long a trial takes is the machine's affair, so the clock is put forward
// to near the end of a claim after the first and the third of four.
func TestRunInSeveralClaims(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	in := func(claim, timeout, lines string) string {
		return strings.NewReplacer(`claim_time = "00:10:00"`, "cluster = \"here\"\nclaim_time = \""+claim+"\"", `"300s"`, `"`+timeout+`"`).
			Replace(tiny(need.Python(t), `"dask"`, 4)) + "\n[clusters.here]\nkind = \"local\"\n" + lines
	}
	s.write("experiments.toml", in("00:00:10", "8s", "claims = 40\n"))
	s.esched("plan").wants(t, 0, []string{"claims of 10s (1s of each are kept for its end)", "cluster here allows 40 claims for one run"}, nil)

	s.write("experiments.toml", in("00:30:00", "300s", "claims = 40\n"))
	var ahead atomic.Int64 // of the true time
	s.p.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	hurry := func() {
		events := s.records(s.onlyRun()).Events
		slices.Reverse(events)
		i := slices.IndexFunc(events, func(e record.Event) bool { return e.Kind == record.EventClaim })
		ahead.Add(int64(events[i].Deadline.Add(-outOfTime).Sub(s.p.Now())))
	}
	stopped := failpoint.Told(string(record.EventDeployment), "stopped")
	first, third := atPoint(stopped, 1, hurry), atPoint(stopped, 3, hurry)
	s.p.Failpoints = func(p failpoint.Point) { first(p); third(p) }
	s.esched("run").wants(t, 0, []string{"claim 1 of up to 40 granted", "claim 2 of up to 40 granted", "claim 3 of up to 40 granted",
		"no time for further trials", "wait for the next claim", "run ended  4 ok"}, nil)
	s.p.Failpoints = nil
	run := s.onlyRun()
	nothingLeft(t, s, run)
	if entries, err := s.p.ledger().Entries(); err != nil || len(entries) != 0 {
		t.Errorf("left in the ledger: %+v, %v", entries, err)
	}
	have := s.records(run)
	if all := measured(t, have); len(all) != 4 || len(have.Warnings) != 0 {
		t.Errorf("%d records, warnings %q", len(all), have.Warnings)
	}
	var deadline time.Time
	claims := 0
	for _, e := range have.Events {
		switch {
		case e.Kind == record.EventClaim:
			deadline, claims = e.Deadline, claims+1
		case e.Kind == record.EventTrialEnded && e.Time.After(deadline):
			t.Errorf("%s ended at %v, the claim at %v", e.Record.Trial, e.Time, deadline)
		case e.Kind == record.EventReservation && e.State == "released" && e.Time.After(deadline.Add(lateRelease)):
			t.Errorf("released at %v, the claim ended at %v", e.Time, deadline)
		}
	}
	if claims != 3 {
		t.Errorf("%d claims, want 3", claims)
	}

	s.write("experiments.toml", in("00:00:01", "1s", ""))
	s.esched("run").wants(t, 2, nil, []string{"claim of 1s is too short for any open trial", "Try: set claim_time to at least"})
}
