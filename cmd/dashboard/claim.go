package dashboard

import (
	"fmt"
	"time"

	"github.com/esched/esched/runners/record"
)

// claimed is what is known about the nodes of the run: which reservation, in
// which state, from when until when.
type claimed struct {
	id, state, evidence string
	start, deadline     time.Time
	number, of          int
}

func (c *claimed) reservation(e record.Event) {
	switch e.State {
	case "waiting", "requested":
		*c = claimed{number: c.number, of: c.of}
	case "released", "gone", "failed":
		c.start, c.deadline = time.Time{}, time.Time{}
	}
	c.state, c.evidence = clean(e.State), e.Message
	if e.Reservation != "" {
		c.id = clean(e.Reservation)
	}
	if !e.Start.IsZero() {
		c.start = e.Start
	}
	if !e.Deadline.IsZero() {
		c.deadline = e.Deadline
	}
}

// claim takes what the runner tells of its claims.
func (m *Model) claimEvent(e record.Event) line {
	c := &m.claimed
	c.number, c.of = e.Order, e.Total
	if !e.Deadline.IsZero() {
		c.deadline = e.Deadline
	}
	what := "claim"
	if c.of > 1 {
		what = fmt.Sprintf("claim %d of up to %d", c.number, c.of)
	}
	return line{info, joinWords(what, clean(e.State)), e.Message, e.Time, ""}
}

// postponed tells of a trial, or some, that must wait for the next claim.
func (m *Model) postponed(e record.Event) line {
	if e.Trial == nil {
		return line{info, "postponed", e.Message, e.Time, ""}
	}
	return line{info, fmt.Sprintf("trial %d postponed", e.Order), joined(trialWords(*e.Trial), e.Message), e.Time, ""}
}

// countdown tells how long it is until the nodes are there, or until they are
// taken back. It is empty when nobody knows.
func (s *screen) countdown(now time.Time) string {
	c := s.claimed
	switch {
	case s.over:
		return ""
	case c.state == "pending" || c.state == "requested" || c.state == "waiting":
		if c.start.IsZero() {
			return ""
		}
		return "nodes in about " + clock(max(0, c.start.Sub(now)))
	case c.deadline.IsZero():
		return ""
	}
	text := "claim ends in "
	if c.of > 1 && s.width >= 64 {
		text = fmt.Sprintf("claim %d/%d ends in ", c.number, c.of)
	}
	left := max(0, c.deadline.Sub(now))
	if left >= time.Hour && s.width < 48 {
		text = "ends in "
	}
	if left < time.Minute {
		return s.palette.paint(caution, text+clock(left))
	}
	return text + clock(left)
}

// restart forgets what belongs to the session before: the run goes on from
// what it recorded.
func (m *Model) restart(e record.Event) {
	m.started, m.ended, m.over = e.Time, time.Time{}, false
	m.phase, m.since, m.evidence = phaseIdle, e.Time, ""
	m.trial, m.progress, m.last, m.exitCode = nil, nil, nil, 0
	m.stopping, m.stopKind, m.report, m.summary, m.failure = "", "", "", "", ""
	m.claimed, m.ladder = claimed{}, ladder{}
	m.fleet.reset()
	for id, status := range m.final {
		if status == record.StatusOK {
			continue
		}
		delete(m.final, id)
		m.counts[status]--
		if m.schedule.seen[id] {
			delete(m.schedule.seen, id)
			m.schedule.done--
		}
	}
	for _, c := range m.results.cells {
		for _, r := range c.rows {
			clear(r.failed)
		}
	}
	m.schedule.newSession()
	m.schedule.resume(e.Done)
}
