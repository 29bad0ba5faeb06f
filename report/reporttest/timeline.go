package reporttest

import (
	"fmt"
	"math/rand/v2"

	"github.com/esched/esched/runners/record"
)

// Timeline invents the times of a record's tasks: two layers, the second of
// which fetches what the first made. It fits report.Options.
func Timeline(_ *record.Run, rec *record.Record) (*record.Timeline, error) {
	random := rand.New(rand.NewPCG(uint64(rec.Order), 7))
	t := &record.Timeline{Schema: record.Schema, Tasks: rec.Tasks, Every: 1, Prefixes: []string{"sample", "sum"}}
	tasks := min(rec.Tasks, 300)
	t.Every = max(1, rec.Tasks/tasks)
	step := rec.MakespanS * float64(rec.Workers) / float64(tasks)
	at := make([]float64, rec.Workers)
	for w := range rec.Workers {
		t.Workers = append(t.Workers, fmt.Sprintf("w%d", w+1))
	}
	for i := range tasks {
		w := i % rec.Workers
		s := record.Span{Worker: w, From: at[w] + 0.1*step, To: at[w] + (0.1+(0.4+0.4*random.Float64())/float64(t.Every))*step}
		if i > tasks*3/4 {
			s.Prefix, s.Ready = 1, at[w]
			s.Transfers = []float64{at[w], s.From}
			t.TransferS += s.From - at[w]
		}
		at[w] = at[w] + step
		t.WorkS += (s.To - s.From) * float64(t.Every)
		t.PathS = max(t.PathS, (s.To-s.From)*2)
		t.Spans = append(t.Spans, s)
	}
	return t, nil
}

// Chain is the longest chain of [Timeline]. It fits report.Options.
func Chain(run *record.Run, rec *record.Record) (float64, error) {
	t, err := Timeline(run, rec)
	if err != nil {
		return 0, err
	}
	return t.PathS, nil
}

// Trace marks the first repetition's records as traced.
func Trace(run *record.Run) *record.Run {
	for i := range run.Records {
		if r := &run.Records[i]; r.Repetition == 1 && r.Status == record.StatusOK {
			r.Timeline = record.TasksDir + "/" + r.ID + ".jsonl.gz"
		}
	}
	return run
}
