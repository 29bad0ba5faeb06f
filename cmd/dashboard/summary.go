package dashboard

import (
	"fmt"

	"github.com/esched/esched/internal/hint"
)

// exitMeaning says an exit code in words.
func exitMeaning(code int) string {
	switch code {
	case hint.ExitOK:
		return "everything asked for was done"
	case hint.ExitUsage:
		return "the command line or the experiment file is wrong"
	case hint.ExitTrials:
		return "finished, some trials failed"
	case hint.ExitNoNodes:
		return "no nodes were granted in time"
	case hint.ExitThreshold:
		return "a threshold was exceeded"
	case hint.ExitInterrupted:
		return "interrupted; esched run --resume goes on with it"
	}
	return "an error ended the run"
}

// Bounds of what stays on the terminal; the report has everything.
const (
	maxSummaryRows     = 30
	maxSummaryProblems = 8
)

// summaryLines is what stays on the terminal when the screen is closed: what
// was measured, what went wrong, where the report is.
func (s *screen) summaryLines() []string {
	p := s.palette
	w := min(s.width, 100)
	state := s.trials()
	state += ", " + count(s.counts["ok"]) + " ok"
	if n := s.counts["failed"] + s.counts["timeout"]; n > 0 {
		state += ", " + p.paint(worse, count(n)+" failed")
	}
	if n := s.counts["skipped"]; n > 0 {
		state += ", " + p.paint(caution, count(n)+" skipped")
	}
	lines := []string{"", p.paint(strong, orElse(s.name, "run")) + "  " + state + " in " + clock(s.elapsed(s.lastEvent))}
	s.filter = ""
	if rows := s.resultRows(w); s.schedule.done > 0 {
		lines = append(lines, "", s.resultsHead(w))
		lines = append(lines, rows[:min(len(rows), maxSummaryRows)]...)
		if n := len(rows) - maxSummaryRows; n > 0 {
			lines = append(lines, p.paint(faint, fmt.Sprintf("   %d more lines are in the report", n)))
		}
	}
	lines = append(lines, "")
	for i, problem := range s.problems {
		if i == maxSummaryProblems {
			lines = append(lines, p.paint(faint, "   "+count(len(s.problems)-i)+" more are in the report"))
			break
		}
		lines = append(lines, s.problemLines(problem, w, 4)...)
	}
	if len(s.problems) > 0 {
		lines = append(lines, "")
	}
	if s.summary != "" {
		lines = append(lines, s.summary)
	}
	lines = append(lines, s.closing())
	if e := s.exitWords(); e != "" {
		lines = append(lines, e)
	}
	if s.opts.ASCII {
		for i := range lines {
			lines[i] = ascii(lines[i])
		}
	}
	return lines
}
