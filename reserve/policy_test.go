package reserve_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for the location, wherever tests run

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

func TestTimePolicy(t *testing.T) {
	t.Parallel()
	amsterdam, err := time.LoadLocation("Europe/Amsterdam")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", text, amsterdam)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	das := reserve.DASPolicy()
	night := reserve.TimePolicy{MaxClaim: time.Hour, From: 22 * time.Hour, To: 6 * time.Hour, Days: []time.Weekday{time.Sunday}}
	always := reserve.TimePolicy{MaxClaim: time.Hour, Days: []time.Weekday{0, 1, 2, 3, 4, 5, 6}}
	// 2026-11-23 is a Monday. The clock goes forward on 2026-03-29 at 02:00 and
	// back on 2026-10-25 at 03:00, both Sundays.
	for _, c := range []struct {
		name   string
		policy reserve.TimePolicy
		now    string
		claim  time.Duration
		next   string // "": never; equal to now: allowed
	}{
		{"no policy", reserve.TimePolicy{}, "2026-11-23 10:00", 100 * time.Hour, "2026-11-23 10:00"},
		{"short by day", das, "2026-11-23 10:00", 15 * time.Minute, "2026-11-23 10:00"},
		{"long by day", das, "2026-11-23 10:00", 16 * time.Minute, "2026-11-23 20:00"},
		{"begins as hours end", das, "2026-11-23 20:00", 12 * time.Hour, "2026-11-23 20:00"},
		{"night is too short", das, "2026-11-23 20:00", 12*time.Hour + time.Minute, "2026-11-27 20:00"},
		{"ends as hours begin", das, "2026-11-24 07:00", time.Hour, "2026-11-24 07:00"},
		{"runs into hours", das, "2026-11-24 07:30", time.Hour, "2026-11-24 20:00"},
		{"over midnight", das, "2026-11-23 23:30", 2 * time.Hour, "2026-11-23 23:30"},
		{"weekend", das, "2026-11-28 10:00", 40 * time.Hour, "2026-11-28 10:00"},
		{"whole weekend", das, "2026-11-23 10:00", 60 * time.Hour, "2026-11-27 20:00"},
		{"longer than a weekend", das, "2026-11-23 10:00", 61 * time.Hour, ""},
		{"weekend of 59 hours", das, "2026-03-27 20:00", 60 * time.Hour, "2026-04-03 20:00"},
		{"weekend of 61 hours", das, "2026-10-23 20:00", 61 * time.Hour, "2026-10-23 20:00"},
		{"hours over midnight, before", night, "2026-11-22 20:00", 2 * time.Hour, "2026-11-22 20:00"},
		{"hours over midnight, evening", night, "2026-11-22 23:00", 2 * time.Hour, "2026-11-23 06:00"},
		{"hours over midnight, morning", night, "2026-11-23 05:00", 2 * time.Hour, "2026-11-23 06:00"},
		{"hours over midnight, another day", night, "2026-11-24 05:00", 2 * time.Hour, "2026-11-24 05:00"},
		{"always working hours", always, "2026-11-24 05:00", 2 * time.Hour, ""},
		{"always working hours, short", always, "2026-11-24 05:00", time.Hour, "2026-11-24 05:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			now := at(c.now)
			var want time.Time
			if c.next != "" {
				want = at(c.next)
			}
			if have := c.policy.NextStart(now, c.claim); !have.Equal(want) {
				t.Errorf("next start: want %v, have %v", want, have)
			}
			err := c.policy.Check(now, c.claim)
			if allowed := c.next == c.now; allowed != (err == nil) {
				t.Errorf("check: want allowed %t, have %v", allowed, err)
			}
			if err != nil && (hint.Exit(err) != hint.ExitUsage || hint.Of(err) == "" || !errors.Is(err, reserve.ErrTimePolicy)) {
				t.Errorf("want a usage error with a hint, have %v", err)
			}
		})
	}
}

func TestTimePolicyArithmetic(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 7, 30, 0, 0, time.UTC)
	p := reserve.DASPolicy()
	err := p.Check(now, time.Hour)
	for _, want := range []string{"1h0m0s from Tue 07:30 to Tue 08:30", "Tue 08:00 to Tue 20:00", "up to 15m0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
	if want, have := "set claim_time to 00:30:00 or less, or start at Tue 2026-11-24 20:00", hint.Of(err); have != want {
		t.Errorf("hint: want %q, have %q", want, have)
	}
	if want, have := now.Add(30*time.Minute), p.Latest(now, 20*time.Minute); !have.Equal(want) {
		t.Errorf("latest end: want %v, have %v", want, have)
	}
	if have := p.Latest(now, 15*time.Minute); !have.IsZero() {
		t.Errorf("latest end of a short claim: want none, have %v", have)
	}
}
