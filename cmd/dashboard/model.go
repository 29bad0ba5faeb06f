package dashboard

import (
	"time"

	"github.com/esched/esched/internal/term"
	"github.com/esched/esched/runners/record"
)

// Options say what is shown and how. The zero value is usable.
type Options struct {
	// Manifest is the run's: its plan names the series before they have
	// results, and gives the remaining time. Recommended.
	Manifest *record.Manifest
	// Records are those that an earlier session of the run left (--resume).
	Records []record.Record
	// NoColor leaves out colour and every other attribute of text, ASCII every
	// character beyond ASCII.
	NoColor, ASCII bool
	// Background is the terminal's, when known.
	Background term.Shade
	// Width and Height are the size of the screen until the terminal tells its
	// own; 80 by 24 when zero.
	Width, Height int
	// Now is the clock, time.Now when nil. It must be safe for concurrent use.
	Now func() time.Time
	// Watching tells that the events are read from elsewhere: their end need
	// not be that of the run.
	Watching bool
	// Logs are the logs of the run's processes, nil when they cannot be shown.
	Logs Logs
	// Location is the time zone of the times shown, time.Local when nil.
	Location *time.Location
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Width <= 0 {
		o.Width = 80
	}
	if o.Height <= 0 {
		o.Height = 24
	}
	if o.Manifest == nil {
		o.Manifest = &record.Manifest{}
	}
	return o
}

// Control is what the keys of the dashboard do to the run. The functions must
// not block. A dashboard without any only watches: q and ctrl+c close it.
type Control struct {
	// StopAfterTrial ends the run in good order after the trial that runs.
	StopAfterTrial func()
	// Cancel ends the run now. It is called again at the second press, which
	// means: do not wait for what is being stopped.
	Cancel func()
	// Extend asks the queue for more time. Optional.
	Extend func()
	// Orders are what can be asked of a run that is watched only; nil for
	// nothing.
	Orders *Orders
}

func (c Control) watching() bool { return c.StopAfterTrial == nil && c.Cancel == nil }

// phase is what a run does at a moment.
type phase int

const (
	phaseIdle phase = iota
	phaseEnvironment
	phaseWaiting // for nodes
	phaseGranted
	phaseDeploying
	phaseReady
	phaseTrial
	phaseBetween // trials
	phaseUndeploying
	phaseReleased
	phaseEnded
)

// Model is what is known about a run: a fold over its events. It has no
// clock and no output, and is not safe for concurrent use.
type Model struct {
	opts Options

	name, run string // the experiment, the run's directory
	started   time.Time
	ended     time.Time
	lastEvent time.Time

	phase    phase
	since    time.Time // when phase began
	evidence string    // what phase is known by
	trial    *record.Trial
	progress *record.Progress // of trial; nil as long as nothing is known
	last     *record.Record   // the trial that ended last
	stopping string           // why the run ends early, "" if it does not
	stopKind string           // how: a state of record.EventStopping

	counts   map[record.Status]int // of measured trials
	schedule schedule
	results  results
	fleet    fleet
	ladder   ladder
	claimed  claimed
	final    map[string]record.Status // of measured trials, by id
	log      []line
	problems []problem

	report   string
	summary  string
	failure  string // why the run ended before its plan did, "" if it did not
	exitCode int
	over     bool // run-ended was seen
}

// maxLog bounds the events kept for the screen; events.jsonl has them all.
const maxLog = 2000

// NewModel returns the model of a run that had no event yet.
func NewModel(opts Options) *Model {
	opts = opts.withDefaults()
	m := &Model{
		opts:   opts,
		name:   clean(opts.Manifest.Name),
		run:    clean(opts.Manifest.ID),
		counts: map[record.Status]int{},
		final:  map[string]record.Status{},
	}
	m.schedule = newSchedule(opts.Manifest.Plan)
	m.results = newResults(opts.Manifest.Plan)
	for i := range opts.Records {
		m.count(&opts.Records[i])
	}
	m.schedule.newSession()
	return m
}

