package dashboard

import (
	"slices"
	"time"

	"github.com/esched/esched/runners/record"
)

// schedule knows which trials of the plan are done and how long those took,
// and from both how long the rest will take.
type schedule struct {
	total, done int
	blocks      []*block
	byTrial     map[string]*block // of measured trials
	current     *block            // the deployment that runs, in this session
	seen        map[string]bool   // measured trials with a record
	runs        map[pace][]float64
	all         []float64
	deploys     []float64
	deployed    map[int]bool // blocks whose deploy_s was taken
	shown       float64      // the largest fraction that was shown
}

// block is what is planned on one deployment.
type block struct {
	index     int
	trials    []record.Trial // measured ones
	warmups   []record.Trial
	warmupsOK int // warm-ups that ended in this session
}

// pace is what the duration of a trial depends on most.
type pace struct {
	workload, size string
	workers        int
	warmup         bool
}

func paceOf(t record.Trial) pace { return pace{t.Workload, t.Size, t.Workers, t.Warmup} }

func newSchedule(plan []record.Planned) schedule {
	s := schedule{
		byTrial:  map[string]*block{},
		seen:     map[string]bool{},
		runs:     map[pace][]float64{},
		deployed: map[int]bool{},
	}
	s.add(plan)
	return s
}

// add takes the trials of blocks and returns the measured ones. Blocks that are
// known, since a plan that was read may be ahead of its events, change nothing.
func (s *schedule) add(plan []record.Planned) []record.Planned {
	at := map[int]*block{}
	for _, b := range s.blocks {
		at[b.index] = nil
	}
	var measured []record.Planned
	for _, p := range plan {
		b, known := at[p.Block]
		if !known {
			b = &block{index: p.Block}
			at[p.Block] = b
			s.blocks = append(s.blocks, b)
		}
		switch {
		case b == nil:
		case p.Warmup:
			b.warmups = append(b.warmups, p.Trial)
		default:
			b.trials = append(b.trials, p.Trial)
			s.byTrial[p.ID] = b
			s.total++
			measured = append(measured, p)
		}
	}
	return measured
}

func (s *schedule) grow(total int) { s.total = max(s.total, total) }

// resume takes the number of trials that are recorded already.
func (s *schedule) resume(done int) {
	s.done = max(s.done, done)
	s.grow(s.done)
}

// newSession forgets what is deployed: the next session deploys anew.
func (s *schedule) newSession() {
	s.current = nil
	for _, b := range s.blocks {
		b.warmupsOK = 0
	}
}

// start notes that a trial runs, and on which deployment with it.
func (s *schedule) start(t record.Trial) {
	if b := s.blockOf(t); b != nil {
		s.current = b
	}
}

// blockOf finds the block of a trial. Warm-ups have the same ID in every
// repetition; theirs is the first block that is not begun and has them.
func (s *schedule) blockOf(t record.Trial) *block {
	if !t.Warmup {
		return s.byTrial[t.ID]
	}
	has := func(b *block) bool {
		return slices.ContainsFunc(b.warmups, func(w record.Trial) bool { return w.ID == t.ID })
	}
	if c := s.current; c != nil && has(c) && c.warmupsOK < len(c.warmups) && s.left(c) == len(c.trials) {
		return c
	}
	for _, b := range s.blocks {
		if has(b) && s.left(b) > 0 && b.warmupsOK == 0 {
			return b
		}
	}
	return nil
}

// left is the number of measured trials of a block without a record.
func (s *schedule) left(b *block) int {
	n := 0
	for _, t := range b.trials {
		if !s.seen[t.ID] {
			n++
		}
	}
	return n
}

// end takes the record of a trial.
func (s *schedule) end(r *record.Record) {
	if r.Warmup {
		if b := s.blockOf(r.Trial); b != nil {
			s.current = b
			b.warmupsOK++
		}
		s.took(r)
		return
	}
	if !s.seen[r.ID] {
		s.seen[r.ID] = true
		s.done++
	}
	s.grow(s.done)
	s.start(r.Trial)
	if r.Status == record.StatusSkipped {
		return
	}
	s.took(r)
	if r.RunS > 0 {
		s.all = append(s.all, r.RunS)
	}
	if r.DeployS > 0 && !s.deployed[r.Block] {
		s.deployed[r.Block] = true
		s.deploys = append(s.deploys, r.DeployS)
	}
}

// took notes how long a trial took. One that failed took its time too, but
// rarely that of a good one.
func (s *schedule) took(r *record.Record) {
	if r.Status == record.StatusOK && r.RunS > 0 {
		p := paceOf(r.Trial)
		s.runs[p] = append(s.runs[p], r.RunS)
	}
}

// usual is the time that a trial is expected to take: the median of its like,
// or else the mean of all. It is 0 when no trial finished yet.
func (s *schedule) usual(t record.Trial) float64 {
	p := paceOf(t)
	if v := s.runs[p]; len(v) > 0 {
		return median(v)
	}
	p.warmup = false
	if v := s.runs[p]; len(v) > 0 {
		return median(v)
	}
	return mean(s.all)
}

// remaining estimates the time until the last trial ended, given for how long
// the current one runs (nil if none does). ok is false as long as there is
// nothing to estimate from.
func (s *schedule) remaining(current *record.Trial, ran time.Duration) (left time.Duration, ok bool) {
	if len(s.all) == 0 || len(s.blocks) == 0 {
		return 0, s.total > 0 && s.done >= s.total
	}
	var sum float64
	for _, b := range s.blocks {
		n := s.left(b)
		if n == 0 {
			continue
		}
		for _, t := range b.trials {
			if !s.seen[t.ID] {
				sum += s.usual(t)
			}
		}
		warmups := b.warmups
		if b == s.current {
			if n < len(b.trials) { // measured trials have begun
				warmups = nil
			}
			warmups = warmups[min(b.warmupsOK, len(warmups)):]
		} else {
			sum += median(s.deploys)
		}
		for _, t := range warmups {
			sum += s.usual(t)
		}
	}
	if current != nil {
		sum -= min(ran.Seconds(), s.usual(*current))
	}
	return time.Duration(max(0, sum) * float64(time.Second)), true
}

// fraction is the part of the trials that is done, in [0, 1]. It never goes
// back, also when the number of trials turns out to be larger.
func (s *schedule) fraction() float64 {
	if s.total > 0 {
		s.shown = max(s.shown, min(1, float64(s.done)/float64(s.total)))
	}
	return s.shown
}

// next is the first planned trial that has no record.
func (s *schedule) next() *record.Trial {
	for _, b := range s.blocks {
		for i := range b.trials {
			if !s.seen[b.trials[i].ID] {
				return &b.trials[i]
			}
		}
	}
	return nil
}

// begun is the number of the current deployment, from 1, among all.
func (s *schedule) begun() (n, of int) {
	for i, b := range s.blocks {
		if b == s.current {
			n = i + 1
		}
	}
	return n, len(s.blocks)
}
