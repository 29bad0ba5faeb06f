package cmd

import (
	"fmt"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/runners/record"
)

func TestRates(t *testing.T) {
	t.Parallel()
	type counts struct {
		mark                int
		seconds             float64
		finished, decisions int
		blocked             float64
	}
	for _, c := range []struct {
		name    string
		counts  []counts
		want    string // of the last; "" for no news
		nothing bool   // there is no sidekick
	}{
		{"of the trial before", []counts{{mark: 1, seconds: 90, finished: 50}}, "", true},
		{"the first is since the mark", []counts{{2, 0.5, 100, 110, 0.05}}, "100 done, 200/s, 110 decisions, 220/s, blocked 0.10", false},
		{"over the last seconds", []counts{{2, 0.5, 0, 0, 0}, {2, 1.5, 100, 10, 0}, {2, 2.5, 200, 20, 0}, {2, 4.5, 600, 80, 1.5}, {2, 5.5, 800, 120, 2}},
			"800 done, 200/s, 120 decisions, 33/s, blocked 0.67", false},
		{"after a long silence", []counts{{2, 1, 100, 0, 0}, {2, 21, 500, 0, 0}}, "500 done, 20/s", true},
		{"counts that begin anew", []counts{{2, 1, 100, 100, 1}, {2, 5, 300, 0, 0}}, "300 done, 50/s, 0 decisions, 0/s, blocked 0.00", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &rates{trial: "abc", mark: 2}
			var have string
			for _, x := range c.counts {
				p := deploy.Progress{Mark: x.mark, Seconds: x.seconds, Finished: x.finished}
				if !c.nothing {
					p.Decisions = &deploy.ProgressDecisions{Decisions: x.decisions, BlockedSeconds: x.blocked}
				}
				have = words(r.add(time.Now(), p))
			}
			if have != c.want {
				t.Errorf("want %q, have %q", c.want, have)
			}
			if len(r.recent) > 6 {
				t.Errorf("%d counts are kept", len(r.recent))
			}
		})
	}
}

func words(p *record.Progress) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%d done, %.0f/s", p.Done, p.TasksPerS)
	if d := p.Sidekick; d != nil {
		text += fmt.Sprintf(", %d decisions, %.0f/s, blocked %.2f", d.Decisions, d.PerS, d.BlockedShare)
	}
	return text
}