// count adds the record of a trial to everything that is counted.
func (m *Model) count(r *record.Record) {
	m.schedule.end(r)
	if r.Warmup {
		return
	}
	if before, again := m.final[r.ID]; again {
		m.counts[before]--
	}
	m.final[r.ID] = r.Status
	m.counts[r.Status]++
	m.results.add(r)
}

// Apply takes the next event of the run.
func (m *Model) Apply(e record.Event) { m.apply(e) }

// apply takes an event and returns the line that tells of it, if any does.
func (m *Model) apply(e record.Event) (l line, told bool) {
	if e.Kind == record.EventProgress {
		m.takeProgress(e.Progress)
		return line{}, false
	}
	e.Message, e.Error, e.Hint = clean(e.Message), clean(e.Error), clean(e.Hint)
	if m.started.IsZero() {
		m.started = e.Time
	}
	m.lastEvent = e.Time
	l = m.fold(e)
	l.at = e.Time
	m.log = append(m.log, l)
	if len(m.log) > maxLog {
		m.log = append(m.log[:0], m.log[len(m.log)-maxLog:]...)
	}
	return l, true
}

// takeProgress notes how far the trial is that runs. What comes late, of
// another one or of an earlier attempt, is no news.
func (m *Model) takeProgress(p *record.Progress) {
	if p != nil && m.trial != nil && p.Trial == m.trial.ID && !p.Time.Before(m.since) {
		m.progress = p
	}
}

// fold changes the model by an event and describes it.
func (m *Model) fold(e record.Event) line {
	switch e.Kind {
	case record.EventRunStarted:
		m.run = e.Message
		m.schedule.grow(e.Total)
		return line{info, "run started", joined(plural(m.schedule.total, "trial"), m.run), e.Time, ""}
	case record.EventRunResumed:
		m.restart(e)
		return line{info, "run resumed", e.Message, e.Time, ""}
	case record.EventEnvironment:
		m.enter(phaseEnvironment, e)
		return line{info, "environment", e.Message, e.Time, ""}
	case record.EventReservation:
		return m.reservation(e)
	case record.EventClaim:
		return m.claimEvent(e)
	case record.EventPostponed:
		return m.postponed(e)
	case record.EventDeployment:
		return m.deployment(e)
	case record.EventNode:
		return m.node(e)
	case record.EventTrialStarted, record.EventTrialRetry, record.EventTrialEnded:
		return m.trialEvent(e)
	case record.EventRepetition:
		m.add(e.Added)
		return line{info, "repetitions", e.Message, e.Time, ""}
	case record.EventWarning:
		m.note(warn, e.Message, e)
		return line{warn, "warning", e.Message, e.Time, ""}
	case record.EventStopping:
		m.stopping, m.stopKind = orElse(e.Message, "asked to stop"), e.State
		return line{warn, "stopping", e.Message, e.Time, ""}
	case record.EventReport:
		m.report = e.Message
		return line{info, "report", e.Message, e.Time, ""}
	case record.EventRunEnded:
		m.enter(phaseEnded, e)
		m.over, m.ended, m.trial, m.progress = true, e.Time, nil, nil
		m.summary, m.exitCode, m.failure = e.Message, e.ExitCode, e.Error
		if e.Error != "" && m.opts.Watching { // the run's own command prints it, with the mend
			m.note(bad, e.Error+tryWords(e.Hint), e)
		}
		lv := good
		if e.ExitCode != 0 {
			lv = bad
		}
		return line{lv, "run ended", e.Message + reason(e.Error), e.Time, ""}
	}
	return line{info, clean(string(e.Kind)), e.Message, e.Time, ""}
}

// add takes trials by which the plan grew.
func (m *Model) add(planned []record.Planned) {
	for _, p := range m.schedule.add(planned) {
		m.results.row(p.Trial).planned++
	}
}

// enter notes the phase of the run; its beginning stays when it only got new
// evidence.
func (m *Model) enter(p phase, e record.Event) {
	if m.phase != p || m.since.IsZero() {
		m.phase, m.since = p, e.Time
	}
	m.evidence = e.Message
}

