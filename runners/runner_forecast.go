package runners

import (
	"fmt"
	"time"

	"github.com/esched/esched/runners/record"
)

// Forecast says how long the parts of a plan will take: by what this run
// measured, else by earlier runs, else by what the workloads guess. A claim is
// filled by it, so in doubt it tells the longer of what it knows. The zero
// value knows general guesses only. It is not safe for concurrent use.
type Forecast struct {
	times   TimeModel
	remote  bool                                         // not on this machine
	guesses map[string]func(map[string]any, int) float64 // by workload

	// Seconds of this run, the longest of each: trials by cell, deployments and
	// all warm-ups of a block by its shape.
	trials, deploys, warmups map[string]float64
}

// NewForecast starts from earlier runs and the guesses of the experiment's
// workloads.
func NewForecast(e *Experiment, times TimeModel) *Forecast {
	f := &Forecast{times: times, remote: e.Cluster.Kind != "local", guesses: map[string]func(map[string]any, int) float64{}}
	for _, c := range e.cells {
		f.guesses[c.entry.Name] = c.entry.Seconds
	}
	return f
}

// trial is the time of one attempt, in seconds. Known tells whether it was
// measured, in this run or an earlier one.
func (f *Forecast) trial(t record.Trial) (s float64, known bool) {
	cell := t.Cell()
	if s, ok := f.trials[cell]; ok {
		return s, true
	}
	if s, ok := f.times.Cells[cell]; ok {
		return s, true
	}
	return guess(f.guesses[t.Workload], t, guessedTrialS), false
}

// deploy is the time until the processes of a block are ready, in seconds.
func (f *Forecast) deploy(b Block) float64 {
	if s, ok := f.deploys[b.shape()]; ok {
		return s
	}
	if f.remote {
		return known(f.times.DeployS, guessedRemoteS)
	}
	return known(f.times.DeployS, guessedDeployS)
}

// warmup is the time of the warm-ups of a block, in seconds.
func (f *Forecast) warmup(b Block) float64 {
	if len(b.Warmups) == 0 {
		return 0
	}
	if s, ok := f.warmups[b.shape()]; ok {
		return s
	}
	fallback := 0.0
	for _, t := range b.Warmups {
		fallback += guess(f.guesses[t.Workload], t, guessedWarmupS)
	}
	return known(f.times.WarmupS, fallback)
}

// measured notes how long an attempt of a trial took that was ok.
func (f *Forecast) measured(t record.Trial, took time.Duration) {
	note(&f.trials, t.Cell(), took)
}

// ready notes how long a deployment of the block and its warm-ups took.
func (f *Forecast) ready(b Block, deploying, warming time.Duration) {
	note(&f.deploys, b.shape(), deploying)
	if len(b.Warmups) > 0 {
		note(&f.warmups, b.shape(), warming)
	}
}

// cut notes that a trial had not ended after ran. What it will take is not
// known: twice as long is the next thing to try, in any case in a whole claim,
// which has room for so much.
func (f *Forecast) cut(t record.Trial, ran, room time.Duration) {
	next := 2 * ran
	if next > room && ran < room*9/10 {
		next = room
	}
	s, _ := f.trial(t)
	note(&f.trials, t.Cell(), max(seconds(s), next))
}

// note keeps the longest time.
func note(in *map[string]float64, key string, took time.Duration) {
	if *in == nil {
		*in = map[string]float64{}
	}
	(*in)[key] = max((*in)[key], took.Seconds())
}

// shape names what the duration of a block's deployment depends on.
func (b Block) shape() string {
	return fmt.Sprintf("%s %d %d %d", b.Scheduler.Name, b.Nodes, b.WorkersPerNode, len(b.Warmups))
}

// collection is the part of a claim that is kept for an orderly end: of a
// very short claim a tenth.
func collection(claim time.Duration) time.Duration { return min(stopGrace, claim/10) }

// layOut fills claims of the given length with a plan as a [Runner] does, and
// returns how many it takes and how many trials fit none.
func (f *Forecast) layOut(p *Plan, length time.Duration) (claims, tooLong int) {
	room := (length - collection(length)).Seconds()
	open := make([][]float64, len(p.Blocks)) // seconds of the trials that are open
	left := 0
	for i, b := range p.Blocks {
		overhead := f.deploy(b) + f.warmup(b)
		for _, t := range b.Trials {
			s, _ := f.trial(t)
			if overhead+s > room {
				tooLong++
				continue
			}
			open[i] = append(open[i], s)
			left++
		}
	}
	for first := 0; left > 0; claims++ {
		for len(open[first]) == 0 {
			first++
		}
		gone, waiting := 0.0, 0
		for i := first; i < len(open); i++ {
			b := p.Blocks[i]
			if waiting > 0 && b.Repetition != waiting {
				break
			}
			var rest []float64
			overhead := f.deploy(b) + f.warmup(b)
			for _, s := range open[i] {
				if gone+overhead+s > room {
					rest = append(rest, s)
					continue
				}
				gone += overhead + s
				overhead = 0
				left--
			}
			if overhead == 0 {
				gone += guessedStopS
			}
			if open[i] = rest; len(rest) > 0 && waiting == 0 {
				waiting = b.Repetition
			}
		}
	}
	return claims, tooLong
}
