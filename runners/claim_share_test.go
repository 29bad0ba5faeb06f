package runners

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/esched/esched/runners/record"
)

// warmed gives each block of a plan a warm-up.
func warmed(p *Plan, seconds int) *Plan {
	for i := range p.Blocks {
		b := &p.Blocks[i]
		w := sized(b.Scheduler.Name, b.Repetition, seconds)
		w.Warmup = true
		w.ID = w.Identity()
		b.Warmups = append(b.Warmups, w)
	}
	return p
}

// TestShareOfAClaimInTrials measures what the README promises: of the claimed
// node-seconds of a plan for 15 minutes, at least 90 % are spent inside measured
// trials, in one claim or in several. Contact, deployments, warm-ups, teardown
// and release are what the others go to, with longer times than on a cluster of
// four nodes.
func TestShareOfAClaimInTrials(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		plan   *Plan
		claims int
	}{
		{"fits", warmed(sizes(2, []string{"dask", "sidekick"}, 30, 60, 20, 45, 40), 2), 1},
		{"three claims", warmed(sizes(5, []string{"dask", "sidekick"}, 30, 60, 20, 45, 75), 2), 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &clocked{world: world{t: t, claim: 15 * time.Minute}, contactS: 4, deployS: 8, releaseS: 2, actual: exactly}
				outcome, err := claimsRunner(c, test.plan, test.claims).Run(t.Context())
				if err != nil || outcome.OK != test.plan.Trials() {
					t.Fatalf("have %+v, %v", outcome, err)
				}
				c.checkEnds(t)
				var claimed, inside, warming float64
				for _, s := range c.claims {
					claimed += s.to.Sub(s.from).Seconds()
				}
				for _, r := range c.records {
					switch {
					case r.Warmup:
						warming += r.RunS
					case r.Status == record.StatusOK:
						inside += r.RunS
					}
				}
				if warming == 0 {
					t.Error("no warm-up was recorded")
				}
				share := inside / claimed
				t.Logf("%.1f %% of %.0f node-seconds in %d claims were inside trials, %.1f %% inside warm-ups", 100*share, claimed, len(c.claims), 100*warming/claimed)
				if share < 0.9 {
					t.Errorf("share: want at least 0.9, have %.3f", share)
				}
			})
		})
	}
}
