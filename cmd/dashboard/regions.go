package dashboard

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// resultsRegion answers: what do I learn so far. It takes the lines it needs,
// at most limit.
func (s *screen) resultsRegion(w, limit int) []string {
	rows := s.resultRows(w)
	room := max(1, limit-2)
	note := "median makespan [95 % interval] (range if n < 6)"
	s.top = min(s.top, max(0, len(rows)-room))
	if len(rows) > room {
		note = fmt.Sprintf("lines %d–%d of %d, ↑↓ · median [95 %%] (range)", s.top+1, s.top+room, len(rows))
		rows = rows[s.top : s.top+room]
	}
	if s.filter != "" {
		note = "filter: " + s.filter + " · " + note
	}
	return append([]string{s.rule("so far", note, w), s.resultsHead(w)}, rows...)
}

// Widths of the columns of a result row; each takes what belongs into it at
// its longest, so that no number moves.
const (
	medianWidth = 9  // "1,234 s"
	spreadWidth = 16 // "  [0.812–0.913]"
	countWidth  = 7  // "10/10"
	ratioWidth  = 8  // "0.64 ▼"
)

// resultColumns are the widths that depend on the screen.
type resultColumns struct{ name, gauge int }

func (s *screen) columns(w int) resultColumns {
	c := resultColumns{name: 12}
	for _, cell := range s.results.cells {
		for _, r := range cell.rows {
			c.name = max(c.name, width(r.series))
		}
	}
	const others = 3 + medianWidth + spreadWidth + countWidth + ratioWidth
	c.name = min(c.name, max(14, w-others-13))
	c.gauge = min(41, w-others-c.name-2)
	if c.gauge%2 == 0 {
		c.gauge--
	}
	if c.gauge < 9 {
		c.gauge = 0
	}
	return c
}

func (s *screen) resultsHead(w int) string {
	c := s.columns(w)
	head := padRight("", 3+c.name) + padLeft("median", medianWidth) +
		padRight("", spreadWidth) + padLeft("n", countWidth) + padLeft("vs dask", ratioWidth)
	if c.gauge >= 17 {
		half := (c.gauge - 1) / 2
		head += "  " + padLeft("faster ←", half-1) + " │ → slower"
	}
	return s.palette.paint(faint, cut(head, w))
}

// resultRows renders all cells that the filter leaves.
func (s *screen) resultRows(w int) []string {
	var lines []string
	cols := s.columns(w)
	want := strings.ToLower(strings.TrimSpace(s.filter))
	for _, c := range s.results.cells {
		title := strings.Contains(strings.ToLower(c.title), want)
		var rows []string
		for _, r := range c.rows {
			if title || strings.Contains(strings.ToLower(r.series), want) {
				rows = append(rows, s.resultRow(c, r, cols))
			}
		}
		if len(rows) == 0 {
			continue
		}
		lines = append(lines, " "+s.palette.paint(strong, cut(c.title, w-2)))
		lines = append(lines, rows...)
	}
	switch {
	case len(lines) == 0 && want != "":
		lines = []string{s.palette.paint(faint, " nothing matches; esc shows everything")}
	case len(lines) == 0:
		lines = []string{s.palette.paint(faint, " no results yet")}
	}
	return lines
}

func (s *screen) resultRow(c *cell, r *row, cols resultColumns) string {
	p := s.palette
	name := "   " + padRight(cut(clean(r.series), cols.name), cols.name)
	n := count(len(r.values)) + "/" + count(r.planned)
	if r.planned == 0 {
		n = count(len(r.values))
	}
	failed := ""
	if r.failed > 0 {
		failed = p.paint(worse, fmt.Sprintf(" ✗ %d failed", r.failed))
	}
	if len(r.values) == 0 {
		return p.paint(faint, name+padLeft("–", medianWidth)+padRight("", spreadWidth)+padLeft(n, countWidth)) + failed
	}
	line := name + p.paint(strong, padLeft(seconds(median(r.values)), medianWidth)) +
		padRight(interval(r.values), spreadWidth) + padLeft(n, countWidth)
	v, ok := c.compare(r)
	if !ok {
		return line + failed
	}
	if r == c.baseline() {
		line += padLeft("1.00", 6) + "  "
		if cols.gauge > 0 && r.failed == 0 {
			line += "  " + s.gauge(v, cols.gauge, faint)
		}
		return line + failed
	}
	sign, color := "≈", plain
	switch v.sign {
	case -1:
		sign, color = "▼", better
	case 1:
		sign, color = "▲", worse
	}
	line += p.paint(color, padLeft(ratio(v.ratio), 6)+" "+sign)
	if r.failed > 0 { // the reason to distrust the row is worth more than its picture
		return line + " " + failed
	}
	if cols.gauge > 0 {
		line += "  " + s.gauge(v, cols.gauge, color)
	}
	return line
}

func ratio(x float64) string {
	if x >= 99.5 {
		return "> 99"
	}
	return fmt.Sprintf("%.2f", x)
}

func interval(values []float64) string {
	s := spreadOf(values)
	text := digits(s.low) + "–" + digits(s.high)
	switch {
	case len(values) == 1:
		return ""
	case s.confident:
		return "  [" + text + "]"
	}
	return "  (" + text + ")"
}

