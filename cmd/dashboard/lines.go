package dashboard

import (
	"time"

	"github.com/esched/esched/runners/record"
)

// level is how much a line matters to somebody who glances at the screen.
type level int

const (
	routine level = iota // shown only where everything is
	info
	good
	warn
	bad
)

// line tells of one event.
type line struct {
	level level
	what  string // "trial 37/90 ok"
	text  string
	at    time.Time
	// short is the line for a narrow place, with what counts first; "" if it is
	// the same.
	short string
}

// words is the line without its time.
func (l line) words() string {
	if l.text == "" {
		return l.what
	}
	return l.what + "  " + l.text
}

// problem is something that went wrong. It stays visible; when the same goes
// wrong again it counts instead of pushing others away.
type problem struct {
	level level
	text  string
	times int
	at    time.Time // of the last time
}

// maxProblems bounds the different problems that are kept. The first ones
// are kept too: what goes wrong first is often the reason for the rest.
const maxProblems = 200

func (m *Model) note(lv level, text string, e record.Event) {
	for i := range m.problems {
		if p := &m.problems[i]; p.text == text && p.level == lv {
			p.times++
			p.at = e.Time
			return
		}
	}
	if len(m.problems) == maxProblems {
		half := maxProblems / 2
		m.problems = append(m.problems[:half], m.problems[half+1:]...)
	}
	m.problems = append(m.problems, problem{lv, text, 1, e.Time})
}

// trialWords names a trial in a line: what, how, with how many, which time.
func trialWords(t record.Trial) string {
	words := clean(t.Workload) + " " + grouped(clean(t.Size)) + "  " + clean(t.Series()) + "  " + count(t.Workers) + "w"
	if t.Warmup { // the line begins with that
		return words
	}
	return words + " rep" + count(t.Repetition)
}

// where names what repetitions of a trial share.
func where(t record.Trial) string {
	return clean(t.Workload) + " " + grouped(clean(t.Size)) + " " + clean(t.Series()) + " " + count(t.Workers) + "w"
}

func trialNoun(t record.Trial) string {
	if t.Warmup {
		return "warm-up"
	}
	return "trial"
}

func reason(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// tryWords follow an error with what mends it, if that is known.
func tryWords(mend string) string {
	if mend == "" {
		return ""
	}
	return ". Try: " + mend
}
