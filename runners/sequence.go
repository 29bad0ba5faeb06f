package runners

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/esched/esched/runners/record"
)

// Stop says when an experiment has been repeated often enough.
type Stop struct {
	// Precision is the relative half-width that the interval of every cell
	// should have; with 0 the number of repetitions is fixed.
	Precision float64
	// Most is the largest number of repetitions, Time what deployments, warm-ups
	// and trials may take together (0: no bound). The least number of
	// repetitions is run in any case.
	Most int
	Time time.Duration
}

// Look is what is seen of a cell.
type Look struct {
	// HalfWidth is that of the interval relative to its centre, Precise whether
	// that is narrow enough. Both are zero when there are too few values to tell.
	HalfWidth float64
	Precise   bool
	// Further is an estimate of the repetitions that are still needed; below 0:
	// there is nothing yet to estimate it from.
	Further int
}

// Sequence lets a plan go on by whole repetitions until its cells are known
// precisely enough or the budget ends. Blocks remain complete and shuffled, so
// repetitions can be paired as in any other plan. It belongs to one [Runner]
// and is not safe for concurrent use.
type Sequence struct {
	Stop
	// Least is the number of repetitions in the plan at its beginning.
	Least int
	// Repetition returns the blocks of a further repetition; none when nothing
	// of it was selected. Required.
	Repetition func(number int) []Block
	// Look judges the times of a cell (seconds, in the order of repetitions) by
	// the precision. Required.
	Look func(times []float64) Look
	// Decided is told of every decision before it takes effect, when the plan
	// has grown already. Optional.
	Decided func(record.Stopping) error
	// Spent is what earlier sessions used of Time; see [TimeSpent].
	Spent time.Duration

	times map[string]map[int]float64 // by cell and repetition
}

// add takes the time of a trial that is ok.
func (q *Sequence) add(t record.Trial, makespanS float64) {
	if q.times == nil {
		q.times = map[string]map[int]float64{}
	}
	cell := t.Cell()
	if q.times[cell] == nil {
		q.times[cell] = map[int]float64{}
	}
	q.times[cell][t.Repetition] = makespanS
}

// standing looks at the cells of a plan. A cell of whose trials fewer than half
// are ok is given up: to repeat it does not make it precise.
func (q *Sequence) standing(p *Plan) record.Stopping {
	s := record.Stopping{Precision: q.Precision, Least: q.Least, Most: q.Most, BudgetS: q.Time.Seconds(), SpentS: q.Spent.Seconds()}
	planned := map[string]int{}
	var cells []record.Trial
	for _, b := range p.Blocks {
		for _, t := range b.Trials {
			cell := t.Cell()
			if planned[cell]++; planned[cell] == 1 {
				cells = append(cells, t)
			}
			s.Repetitions = max(s.Repetitions, t.Repetition)
		}
	}
	s.Cells = len(cells)
	for _, t := range cells {
		cell := t.Cell()
		var times []float64
		for _, repetition := range slices.Sorted(maps.Keys(q.times[cell])) {
			times = append(times, q.times[cell][repetition])
		}
		look := q.Look(times)
		if look.HalfWidth > s.HalfWidth {
			s.Widest, s.HalfWidth = fmt.Sprintf("%s %s, %s, %d workers", t.Workload, t.Size, t.Series(), t.Workers), look.HalfWidth
		}
		switch {
		case look.Precise:
			s.Precise++
		case 2*len(times) < planned[cell]:
			s.GivenUp++
		default:
			s.Further = max(s.Further, look.Further)
		}
	}
	return s
}

// enough says why no repetition follows, or "" and the blocks of the next one.
// left is the time in which all of it has to be done; negative: not known.
func (q *Sequence) enough(s record.Stopping, f *Forecast, left time.Duration) (record.StopOutcome, []Block) {
	switch {
	case s.Precise+s.GivenUp == s.Cells && s.Precise > 0:
		return record.StopPrecise, nil
	case s.GivenUp == s.Cells:
		return record.StopFailures, nil
	case s.Repetitions >= q.Most:
		return record.StopRepetitions, nil
	}
	blocks := q.Repetition(s.Repetitions + 1)
	if len(blocks) == 0 {
		return record.StopSelection, nil
	}
	need := f.blocks(blocks)
	switch {
	case q.Time > 0 && q.Spent+need > q.Time:
		return record.StopTime, nil
	case left >= 0 && need > left:
		return record.StopClaim, nil
	}
	return "", blocks
}