// gauge draws a ratio and its spread around parity, on a logarithmic scale
// that reaches from a quarter to four times.
func (s *screen) gauge(v verdict, w int, color role) string {
	half := (w - 1) / 2
	at := func(x float64) int {
		if x <= 0 {
			return 0
		}
		pos := math.Log2(x) / 2 * float64(half)
		return half + int(math.Round(math.Max(-float64(half), math.Min(float64(half), pos))))
	}
	cells := make([]rune, w)
	for i := range cells {
		cells[i] = ' '
	}
	cells[half] = '│'
	low, high, mid := at(v.low), at(v.high), at(v.ratio)
	for i := low; i <= high; i++ {
		cells[i] = '─'
	}
	if low < half && half < high {
		cells[half] = '│'
	}
	cells[mid] = '●'
	if color == faint {
		return s.palette.paint(faint, strings.TrimRight(string(cells), " "))
	}
	return s.palette.paint(color, strings.TrimRight(string(cells), " "))
}

// nowRegion answers: what is it doing now.
func (s *screen) nowRegion(now time.Time, w int) []string {
	p := s.palette
	first, second := s.doing(now)
	if s.stopping != "" && !s.over {
		second = joined(p.paint(caution, "stopping: "+s.stopping), second)
	}
	note := ""
	if n, of := s.schedule.begun(); n > 0 && !s.over {
		note = fmt.Sprintf("deployment %d of %d", n, of)
	}
	return []string{s.rule("now", note, w), cut(" "+first, w), cut(" "+second, w)}
}

// doing describes the phase of the run in two lines.
func (s *screen) doing(now time.Time) (first, second string) {
	p := s.palette
	since := clock(max(0, now.Sub(s.since)))
	switch s.phase {
	case phaseEnvironment:
		return "preparing the Python environment · " + since, s.evidence
	case phaseWaiting:
		return p.paint(caution, "waiting for nodes") + " · " + since, s.evidence
	case phaseGranted:
		return "nodes are granted", s.evidence
	case phaseDeploying:
		registered, _ := s.fleet.registered()
		return "starting scheduler and workers · " + since, joined(plural(registered, "worker")+" registered", s.evidence)
	case phaseReady:
		return "deployment is ready", s.evidence
	case phaseTrial:
		return s.trialNow(now), s.lastTrial()
	case phaseBetween:
		return "between trials" + reason(s.evidence), s.lastTrial()
	case phaseUndeploying:
		return "ending the deployment · " + since, s.evidence
	case phaseReleased:
		return "nodes are given back", s.evidence
	case phaseEnded:
		return joined("run ended", s.summary), reportWords(s.report)
	}
	return "starting", ""
}

func (s *screen) trialNow(now time.Time) string {
	t := s.trial
	rep := "warm-up"
	if !t.Warmup {
		rep = fmt.Sprintf("rep %d", t.Repetition)
	}
	text := joined(clean(t.Workload)+" "+grouped(clean(t.Size)), clean(t.Series()), plural(t.Workers, "worker"), rep,
		clock(max(0, now.Sub(s.since))))
	if u := s.schedule.usual(*t); u > 0 {
		text += s.palette.paint(faint, " of about "+clock(time.Duration(math.Ceil(u))*time.Second))
	}
	return text
}

// lastTrial tells how the trial before went, with its decisions.
func (s *screen) lastTrial() string {
	r := s.last
	if r == nil {
		return ""
	}
	if r.Status != "ok" {
		return s.palette.paint(worse, "last: "+clean(string(r.Status))) + reason(clean(r.Error))
	}
	text := "last: " + seconds(r.MakespanS) + " " + clean(r.Series())
	if r.Kind == "dask" {
		return s.palette.paint(faint, joined(text, plural(r.Tasks, "task")))
	}
	us := ""
	if q := r.DecisionUS; q != nil {
		us = "p50 " + micros(q.P50) + " p99 " + micros(q.P99)
	}
	text = s.palette.paint(faint, joined(text, plural(r.Decisions, "decision"), us))
	if r.Fallbacks > 0 {
		return text + " · " + s.palette.paint(caution, "! "+plural(r.Fallbacks, "fallback"))
	}
	return text
}

func reportWords(path string) string {
	if path == "" {
		return ""
	}
	return "report: " + path
}

// problemsRegion answers: what went wrong. It is empty as long as nothing
// did. The first problem keeps its place, for it often explains the others;
// the rest of the room shows the latest.
func (s *screen) problemsRegion(w, room int) []string {
	if len(s.problems) == 0 {
		return nil
	}
	shown := s.problems
	note := ""
	if len(shown) > room {
		shown = append([]problem{shown[0]}, shown[len(shown)-room+1:]...)
		note = fmt.Sprintf("%d more: l", len(s.problems)-room)
	}
	lines := []string{s.rule("went wrong", note, w)}
	for _, p := range shown {
		lines = append(lines, s.problemLine(p, w))
	}
	return lines
}

func (s *screen) problemLine(p problem, w int) string {
	times := ""
	if p.times > 1 {
		times = count(p.times) + "× "
	}
	head := " " + s.hour(p.at) + "  "
	return s.palette.paint(faint, head) + s.palette.paint(p.level.role(), p.level.sign()) + " " +
		cut(times+p.text, w-width(head)-2)
}

func (s *screen) hour(t time.Time) string { return t.In(s.opts.Location).Format(time.TimeOnly) }

// eventsRegion shows the last events that are not routine.
func (s *screen) eventsRegion(w, room int) []string {
	if room < 2 {
		return nil
	}
	var picked []line
	for i := len(s.log) - 1; i >= 0 && len(picked) < room-1; i-- {
		if s.log[i].level != routine {
			picked = append(picked, s.log[i])
		}
	}
	lines := []string{s.rule("events", "", w)}
	for i := len(picked) - 1; i >= 0; i-- {
		lines = append(lines, s.eventLine(picked[i], w))
	}
	return lines
}

func (s *screen) eventLine(l line, w int) string {
	head := " " + s.hour(l.at) + "  "
	return s.palette.paint(faint, head) + s.palette.paint(l.level.role(), l.level.sign()) + " " +
		cut(l.words(), w-width(head)-2)
}
