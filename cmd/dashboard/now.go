package dashboard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/esched/esched/runners/record"
)

// nowRegion answers: what is it doing now. Each of its two parts gets the
// same number of lines, whether it needs them or not.
func (s *screen) nowRegion(now time.Time, w, each int) []string {
	first, second := s.doing(now)
	if s.stopping != "" && !s.over {
		second = append([]string{s.palette.paint(caution, "stopping: "+s.stopping)}, second...)
	}
	note := ""
	if n, of := s.schedule.begun(); n > 0 && !s.over {
		note = fmt.Sprintf("deployment %d of %d", n, of)
	}
	lines := []string{s.rule("now", note, w)}
	for _, words := range [][]string{first, second} {
		parts := []string{fitting(w-2, words...)}
		if each > 1 {
			parts = wrapped(joined(words...), w-2)
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

// doing describes the phase of the run in two lines, of each the parts that
// count most first.
func (s *screen) doing(now time.Time) (first, second []string) {
	p := s.palette
	since := clock(max(0, now.Sub(s.since)))
	evidence := []string{s.evidence}
	switch s.phase {
	case phaseEnvironment:
		return []string{"preparing the Python environment", since}, evidence
	case phaseWaiting:
		return []string{p.paint(caution, "waiting for nodes"), since}, evidence
	case phaseGranted:
		return []string{"nodes are granted"}, evidence
	case phaseDeploying:
		registered, all := s.workers()
		return []string{"starting scheduler and workers", since},
			[]string{fmt.Sprintf("%s/%s workers registered", padLeft(count(registered), len(count(all))), count(all)), s.evidence}
	case phaseReady:
		return []string{"deployment is ready"}, evidence
	case phaseTrial:
		if live := s.trialProgress(now); live != nil {
			return s.trialNow(now), live
		}
		return s.trialNow(now), s.lastTrial()
	case phaseBetween:
		return []string{"between trials" + reason(s.evidence)}, s.lastTrial()
	case phaseUndeploying:
		return []string{"ending the deployment", since}, evidence
	case phaseReleased:
		return []string{"nodes are given back"}, evidence
	case phaseEnded:
		second = []string{reportWords(s.report)}
		if s.failure != "" {
			second = []string{p.paint(worse, s.failure), reportWords(s.report)}
		}
		return []string{"run ended", s.summary}, second
	}
	return []string{"starting"}, nil
}

func (s *screen) trialNow(now time.Time) []string {
	t := s.trial
	rep := "warm-up"
	if !t.Warmup {
		rep = fmt.Sprintf("rep %d", t.Repetition)
	}
	runs := clock(max(0, now.Sub(s.since)))
	if u := s.schedule.usual(*t); u > 0 {
		runs += s.palette.paint(faint, " of about "+clock(time.Duration(math.Ceil(u))*time.Second))
	}
	return []string{runs, clean(t.Workload) + " " + grouped(clean(t.Size)), clean(t.Series()), rep, plural(t.Workers, "worker")}
}

// lastTrial tells how the trial before went, with its decisions.
func (s *screen) lastTrial() []string {
	r := s.last
	if r == nil {
		return nil
	}
	if r.Status != "ok" {
		return []string{s.palette.paint(worse, "last: "+clean(string(r.Status))) + reason(clean(r.Error))}
	}
	words := []string{"last: " + seconds(r.MakespanS) + " " + clean(r.Series())}
	if r.Kind == "dask" {
		words = append(words, plural(r.Tasks, "task"), rate(r), busy(r))
	} else {
		us := ""
		if q := r.DecisionUS; q != nil {
			us = "p50 " + micros(q.P50) + " p99 " + micros(q.P99)
		}
		words = append(words, plural(r.Decisions, "decision"), us, rate(r), busy(r))
	}
	for i := range words {
		words[i] = s.palette.paint(faint, words[i])
	}
	if r.Fallbacks > 0 {
		words = slices.Insert(words, 1, s.palette.paint(caution, "! "+plural(r.Fallbacks, "fallback")))
	}
	return words
}

// rate is how many tasks the workers executed in a second.
func rate(r *record.Record) string {
	if r.MakespanS <= 0 || r.Tasks == 0 {
		return ""
	}
	return count(int(math.Round(float64(r.Tasks)/r.MakespanS))) + " tasks/s"
}

// busy is the part of their time that the workers' threads executed tasks.
func busy(r *record.Record) string {
	var sum float64
	for _, w := range r.PerWorker {
		sum += w.BusyS
	}
	all := r.MakespanS * float64(r.Workers*max(1, r.Threads))
	if sum <= 0 || all <= 0 {
		return ""
	}
	return fmt.Sprintf("workers %.0f %% busy", min(100, 100*sum/all))
}

func reportWords(path string) string {
	if path == "" {
		return ""
	}
	return "report: " + path
}