// blocks is the time that the blocks take, each with its deployment.
func (f *Forecast) blocks(all []Block) time.Duration {
	sum := 0.0
	for _, b := range all {
		sum += f.deploy(b) + f.warmup(b)
		for _, t := range b.Trials {
			s, _ := f.trial(t)
			sum += s
		}
	}
	return seconds(sum)
}

// goOn adds a repetition to a plan of which nothing is open any more, when its
// sequence asks for one.
func (r *Runner) goOn(ctx context.Context) (bool, error) {
	q := r.Sequence
	if q == nil || r.outcome.Open > 0 {
		return false, nil
	}
	s := q.standing(r.Plan)
	var blocks []Block
	s.Outcome, blocks = q.enough(s, r.Forecast, r.leftForAll(ctx))
	if s.Outcome != record.StopPrecise && r.skip != "" {
		s.Outcome = record.StopSkipped
	}
	if s.Outcome != "" {
		if err := r.decided(s); err != nil {
			return false, err
		}
		r.Tell(record.Event{Kind: record.EventRepetition, State: "enough", Total: r.outcome.Total(),
			Message: fmt.Sprintf("none follows after %d, because %s: %s", s.Repetitions, s.Reason(), s.Standing())})
		return false, nil
	}
	if err := r.stopping(ctx); err != nil {
		return false, err
	}
	before := len(r.Plan.Blocks)
	r.Plan.Blocks = append(r.Plan.Blocks, blocks...)
	if err := r.decided(s); err != nil {
		return false, err
	}
	r.open(before)
	added := slices.DeleteFunc(r.Plan.Planned(), func(p record.Planned) bool { return p.Block < before })
	r.Tell(record.Event{Kind: record.EventRepetition, State: "added", Total: r.outcome.Total(), Added: added,
		Message: fmt.Sprintf("repetition %d follows: %s", s.Repetitions+1, s.Standing())})
	return true, nil
}

// decided passes a decision on.
func (r *Runner) decided(s record.Stopping) error {
	if r.Sequence.Decided == nil {
		return nil
	}
	return r.Sequence.Decided(s)
}

// leftForAll is the time that the rest of the run has; negative when that is
// not known, or when another claim may follow.
func (r *Runner) leftForAll(ctx context.Context) time.Duration {
	if r.claim.number == 0 && max(r.Claims, 1) == 1 && r.Claim > 0 {
		return r.Claim - collection(r.Claim)
	}
	_, stop := r.claim.end()
	if !r.claim.last || stop.IsZero() {
		return -1
	}
	if ctx.Err() != nil {
		return 0
	}
	return max(0, stop.Sub(r.Now()))
}

// TimeSpent is what the sessions that left the records used of a budget of
// time: deployments, warm-ups, and all attempts of trials.
func TimeSpent(records []record.Record) time.Duration {
	sum := 0.0
	deploys := map[int]float64{}
	for _, r := range records {
		sum += r.RunS
		for _, a := range r.Attempts {
			sum += a.RunS
		}
		deploys[r.Block] = max(deploys[r.Block], r.DeployS)
	}
	for _, s := range deploys {
		sum += s
	}
	return seconds(sum)
}

// Repetition returns the blocks of one repetition, also of one beyond those of
// [BuildPlan]: with the same expression as for [Plan.Only], or "" for all
// trials. There are none when none of its trials is selected.
func (e *Experiment) Repetition(number int, only string) []Block {
	all := &Plan{Name: e.Name, Seed: e.Seed, Blocks: e.repetition(number)}
	if only == "" {
		return all.Blocks
	}
	some, err := all.Only(only) // it was read for the plan before, so it can only select nothing
	if err != nil {
		return nil
	}
	return some.Blocks
}

// Continue brings the plan of a resumed run to the repetitions that its earlier
// sessions had planned; no more than the experiment allows now.
func (p *Plan) Continue(e *Experiment, only string, earlier []record.Planned) {
	reached := 0
	for _, t := range earlier {
		reached = max(reached, t.Repetition)
	}
	for n := e.Repetitions + 1; n <= min(reached, e.Stop.Most); n++ {
		p.Blocks = append(p.Blocks, e.Repetition(n, only)...)
	}
}
