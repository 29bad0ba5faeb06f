package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// resultsRegion answers: what do I learn so far. It takes the lines it needs,
// at most limit.
func (s *screen) resultsRegion(w, limit int) []string {
	rows := s.resultRows(w)
	room := max(1, limit-2)
	note := "makespan: geometric mean [95 % interval] (range if n < 3)"
	s.top = min(s.top, max(0, len(rows)-room))
	if len(rows) > room {
		note = fmt.Sprintf("lines %d–%d of %d, ↑↓ · makespan: mean [95 %%] (range)", s.top+1, s.top+room, len(rows))
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
	centreWidth = 9  // "1,234 s"
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
	const others = 3 + centreWidth + spreadWidth + countWidth + ratioWidth
	c.name = min(c.name, max(14, w-others-13))
	c.gauge = min(33, w-others-c.name-2)
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
	head := padRight("", 3+c.name) + padLeft("mean", centreWidth) +
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
	p, f := s.palette, c.figures(r)
	name := "   " + padRight(cut(clean(r.series), cols.name), cols.name)
	n := count(f.n) + "/" + count(r.planned)
	if r.planned == 0 {
		n = count(f.n)
	}
	failed := ""
	if len(r.failed) > 0 {
		failed = p.paint(worse, fmt.Sprintf(" ✗ %d failed", len(r.failed)))
	}
	if f.n == 0 {
		return p.paint(faint, name+padLeft("–", centreWidth)+padRight("", spreadWidth)+padLeft(n, countWidth)) + failed
	}
	line := name + p.paint(strong, padLeft(seconds(f.centre), centreWidth)) +
		padRight(f.interval(), spreadWidth) + padLeft(n, countWidth)
	if f.ratio == nil {
		return line + failed
	}
	sign, color := "≈", plain
	switch {
	case r == c.baseline():
		sign, color = " ", faint
	case f.sign() < 0:
		sign, color = "▼", better
	case f.sign() > 0:
		sign, color = "▲", worse
	}
	line += p.paint(color, padLeft(ratio(f.ratio.Value), ratioWidth-2)+" "+sign)
	switch {
	case len(r.failed) > 0: // the reason to distrust the row is worth more than its picture
		return line + " " + failed
	case cols.gauge > 0:
		line += "  " + p.paint(color, f.gauge(cols.gauge))
	}
	return line
}

func ratio(x float64) string {
	if x >= 99.5 {
		return "> 99"
	}
	return fmt.Sprintf("%.2f", x)
}

// interval renders the interval, or the range of too few values.
func (f figures) interval() string {
	switch {
	case f.spread != nil:
		return "  [" + digits(f.spread.Lo) + "–" + digits(f.spread.Hi) + "]"
	case f.n > 1:
		return "  (" + digits(f.low) + "–" + digits(f.high) + ")"
	}
	return ""
}

// gauge draws a ratio and its interval around parity, on a logarithmic scale
// that reaches from a quarter to four times.
func (f figures) gauge(w int) string {
	half := (w - 1) / 2
	at := func(x float64) int {
		if x <= 0 {
			return 0
		}
		pos := math.Log2(x) / 2 * float64(half)
		return half + int(math.Round(max(-float64(half), min(float64(half), pos))))
	}
	cells := []rune(strings.Repeat(" ", w))
	if in := f.ratio.Interval; in != nil {
		for i := at(in.Lo); i <= at(in.Hi); i++ {
			cells[i] = '─'
		}
	}
	cells[half] = '│'
	cells[at(f.ratio.Value)] = '●'
	return strings.TrimRight(string(cells), " ")
}

// problemsRegion answers: what went wrong. It is empty as long as nothing
// did.
func (s *screen) problemsRegion(w, room int) []string {
	if len(s.problems) == 0 {
		return nil
	}
	shown := pick(s.problems, room)
	note := ""
	if n := len(s.problems) - len(shown); n > 0 {
		note = count(n) + " more: l"
	}
	lines := []string{s.rule("went wrong", note, w)}
	spare := room - len(shown)
	for _, p := range shown {
		parts := s.problemLines(p, w, 1+spare)
		spare -= len(parts) - 1
		lines = append(lines, parts...)
	}
	return lines
}

// pick chooses n problems, in their order: failures before warnings, of each
// the first, for it often explains the others, and then the latest.
func pick(all []problem, n int) []problem {
	if len(all) <= n {
		return all
	}
	chosen := make([]bool, len(all))
	for _, lv := range []level{bad, warn} {
		first := slices.IndexFunc(all, func(p problem) bool { return p.level == lv })
		if first >= 0 && n > 0 {
			chosen[first] = true
			n--
		}
		for i := len(all) - 1; i > first && n > 0; i-- {
			if all[i].level == lv {
				chosen[i] = true
				n--
			}
		}
	}
	var picked []problem
	for i, p := range all {
		if chosen[i] {
			picked = append(picked, p)
		}
	}
	return picked
}

// problemLines renders a problem in at most limit lines; the reason is what
// must be readable.
func (s *screen) problemLines(p problem, w, limit int) []string {
	text := p.text
	if p.times > 1 {
		text = count(p.times) + "× " + text
	}
	const indent = 13
	parts := wrapped(text, w-indent)
	if len(parts) > limit {
		rest := strings.Join(parts[limit-1:], " ")
		parts = append(parts[:limit-1], cut(rest, w-indent))
	}
	for i, part := range parts {
		head := strings.Repeat(" ", indent)
		if i == 0 {
			head = s.palette.paint(faint, " "+s.hour(p.at)+"  ") + s.palette.paint(p.level.role(), p.level.sign()) + " "
		}
		parts[i] = head + part
	}
	return parts
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
		cut(orElse(l.short, l.words()), w-width(head)-2)
}
