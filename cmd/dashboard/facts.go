package dashboard

import (
	"fmt"
	"strings"
	"time"

	"github.com/esched/esched/runners/record"
)

// Facts say how a run stands, for programs and, by [Facts.Lines], for people.
type Facts struct {
	// Planned counts the trials that are measured, Trials those that are
	// recorded, by what became of them. Failures are the ones that are not ok.
	Planned  int                   `json:"planned"`
	Trials   map[record.Status]int `json:"trials"`
	Failures []FailureFacts        `json:"failures"`
	// Phase is what goes on: "environment", "waiting", "granted", "deploying",
	// "ready", "trial", "between", "undeploying", "released", "ended", or "" before
	// anything did. It and what follows, but for Last, are empty for a run that
	// does not go on.
	Phase       string            `json:"phase"`
	Reservation *ReservationFacts `json:"reservation,omitempty"`
	Nodes       []NodeFacts       `json:"nodes"`
	// Current is the trial that runs, since CurrentStarted, and Progress how far
	// it is; nil as long as Dask's scheduler told nothing.
	Current        *record.Trial    `json:"current,omitempty"`
	CurrentStarted time.Time        `json:"current_started,omitzero"`
	Progress       *record.Progress `json:"progress,omitempty"`
	// EstimatedEnd is when the last trial will have ended, by what the trials so
	// far took; zero as long as there is nothing to estimate from.
	EstimatedEnd time.Time `json:"estimated_end,omitzero"`
	// Last is the last event.
	Last *record.Event `json:"last,omitempty"`
	// Error is why the run ended before its plan did, Hint what mends that.
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// FailureFacts say which trial is not ok, and why.
type FailureFacts struct {
	Trial  string        `json:"trial"`
	What   string        `json:"what"`
	Status record.Status `json:"status"`
	Error  string        `json:"error"`
}

// ReservationFacts say how the nodes of a run stand. Start is an estimate as
// long as they are not there; Deadline is when they are taken back.
type ReservationFacts struct {
	ID       string    `json:"id,omitempty"`
	State    string    `json:"state"`
	Evidence string    `json:"evidence,omitempty"`
	Start    time.Time `json:"start,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
	// Claim counts the claims of the run from 1, Claims is how many it may make.
	Claim  int `json:"claim,omitempty"`
	Claims int `json:"claims,omitempty"`
}

// FactsOf says how a run stands at the given time by what is on disk.
// Progress is that of the run, or nil; goesOn tells that an esched writes to it.
func FactsOf(run *record.Run, progress *record.Progress, goesOn bool, now time.Time) Facts {
	f := Facts{Nodes: []NodeFacts{}}
	if goesOn {
		m := NewModel(Options{Manifest: &run.Manifest})
		for _, e := range run.Events {
			m.Apply(e)
		}
		m.takeRecord(run.Records)
		m.takeProgress(progress)
		f = m.facts(now)
	}
	// Records count, and not the events that tell of them: only they are synced.
	f.Trials, f.Failures = map[record.Status]int{}, []FailureFacts{}
	for _, p := range run.Manifest.Plan {
		if !p.Warmup {
			f.Planned++
		}
	}
	for _, r := range run.Records {
		if r.Warmup {
			continue
		}
		f.Trials[r.Status]++
		if r.Status != record.StatusOK {
			f.Failures = append(f.Failures, FailureFacts{r.ID, r.Trial.String(), r.Status, r.Error})
		}
	}
	if n := len(run.Events); n > 0 {
		f.Last = &run.Events[n-1]
		f.Error, f.Hint = f.Last.Error, f.Last.Hint
	}
	return f
}

// takeRecord ends the trial that runs if its record is there. A record is
// written, and synced, before the event that tells of it; who reads in between
// would find a trial that is recorded and goes on.
func (m *Model) takeRecord(records []record.Record) {
	for i := range records {
		r := &records[i]
		// Sooner begun are the warm-ups of other deployments, which are the same
		// trial, and the records of earlier sessions.
		if t := m.trial; t != nil && r.ID == t.ID && !r.Started.Before(m.since) {
			ended := r.Started.Add(time.Duration(r.RunS * float64(time.Second)))
			m.Apply(record.Event{Kind: record.EventTrialEnded, Time: ended, Record: r})
			return
		}
	}
}

// facts returns what the model knows at the given time.
func (m *Model) facts(now time.Time) Facts {
	phases := map[phase]string{
		phaseEnvironment: "environment", phaseWaiting: "waiting", phaseGranted: "granted", phaseDeploying: "deploying",
		phaseReady: "ready", phaseTrial: "trial", phaseBetween: "between", phaseUndeploying: "undeploying",
		phaseReleased: "released", phaseEnded: "ended",
	}
	f := Facts{Phase: phases[m.phase], Nodes: m.ladder.facts(), Current: m.trial, Progress: m.progress}
	if c := m.claimed; c.state != "" {
		f.Reservation = &ReservationFacts{c.id, c.state, c.evidence, c.start, c.deadline, c.number, c.of}
	}
	var ran time.Duration
	if m.trial != nil {
		f.CurrentStarted = m.since
		ran = now.Sub(m.since)
	}
	if left, ok := m.schedule.remaining(m.trial, ran); ok && !m.over {
		f.EstimatedEnd = now.Add(left)
	}
	return f
}

// Recorded counts the trials that have a record.
func (f Facts) Recorded() int {
	n := 0
	for _, of := range f.Trials {
		n += of
	}
	return n
}

// Lines say the facts to people, in the time zone of the terminal: what went
// wrong, when nodes come and go, and the trial that runs.
func (f Facts) Lines(zone *time.Location) []string {
	var lines []string
	if f.Error != "" {
		lines = append(lines, "error: "+clean(f.Error))
	}
	if f.Hint != "" {
		lines = append(lines, "Try: "+clean(f.Hint))
	}
	for _, x := range f.Failures {
		lines = append(lines, fmt.Sprintf("%-8s %s: %s", x.Status, x.What, x.Error))
	}
	var clocks []string
	at := func(what string, t time.Time) {
		if !t.IsZero() {
			clocks = append(clocks, what+" "+t.In(zone).Format(time.DateTime))
		}
	}
	if r := f.Reservation; r != nil {
		clocks = append(clocks, joinWords("reservation", r.ID, r.State))
		at("start", r.Start)
		at("deadline", r.Deadline)
	}
	at("estimated end", f.EstimatedEnd)
	if len(clocks) > 0 {
		lines = append(lines, strings.Join(clocks, ", "))
	}
	if f.Current != nil {
		lines = append(lines, fmt.Sprintf("now: %s, since %s", f.Current, f.CurrentStarted.In(zone).Format(time.TimeOnly)))
	}
	if f.Progress != nil {
		lines = append(lines, "     "+strings.Join(progressWords(f.Progress), ", "))
	}
	return lines
}
