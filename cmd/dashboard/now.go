package dashboard

import (
	"fmt"
	"math"
	"time"
)

// nowRegion answers: what is it doing now. Each of its two parts gets the
// same number of lines, whether it needs them or not.
func (s *screen) nowRegion(now time.Time, w, each int) []string {
	first, second := s.doing(now)
	if s.stopping != "" && !s.over {
		second = joined(s.palette.paint(caution, "stopping: "+s.stopping), second)
	}
	note := ""
	if n, of := s.schedule.begun(); n > 0 && !s.over {
		note = fmt.Sprintf("deployment %d of %d", n, of)
	}
	lines := []string{s.rule("now", note, w)}
	for _, text := range []string{first, second} {
		parts := []string{text}
		if each > 1 {
			parts = wrapped(text, w-2)
		}
		for i := range each {
			part := ""
			if i < len(parts) {
				part = cut(" "+parts[i], w)
			}
			lines = append(lines, part)
		}
	}
	return lines
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
	runs := clock(max(0, now.Sub(s.since)))
	if u := s.schedule.usual(*t); u > 0 {
		runs += s.palette.paint(faint, " of about "+clock(time.Duration(math.Ceil(u))*time.Second))
	}
	return joined(runs, clean(t.Workload)+" "+grouped(clean(t.Size)), clean(t.Series()), rep, plural(t.Workers, "worker"))
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
