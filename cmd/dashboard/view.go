package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/runners/record"
)

// The smallest screen that shows the regions, and the width from which on
// they stand in two columns.
const (
	minWidth, minHeight = 40, 12
	twoColumns          = 140
)

// render draws the screen: height lines of at most width cells, at the given
// time.
func (s *screen) render(now time.Time) string {
	if s.over {
		now = s.ended
	}
	var lines []string
	switch {
	case s.width < minWidth || s.height < minHeight:
		lines = s.tiny(now)
	case s.page == pageHelp:
		lines = s.helpPage()
	case s.page == pageEvents:
		lines = s.eventsPage()
	case s.page == pageNodes:
		lines = s.nodesPage()
	case s.page == pageLogs:
		lines = s.logsPage()
	default:
		lines = s.runPage(now)
	}
	for len(lines) < s.height {
		lines = append(lines, "")
	}
	lines = lines[:max(0, s.height)]
	for i := range lines {
		lines[i] = cut(lines[i], s.width)
	}
	out := strings.Join(lines, "\n")
	if s.opts.ASCII {
		out = ascii(out)
	}
	return out
}

// tiny is for a screen without room: only whether it goes well, and how long
// still.
func (s *screen) tiny(now time.Time) []string {
	lines := []string{
		fmt.Sprintf("%3.0f %% %s", 100*s.schedule.fraction(), s.trials()),
		s.left(now),
		s.keyLine(),
	}
	for _, p := range s.problems {
		lines = append(lines, s.problemLines(p, s.width, 1)[0])
	}
	return lines
}

// runPage puts the regions together. The results get what the others leave.
func (s *screen) runPage(now time.Time) []string {
	head := s.header(now)
	foot := []string{s.keyLine()}
	room := s.height - len(head) - len(foot)
	var body []string
	if s.width >= twoColumns {
		left := min(s.width*11/20, 96)
		body = beside(s.resultsRegion(left, room), s.sideColumn(now, s.width-left-2, room), left)
	} else {
		body = s.column(now, room)
	}
	for len(body) < room {
		body = append(body, "")
	}
	return append(append(head, body[:room]...), foot...)
}

// column stacks the regions for a narrow screen.
func (s *screen) column(now time.Time, room int) []string {
	nowLines := s.nowRegion(now, s.width, 1)
	problems := s.problemsRegion(s.width, max(2, room/6))
	events := 3
	results := s.resultsRegion(s.width, max(4, room-len(nowLines)-len(problems)-1-events))
	used := len(results) + len(nowLines) + len(problems)
	lines := append(results, nowLines...)
	lines = append(lines, problems...)
	return append(lines, s.eventsRegion(s.width, room-used)...)
}

// sideColumn stacks what stands beside the results on a wide screen.
func (s *screen) sideColumn(now time.Time, w, room int) []string {
	lines := s.nowRegion(now, w, 2)
	lines = append(lines, "")
	if p := s.problemsRegion(w, max(4, room/3)); len(p) > 0 {
		lines = append(append(lines, p...), "")
	}
	return append(lines, s.eventsRegion(w, room-len(lines))...)
}

// beside puts two columns next to each other.
func beside(left, right []string, w int) []string {
	n := max(len(left), len(right))
	lines := make([]string, n)
	for i := range lines {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		lines[i] = padRight(cut(l, w), w) + "  " + r
	}
	return lines
}

// rule is the title of a region: a line across the column.
func (s *screen) rule(title, note string, w int) string {
	p := s.palette
	used := 4 + width(title)
	text := p.paint(faint, "─ ") + p.paint(strong, title) + " "
	if note != "" {
		note = cut(note, w-used-2)
		text += p.paint(faint, note) + " "
		used += width(note) + 1
	}
	return text + p.paint(faint, strings.Repeat("─", max(0, w-used+1)))
}

// header answers: is it going well, how long still.
func (s *screen) header(now time.Time) []string {
	p := s.palette
	run := s.run
	name := cut(orElse(s.name, "run"), max(12, s.width/2))
	left := " " + p.paint(accent, "esched") + "  " + p.paint(strong, name)
	gap := s.width - 9 - width(name) - 1
	if width(run)+2 > gap {
		run = run[strings.LastIndex(run, "/")+1:]
	}
	if width(run)+2 > gap {
		run = ""
	}
	lines := []string{left + padLeft(p.paint(faint, run), gap)}

	state := s.trials()
	if ok := s.counts["ok"]; s.schedule.done > 0 {
		state += "   " + p.paint(better, "✓ "+count(ok))
	}
	if n := s.counts["failed"] + s.counts["timeout"]; n > 0 {
		state += "  " + p.paint(worse, "✗ "+count(n))
	}
	if n := s.counts["skipped"]; n > 0 {
		state += "  " + p.paint(caution, "! "+count(n)+" skipped")
	}
	f := s.schedule.fraction()
	bar := min(50, max(10, s.width-8-44))
	full := int(f * float64(bar))
	lines = append(lines, fmt.Sprintf(" %s%s %3d %%  %s", p.paint(accent, strings.Repeat("█", full)),
		p.paint(faint, strings.Repeat("░", bar-full)), int(100*f), state))
	lines = append(lines, " "+s.left(now))
	lines = append(lines, s.fleetLine())
	if s.height >= 30 {
		lines = append(lines, "")
	}
	return lines
}

func (s *screen) trials() string {
	total := count(s.schedule.total)
	return padLeft(count(min(s.schedule.done, s.schedule.total)), len(total)) + "/" + total + " trials"
}

