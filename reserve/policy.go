package reserve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

// TimePolicy is a site's rule that long claims may not touch its working
// hours. The zero TimePolicy allows everything. Times of day are those of the
// location of the instant that is asked about.
type TimePolicy struct {
	// MaxClaim is the longest claim that may touch working hours; 0 for no bound.
	MaxClaim time.Duration
	// From and To are the working hours, as time of day since midnight. To may
	// be the smaller one: the hours then end on the next day. When they are
	// equal working hours are all day.
	From, To time.Duration
	// Days are the days on which working hours begin; nil for Monday to Friday.
	Days []time.Weekday
}

// DASPolicy is the rule of the DAS clusters: 15 minutes at most on working
// days from 08:00 to 20:00.
func DASPolicy() TimePolicy {
	return TimePolicy{MaxClaim: 15 * time.Minute, From: 8 * time.Hour, To: 20 * time.Hour}
}

// ErrTimePolicy is wrapped by refusals of a [TimePolicy].
var ErrTimePolicy = errors.New("site's time policy")

// horizonDays is how far ahead working hours are looked at: every weekly
// pattern is complete, and the week after the claim of a week as well.
const horizonDays = 16

// Check refuses a claim that begins now and touches working hours for which it
// is too long, with the arithmetic and when it would be allowed.
func (p TimePolicy) Check(now time.Time, claim time.Duration) error {
	begin, end, touched := p.touched(now, claim)
	if !touched {
		return nil
	}
	const layout = "Mon 15:04"
	err := fmt.Errorf("%w: a claim of %v from %s to %s touches working hours (%s to %s), where up to %v is allowed",
		ErrTimePolicy, claim, now.Format(layout), now.Add(claim).Format(layout), begin.Format(layout), end.Format(layout), p.MaxClaim)
	mends := []string{fmt.Sprintf("set claim_time to %s or less", clock(max(p.MaxClaim, begin.Sub(now).Truncate(time.Minute))))}
	if next := p.NextStart(now, claim); !next.IsZero() {
		mends = append(mends, "start at "+next.Format("Mon 2006-01-02 15:04"))
	}
	return hint.Usage(err, strings.Join(mends, ", or "))
}

// clock writes a duration as experiment files do.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// NextStart is the earliest time, not before now, at which such a claim may
// begin. It is zero when there is none.
func (p TimePolicy) NextStart(now time.Time, claim time.Duration) time.Time {
	for at := now; at.Sub(now) < horizonDays*24*time.Hour; {
		_, end, touched := p.touched(at, claim)
		if !touched {
			return at
		}
		at = end
	}
	return time.Time{}
}

// Latest is when a claim that begins at that time or later must have ended: the
// next working hours that it may not touch. It is zero when there is no such
// bound.
func (p TimePolicy) Latest(begin time.Time, claim time.Duration) time.Time {
	from, _, touched := p.touched(begin, max(claim, horizonDays*24*time.Hour))
	if p.free(claim) || !touched {
		return time.Time{}
	}
	return from
}

// free tells whether such a claim may touch working hours.
func (p TimePolicy) free(claim time.Duration) bool { return p.MaxClaim <= 0 || claim <= p.MaxClaim }

// touched returns the first working hours that a claim touches and is too
// long for. Days are counted by the calendar, so that nights with a change of
// the clock have their true length.
func (p TimePolicy) touched(at time.Time, claim time.Duration) (begin, end time.Time, touched bool) {
	if p.free(claim) {
		return begin, end, false
	}
	until := at.Add(claim)
	year, month, day := at.Date()
	for d := -1; ; d++ {
		midnight := time.Date(year, month, day+d, 0, 0, 0, 0, at.Location())
		if midnight.After(until) || d > horizonDays {
			return begin, end, false
		}
		if !p.works(time.Date(year, month, day+d, 12, 0, 0, 0, at.Location()).Weekday()) {
			continue
		}
		begin, end = onDay(at, d, p.From), onDay(at, d, p.To)
		if p.To <= p.From {
			end = onDay(at, d+1, p.To)
		}
		if begin.Before(until) && at.Before(end) {
			return begin, end, true
		}
	}
}

func (p TimePolicy) works(d time.Weekday) bool {
	if p.Days == nil {
		return d != time.Saturday && d != time.Sunday
	}
	return slices.Contains(p.Days, d)
}

// onDay is a time of day, so many days after that of an instant.
func onDay(at time.Time, days int, timeOfDay time.Duration) time.Time {
	year, month, day := at.Date()
	return time.Date(year, month, day+days, 0, 0, int(timeOfDay/time.Second), 0, at.Location())
}
