package report_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/runners/record"
)

// done is a trial of one program: so many workers of a thread each, the
// makespan, and what all of them were busy.
func done(workers int, makespan, busy float64) record.Record {
	t := record.Trial{Workload: "w", Size: "1 thing", Scheduler: "dask", Kind: "dask", Nodes: 1, Workers: workers, Threads: 1, Repetition: 1}
	t.ID = t.Identity()
	return record.Record{Schema: 1, Trial: t, Status: record.StatusOK, MakespanS: makespan, Tasks: 8, Hosts: []string{"h"},
		PerWorker: []record.WorkerShare{{Worker: "a", BusyS: busy}}}
}

func ofTwoCores(records ...record.Record) *record.Run {
	run := &record.Run{Manifest: record.Manifest{Schema: 1, ID: "r", Hosts: []record.Host{{Name: "h", Cores: 2}}}, Records: records}
	for i := range run.Records {
		run.Records[i].Order = i + 1
	}
	return run
}

// boundsOf returns the bounds of a report by the number of workers, in seconds.
func boundsOf(t *testing.T, r *report.Report) map[int]float64 {
	t.Helper()
	have := make(map[int]float64)
	table := r.Table(report.TableBounds)
	at := func(key string) int {
		return slices.IndexFunc(table.Columns, func(c report.Column) bool { return c.Key == key })
	}
	for _, row := range table.Rows {
		bound, over := row[at("bound_s")].(float64), row[at("over_bound")].(float64)
		if over < 1 {
			t.Errorf("a makespan is %g times its bound", over)
		}
		have[row[at("workers")].(int)] = bound
	}
	return have
}

func TestBounds(t *testing.T) {
	t.Parallel()
	with := func(rec record.Record, change func(*record.Record)) record.Record {
		change(&rec)
		return rec
	}
	lost := func(r *record.Record) { r.Disturbed = "worker b lost" }
	nominal := func(r *record.Record) { r.NominalWorkS, r.NominalPathS = 6, 1 }
	elsewhere := func(r *record.Record) { r.Hosts = []string{"h", "unknown"} }
	sleeping := func(r *record.Record) { r.NominalWorkS, r.NominalPathS, r.Idle = 6, 1, true }
	tests := []struct {
		name    string
		records []record.Record
		want    map[int]float64
	}{
		// Four workers share two cores, and their tasks take twice as long.
		{"contention", []record.Record{done(1, 4.5, 4), done(2, 2.5, 4.2), done(4, 2.4, 8)}, map[int]float64{1: 4, 2: 2, 4: 2}},
		{"cores not known", []record.Record{with(done(1, 4.5, 4), elsewhere), with(done(4, 2.4, 8), elsewhere)}, map[int]float64{1: 4, 4: 1}},
		{"tasks that wait for tasks", []record.Record{done(1, 4.5, 4), done(4, 2, 9)}, map[int]float64{}},
		{"tasks that do not compute", []record.Record{done(1, 4.1, 4), done(4, 1.1, 4.1)}, map[int]float64{1: 4, 4: 1}},
		{"a lost worker", []record.Record{done(1, 4.5, 4), with(done(2, 4, 1), lost)}, map[int]float64{1: 4, 2: 2}},
		{"by the workload", []record.Record{with(done(1, 7, 9), nominal), with(done(4, 3.5, 9), nominal)}, map[int]float64{1: 6, 4: 3}},
		{"sleeping", []record.Record{with(done(1, 7, 9), sleeping), with(done(4, 3.5, 9), sleeping)}, map[int]float64{1: 6, 4: 1.5}},
		{"nobody asked workers", []record.Record{with(done(1, 7, 0), func(r *record.Record) { r.PerWorker = nil })}, map[int]float64{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if have := boundsOf(t, build(t, ofTwoCores(test.records...))); !maps.Equal(have, test.want) {
				t.Errorf("have %v, want %v", have, test.want)
			}
		})
	}
}