// left tells the time gone and the time left.
func (s *screen) left(now time.Time) string {
	gone := clock(s.elapsed(now)) + " gone"
	if s.over {
		return clock(s.elapsed(now)) + " in all · " + s.palette.paint(strong, "ended")
	}
	var ran time.Duration
	if s.trial != nil {
		ran = now.Sub(s.since)
	}
	d, ok := s.schedule.remaining(s.trial, ran)
	ends := s.countdown(now)
	about := "about " + s.palette.paint(strong, clock(rounded(d))) + " left"
	narrow := s.width < 64 && ends != "" // no room for all three
	switch {
	case !ok && ends != "" && s.width < 100:
		return joined(gone, ends)
	case !ok:
		return joined(gone+s.palette.paint(faint, " · time left: known after the first trial"), ends)
	case narrow:
		return joined(about, ends)
	}
	return joined(gone, about, ends)
}

// rounded keeps an estimate from pretending a precision that it has not.
func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Hour:
		return d.Round(time.Minute)
	case d > 5*time.Minute:
		return d.Round(10 * time.Second)
	case d > time.Minute:
		return d.Round(5 * time.Second)
	}
	return d.Round(time.Second)
}

// fleetLine names the cluster, the workers that registered and the nodes;
// nodes in trouble come first.
func (s *screen) fleetLine() string {
	p := s.palette
	text := " " + orElse(clean(s.opts.Manifest.Cluster), "cluster")
	registered, all := s.workers()
	if len(s.fleet.nodes) == 0 {
		return text + p.paint(faint, " · no deployment")
	}
	text += fmt.Sprintf(" · %s/%s workers ", padLeft(count(registered), len(count(all))), count(all))
	var ready, others string
	for _, n := range s.fleet.nodes {
		state := n.worst()
		sign, role := stateSign(state)
		word := "  " + p.paint(role, sign) + " " + n.name
		if state == "registered" {
			ready += word
			continue
		}
		others += word + " " + p.paint(role, stateWord(state))
	}
	if line := text + others + ready; width(line) <= s.width {
		return line
	}
	return text + s.fleetCounts()
}

// workers counts the workers that registered, of those that are to.
func (s *screen) workers() (registered, all int) {
	registered, all = s.fleet.registered()
	t := s.trial
	if t == nil {
		t = s.schedule.next()
	}
	if t == nil || len(s.fleet.nodes) == 0 {
		return registered, all
	}
	if t.Worker == record.WorkerInstant { // those of a node are one process
		registered *= max(1, t.Workers/max(1, t.Nodes))
	}
	return registered, max(all, t.Workers)
}

// stateWord says a state to people.
func stateWord(state string) string {
	if state == "process" {
		return "started"
	}
	return state
}

// fleetCounts sums up nodes that are too many to name; lost ones have their
// names among what went wrong.
func (s *screen) fleetCounts() string {
	counts := map[string]int{}
	for _, n := range s.fleet.nodes {
		counts[n.worst()]++
	}
	text := ""
	for _, state := range []string{"lost", "starting", "process", "registered"} {
		if n := counts[state]; n > 0 {
			sign, role := stateSign(state)
			text += "  " + s.palette.paint(role, sign) + " " + plural(n, "node") + " " + stateWord(state)
		}
	}
	return text
}

// keyLine tells what the keys do; while the run is being ended, how far that
// is.
func (s *screen) keyLine() string {
	p := s.palette
	if s.typing {
		return p.paint(inverse, " filter: "+s.filter+"_ ") + p.paint(faint, "  enter keep · esc clear")
	}
	switch {
	case s.question != nil:
		return p.paint(inverse, " "+s.question.text+" ") + "  " + p.paint(strong, "y") + " yes · any other key: no"
	case s.notice != "":
		return p.paint(caution, " "+s.notice)
	}
	switch s.stop {
	case stopForced:
		return p.paint(worse, " not waiting any more") + " · what stays behind is given back by: esched clean"
	case stopNow:
		return p.paint(caution, " cancelling: ending processes, giving nodes back") + " · again: do not wait"
	case stopAfterTrial:
		return p.paint(caution, " stopping after this trial") + " · Q cancel now   l events   ? help"
	}
	return s.keysThatFit()
}

// keyHint is a key and what it does.
type keyHint struct{ key, does string }

// keysThatFit tells the keys that count most; the help, which has all, is
// always there.
func (s *screen) keysThatFit() string {
	hints := []keyHint{{"q", "stop after this trial"}, {"Q", "cancel"}, {"/", "filter"}, {"l", "events"}}
	switch {
	case s.over:
		hints = []keyHint{{"/", "filter"}, {"l", "events"}}
	case s.control.watching() && s.control.Orders != nil:
		hints = []keyHint{{"q", "leave"}, {"s", "stop"}, {"c", "cancel"}, {"L", "logs"}, {"l", "events"}, {"/", "filter"}}
		if s.width >= 70 {
			hints[0].does = "leave (the run goes on)"
		}
	case s.control.watching():
		hints = []keyHint{{"q", "leave (the run goes on)"}, {"/", "filter"}, {"l", "events"}}
	}
	if s.over || s.control.Orders == nil {
		hints = append(hints, keyHint{"L", "logs"})
	}
	hints = append(hints, keyHint{"n", "nodes"})
	if !s.over && (s.control.Extend != nil || s.control.Orders != nil) {
		hints = append(hints, keyHint{"e", "more time"})
	}
	render := func(h keyHint) string {
		return " " + s.palette.paint(strong, h.key) + " " + s.palette.paint(faint, h.does) + " "
	}
	if s.stopKind != "" { // asked for already
		hints = slices.DeleteFunc(hints, func(h keyHint) bool { return h.key == "s" })
	}
	help := render(keyHint{"?", "help"})
	var text string
	for _, h := range hints {
		if next := text + render(h); width(next+help) <= s.width {
			text = next
		}
	}
	return text + help
}