func (m *Model) reservation(e record.Event) line {
	l := line{info, "reservation " + clean(e.State), e.Message, e.Time, ""}
	m.claimed.reservation(e)
	switch e.State {
	case "waiting", "requested", "pending":
		m.enter(phaseWaiting, e)
		m.evidence = joined(clean(e.State), e.Message)
	case "running":
		m.enter(phaseGranted, e)
	case "released":
		m.enter(phaseReleased, e)
		m.fleet.reset()
		m.ladder = ladder{}
	default: // failed, gone
		m.note(bad, l.what+": "+e.Message, e)
		l.level = bad
	}
	return l
}

func (m *Model) deployment(e record.Event) line {
	l := line{routine, "deployment " + clean(e.State), e.Message, e.Time, ""}
	switch e.State {
	case "starting":
		m.enter(phaseDeploying, e)
		m.fleet.reset()
	case "ready":
		m.enter(phaseReady, e)
	case "stopping":
		m.enter(phaseUndeploying, e)
	case "stopped":
		m.enter(phaseBetween, e)
		m.fleet.reset()
	case "failed":
		m.enter(phaseBetween, e)
		m.note(bad, "deployment failed: "+e.Message, e)
		l.level = bad
	}
	return l
}

func (m *Model) node(e record.Event) line {
	node, state := clean(e.Node), clean(e.State)
	m.fleet.set(node, state)
	m.takeNode(e)
	l := line{routine, joinWords("node", node, state), e.Message, e.Time, ""}
	if state == "lost" || state == "failed" {
		l.level = bad
		m.note(bad, joinWords(node, state)+reason(e.Message), e)
	}
	return l
}

// trialEvent takes the start, the repeated attempt and the end of a trial.
func (m *Model) trialEvent(e record.Event) line {
	t := e.Trial
	if e.Record != nil {
		t = &e.Record.Trial
	}
	if t == nil { // an event of a newer version; nothing can be told from it
		return line{info, clean(string(e.Kind)), e.Message, e.Time, ""}
	}
	switch e.Kind {
	case record.EventTrialStarted:
		m.phase, m.since, m.evidence, m.trial, m.progress = phaseTrial, e.Time, "", t, nil
		m.schedule.start(*t)
		return line{routine, m.ordinal(*t, m.schedule.done+1) + " starts", trialWords(*t), e.Time, ""}
	case record.EventTrialRetry:
		m.progress = nil
		m.note(warn, joined(trialNoun(*t)+" tried again"+reason(e.Message), where(*t)), e)
		return line{warn, m.ordinal(*t, m.schedule.done+1) + " tried again", trialWords(*t) + reason(e.Message), e.Time, ""}
	}
	if e.Record == nil {
		return line{info, clean(string(e.Kind)), trialWords(*t), e.Time, ""}
	}
	return m.trialEnded(e)
}

func (m *Model) trialEnded(e record.Event) line {
	r := e.Record
	m.enter(phaseBetween, e)
	m.trial, m.progress, m.last = nil, nil, r
	m.count(r)
	l := line{good, m.ordinal(r.Trial, m.schedule.done) + " " + clean(string(r.Status)), trialWords(r.Trial), e.Time, ""}
	if r.Warmup {
		l.level = routine
	}
	if r.Status == record.StatusOK {
		l.short = l.what + "  " + padLeft(seconds(r.MakespanS), 7) + "  " + l.text
		l.text += "  " + seconds(r.MakespanS)
		return l
	}
	l.level = bad
	if r.Status == record.StatusSkipped {
		l.level = warn
	}
	why := clean(r.Error)
	l.short = l.what + reason(why) + "  " + l.text
	l.text += reason(why)
	m.note(l.level, joined(trialNoun(r.Trial)+" "+clean(string(r.Status))+reason(why), where(r.Trial)), e)
	return l
}

// ordinal names a trial by its place: "trial 37/90", "warm-up".
func (m *Model) ordinal(t record.Trial, n int) string {
	if t.Warmup {
		return "warm-up"
	}
	total := count(m.schedule.total)
	return "trial " + padLeft(count(min(n, m.schedule.total)), len(total)) + "/" + total
}

// elapsed is the time since the run started, up to its end.
func (m *Model) elapsed(now time.Time) time.Duration {
	if m.started.IsZero() {
		return 0
	}
	if m.over {
		now = m.ended
	}
	return max(0, now.Sub(m.started))
}
