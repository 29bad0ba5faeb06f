package report_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// chance is a site whose trials end as chance has it.
type chance struct {
	random *rand.Rand
	stop   func() // ends the run now and then; nil: never
}

func (c chance) Reserve(context.Context, func(record.Event)) (runners.Grant, error) {
	return runners.Grant{Hosts: []record.Host{{Name: "here", Cores: 2}}}, nil
}
func (c chance) Release(context.Context, func(record.Event)) error { return nil }
func (c chance) Deploy(context.Context, runners.Block, func(record.Event)) (runners.Deployment, error) {
	if c.random.IntN(20) == 0 {
		return nil, errors.New("port taken")
	}
	return c, nil
}
func (c chance) Hosts() []string            { return []string{"here"} }
func (c chance) Check() error               { return nil }
func (c chance) Stop(context.Context) error { return nil }

func (c chance) Run(_ context.Context, t record.Trial) (record.Record, error) {
	if c.stop != nil && c.random.IntN(30) == 0 {
		c.stop()
	}
	switch n := c.random.IntN(16); {
	case n == 0:
		return record.Record{}, errors.New("ValueError: no")
	case n == 1:
		return record.Record{}, runners.ErrLate
	case n == 2:
		return record.Record{}, fmt.Errorf("driver: %w", runners.ErrBroken)
	}
	return record.Record{MakespanS: 0.5 + c.random.Float64(), Tasks: c.random.IntN(1000), Decisions: c.random.IntN(500), Fallbacks: c.random.IntN(3), ResultDigest: "same"}, nil
}

// TestTotalsFromPlanToReport takes experiments of chance all the way: what the
// plan holds, the runner counts, the files record and the report shows add up.
func TestTotalsFromPlanToReport(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 3))
			experiment := loadChance(t, random)
			plan := runners.BuildPlan(experiment)
			dir := filepath.Join(t.TempDir(), "run")
			store, err := record.Create(dir, record.Manifest{ID: "run", Name: experiment.Name, Seed: plan.Seed, Plan: plan.Planned(), Started: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			site := chance{random: random}
			if seed%3 == 0 {
				stopped := false
				site.stop = func() {
					if !stopped {
						close(stop)
					}
					stopped = true
				}
			}
			runner := &runners.Runner{Plan: plan, Site: site, Journal: store, Now: time.Now, Kill: context.Background(), Stop: stop,
				Retries: random.IntN(2), Limit: func(record.Trial) time.Duration { return time.Hour }}
			outcome, err := runner.Run(t.Context())
			if err != nil && !errors.Is(err, runners.ErrStopped) {
				t.Fatal(err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if outcome.Total() != plan.Trials() {
				t.Errorf("outcome %+v of %d planned trials", outcome, plan.Trials())
			}
			checkTotals(t, dir, outcome, plan)
		})
	}
}

// loadChance makes an experiment of a few cells.
func loadChance(t *testing.T, random *rand.Rand) *runners.Experiment {
	t.Helper()
	catalog := runners.Catalog{
		Workloads:    []runners.WorkloadEntry{{Name: "w", Params: []runners.Parameter{{Name: "size", Type: runners.Int, Min: 1, Required: true}}}},
		Policies:     []string{"random", "other"},
		Kinds:        []runners.KindEntry{{Name: "dask"}, {Name: "sidekick", Policies: true}},
		Environments: []string{"default"}, Clusters: []runners.ClusterEntry{{Name: "local"}},
	}
	text := fmt.Sprintf("name = \"chance\"\nrepetitions = %d\nseed = %d\nwarmup = %d\nworkers_per_node = %s\nschedulers = [\"dask\", \"sidekick\"]\npolicies = %s\n[[workload]]\nname = \"w\"\nsize = %s\n",
		1+random.IntN(4), random.IntN(100), random.IntN(3), []string{"[2]", "[1, 4]"}[random.IntN(2)],
		[]string{`["random"]`, `["random", "other"]`}[random.IntN(2)], []string{"[5]", "[5, 10, 20]"}[random.IntN(2)])
	e, err := runners.Load("experiments.toml", []byte(text), catalog)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func checkTotals(t *testing.T, dir string, outcome runners.Outcome, plan *runners.Plan) {
	t.Helper()
	r := readAndBuild(t, dir)
	run, err := record.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	trials := r.Table(report.TableTrials)
	column := make(map[string]int)
	for i, c := range trials.Columns {
		column[c.Key] = i
	}
	shown, sums := map[string]int{}, map[string]float64{}
	for _, row := range trials.Rows {
		shown[fmt.Sprint(row[column["status"]])]++
		for _, key := range []string{"tasks", "decisions", "fallbacks"} {
			if v, ok := row[column[key]].(int); ok && row[column["status"]] == "ok" {
				sums[key] += float64(v)
			}
		}
	}
	for status, want := range map[string]int{"ok": outcome.OK, "failed": outcome.Failed, "timeout": outcome.Timeout, "skipped": outcome.Skipped} {
		if shown[status] != want {
			t.Errorf("%s: the runner counted %d, the table has %d", status, want, shown[status])
		}
	}
	want := map[string]float64{}
	for _, rec := range run.Records {
		if !rec.Warmup && rec.Status == record.StatusOK {
			want["tasks"] += float64(rec.Tasks)
			want["decisions"] += float64(rec.Decisions)
			want["fallbacks"] += float64(rec.Fallbacks)
		}
	}
	n, failed, decisions, cells := 0, 0, 0, map[string]bool{}
	for _, c := range r.Cells {
		n += c.N
		failed += c.Failed
		decisions += c.Decisions
		if c.Tasks != nil {
			sums["tasks of cells"] += *c.Tasks * float64(c.N)
		}
	}
	for key := range want {
		if sums[key] != want[key] {
			t.Errorf("%s: the records have %v, the table of trials %v", key, want[key], sums[key])
		}
	}
	if n != outcome.OK || failed != outcome.Failed+outcome.Timeout+outcome.Skipped || float64(decisions) != want["decisions"] {
		t.Errorf("cells have %d values, %d failures and %d decisions; the runner counted %+v, the records %v", n, failed, decisions, outcome, want)
	}
	if d := sums["tasks of cells"] - want["tasks"]; d > 1e-6 || d < -1e-6 {
		t.Errorf("cells have %v tasks, the records %v", sums["tasks of cells"], want["tasks"])
	}
	for _, b := range plan.Blocks {
		for _, trial := range b.Trials {
			cells[trial.Cell()] = true
		}
	}
	if outcome.Open == 0 && len(r.Cells) != len(cells) {
		t.Errorf("the plan has %d cells, the report %d", len(cells), len(r.Cells))
	}
	missing := fmt.Sprintf("%d trials of %d planned were not recorded", outcome.Open, plan.Trials())
	if outcome.Open == 1 {
		missing = fmt.Sprintf("1 trial of %d planned were not recorded", plan.Trials())
	}
	if careful := strings.Join(r.Careful, "\n"); strings.Contains(careful, "not recorded") != (outcome.Open > 0) || outcome.Open > 0 && !strings.Contains(careful, missing) {
		t.Errorf("%d trials are open, careful: %s", outcome.Open, careful)
	}
	compareForms(t, r)
}