// TestChainsOfAllTrials holds that every traced trial tells its longest chain,
// that the shortest counts, and that one which a makespan beats bounds nothing.
func TestChainsOfAllTrials(t *testing.T) {
	t.Parallel()
	chains := map[int]float64{1: 3, 2: 1.9, 4: 2.2}
	var records []record.Record
	for _, workers := range []int{1, 2, 4} {
		rec := done(workers, 4/min(float64(workers), 1.5)+0.5, 2)
		rec.Timeline = fmt.Sprint(workers)
		records = append(records, rec)
	}
	other := done(1, 4, 3)
	other.Size = "2 things"
	build := func(chains map[int]float64) *report.Report {
		r, err := report.BuildWith([]*record.Run{ofTwoCores(append(records, other)...)}, report.Options{Chain: func(_ *record.Run, rec *record.Record) (float64, error) {
			if s, ok := chains[rec.Workers]; ok {
				return s, nil
			}
			return 0, errors.New("timeline x: damaged")
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := build(chains)
	if have, want := boundsOf(t, r), map[int]float64{1: 3, 2: 1.9, 4: 1.9}; !maps.Equal(have, want) { // that of 1 worker is the other size's
		t.Errorf("bounds: have %v, want %v", have, want)
	}
	if careful := strings.Join(r.Careful, "\n"); !strings.Contains(careful, "known of 1 of 2 combinations") {
		t.Errorf("careful: %s", careful)
	}
	r = build(map[int]float64{1: 100})
	if have, want := boundsOf(t, r), map[int]float64{1: 3, 2: 1, 4: 1}; !maps.Equal(have, want) {
		t.Errorf("bounds where trials beat the chain: have %v, want %v", have, want)
	}
	if careful := strings.Join(r.Careful, "\n"); !strings.Contains(careful, "of 2 trials (timeline x: damaged)") {
		t.Errorf("careful: %s", careful)
	}
}

// TestScalingOfEachProgram holds that each size and form has its figures, with
// bounds that agree with the table, and that their number has a limit.
func TestScalingOfEachProgram(t *testing.T) {
	t.Parallel()
	var records []record.Record
	for size := range 4 {
		for _, form := range []string{"a", "b"} {
			for _, workers := range []int{1, 2} {
				work := float64(size + 1)
				rec := done(workers, 1.5*work/float64(workers), work)
				rec.Size, rec.Params = fmt.Sprintf("%d things", size+1), map[string]any{"form": form, "n": size}
				rec.ID = rec.Identity()
				records = append(records, rec)
			}
		}
	}
	r := build(t, ofTwoCores(records...))
	var ids []string
	for _, f := range r.Figures {
		if f.X.Name == "workers" {
			ids = append(ids, f.ID)
		}
	}
	want := []string{"workers-w", "speedup-w"}
	for i := 2; i <= 6; i++ {
		want = append(want, fmt.Sprintf("workers-w-%d", i), fmt.Sprintf("speedup-w-%d", i))
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("figures: have %q, want %q", ids, want)
	}
	figure := func(id string) charts.Figure {
		return r.Figures[slices.IndexFunc(r.Figures, func(f charts.Figure) bool { return f.ID == id })]
	}
	first, gain := figure("workers-w"), figure("speedup-w")
	if !strings.Contains(first.Title, "w 4 things, form=b") || !strings.Contains(first.Aid, "Of 8 sizes and sets of parameters the 6 largest") {
		t.Errorf("title %q, aid %q", first.Title, first.Aid)
	}
	for _, test := range []struct {
		figure charts.Figure
		series string
		want   []float64
	}{{first, "bound: work / threads or cores", []float64{4, 2}}, {gain, "bound", []float64{1.5, 3}}} {
		var have []float64
		for _, m := range test.figure.Marks {
			if m.Series == test.series {
				for _, p := range m.Point {
					have = append(have, p.Y)
				}
			}
		}
		if !slices.EqualFunc(have, test.want, func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }) {
			t.Errorf("%s: have %v, want %v", test.series, have, test.want)
		}
	}
}

// TestOverheadParts holds that looking up and asking are apart where both are
// known, and that older records give their sum at most.
func TestOverheadParts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		hit, ask       float64
		wantHit, total any
		part           string
	}{
		{"both", 0.25, 0.5, 0.25, 0.75, "asking for decisions (transport and answer)"},
		{"older", 0, 0, nil, 2.0, "waits for decisions (at most)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rec := done(1, 4, 3)
			rec.Scheduler, rec.Kind, rec.Policy, rec.Decisions, rec.HitS, rec.AskS, rec.ServiceCPUS = "sidekick", "sidekick", "random", 2, test.hit, test.ask, 1
			rec.DecisionHist = []record.HistBucket{{LeUS: 1e6, Count: 2}}
			r := build(t, ofTwoCores(rec))
			table := r.Table(report.TableOverhead)
			value := func(key string) any {
				return table.Rows[0][slices.IndexFunc(table.Columns, func(c report.Column) bool { return c.Key == key })]
			}
			if value("hit_s") != test.wantHit || value("wait_s") != test.total {
				t.Errorf("have %v looked up, %v in all, want %v and %v", value("hit_s"), value("wait_s"), test.wantHit, test.total)
			}
			f := r.Figures[slices.IndexFunc(r.Figures, func(f charts.Figure) bool { return f.ID == "overhead" })]
			if !slices.ContainsFunc(f.Marks, func(m charts.Mark) bool { return m.Series == test.part }) {
				t.Errorf("the figure has no part %q", test.part)
			}
		})
	}
}

// TestNoMeanBelowZero holds that no interval says that a trial may have taken
// less than no time.
func TestNoMeanBelowZero(t *testing.T) {
	t.Parallel()
	var records []record.Record
	for i, makespan := range []float64{1, 1.2, 6} {
		rec := done(1, makespan, 1)
		rec.Repetition = i + 1
		rec.ID = rec.Identity()
		records = append(records, rec)
	}
	table := build(t, ofTwoCores(records...)).Table(report.TableSpread)
	for i, c := range table.Columns {
		if v := table.Rows[0][i]; strings.HasPrefix(c.Key, "mean_") && (v == nil) != (c.Key != "mean_s") {
			t.Errorf("%s: have %v", c.Key, v)
		}
	}
}
