package dashboard

import (
	"fmt"
	"math"
	"time"

	"github.com/esched/esched/runners/record"
)

// progressWords say how far a trial is: the tasks, their rate, the workers,
// and with a sidekick its decisions and what they cost. The first counts most.
func progressWords(p *record.Progress) []string {
	if p.Submitted == 0 {
		return []string{"no tasks submitted yet", plural(p.Workers, "worker") + " idle"}
	}
	all := count(p.Submitted)
	words := []string{
		padLeft(count(p.Done), len(all)) + "/" + all + " tasks, " + perSecond(p.TasksPerS),
		fmt.Sprintf("%s/%s busy", padLeft(count(p.Busy), len(count(p.Workers))), count(p.Workers)),
	}
	if d := p.Sidekick; d != nil {
		words = append(words, count(int(math.Round(d.PerS)))+" decisions/s", fmt.Sprintf("%.1f %% blocked", 100*d.BlockedShare))
	}
	return words
}

// perSecond renders a rate.
func perSecond(rate float64) string {
	if rate > 0 && rate < 9.95 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return count(int(math.Round(rate))) + "/s"
}

// staleAfter is how old what is known of the trial may be before its age is
// told. Dask's scheduler is asked every second, and answers late when it has
// much to do.
const staleAfter = 5 * time.Second

// trialProgress says how far the trial is, what went wrong in it first; nothing
// as long as nobody knows.
func (s *screen) trialProgress(now time.Time) []string {
	p := s.progress
	if p == nil {
		return nil
	}
	var words []string
	if age := now.Sub(p.Time); age > staleAfter {
		words = append(words, s.palette.paint(caution, "! Dask's scheduler is silent for "+clock(age)))
	}
	if p.Erred > 0 {
		words = append(words, s.palette.paint(worse, "✗ "+plural(p.Erred, "task")+" raised"))
	}
	if d := p.Sidekick; d != nil && d.Fallbacks > 0 {
		words = append(words, s.palette.paint(caution, "! "+plural(d.Fallbacks, "fallback")))
	}
	return append(words, progressWords(p)...)
}
