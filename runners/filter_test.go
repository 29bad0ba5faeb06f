package runners

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

func TestOnly(t *testing.T) {
	t.Parallel()
	p := BuildPlan(mustLoad(t, small)) // 2 sizes x 3 series x 2 workers x 2 repetitions
	for _, c := range []struct {
		expression string
		want       int
	}{
		{"workload=montecarlo", 24},
		{"scheduler=sidekick", 16},
		{"kind=dask", 8},
		{"policy=none", 8},
		{"policy=random|none", 16},
		{"policy!=random|none", 8},
		{"workers>=2", 12},
		{"workers<2", 12},
		{"workers>2|=2", -1},
		{"workers_per_node=2,nodes=1,threads=1", 12},
		{"repetition=1", 12},
		{"repetition!=1", 12},
		{"simulations=1_000", 12},
		{"simulations<=1e3", 12},
		{"simulations>1000.5", 12},
		{" scheduler = sidekick , policy = random | earliest-start, workers >= 2, repetition = 1 ", 4},
	} {
		got, err := p.Only(c.expression)
		have := -1
		if err == nil {
			have = got.Trials()
		}
		if have != c.want {
			t.Errorf("Only(%q): have %d trials (%v), want %d", c.expression, have, err, c.want)
		}
	}
}

func TestOnlyMistakes(t *testing.T) {
	t.Parallel()
	p := BuildPlan(mustLoad(t, small))
	var have strings.Builder
	for _, expression := range []string{
		"", "workload", "workload=montecarlo,", "=3", "polcy=random", "policy=randm", "policy=", "policy=random|",
		"policy<random", "workers=two", "workers=>2", "workers!2", "workers=1=2", "workers>=7", "workers=nan",
		"scheduler=sidekick,wörkers=1", "shape=merge", "scheduler=dask,policy=random",
	} {
		_, err := p.Only(expression)
		if err == nil {
			t.Errorf("Only(%q): no error", expression)
			continue
		}
		if hint.Exit(err) != hint.ExitUsage {
			t.Errorf("Only(%q): exit code %d, want %d", expression, hint.Exit(err), hint.ExitUsage)
		}
		fmt.Fprintf(&have, "== %s\n%v\nTry: %s\n\n", expression, err, hint.Of(err))
	}
	golden(t, "only.golden", have.String())
}

// TestOnlyKeepsOrderAndIdentity holds that a part of a plan is the plan with
// trials left out.
func TestOnlyKeepsOrderAndIdentity(t *testing.T) {
	t.Parallel()
	p := BuildPlan(mustLoad(t, small))
	rapid.Check(t, func(t *rapid.T) {
		var parts []string
		for _, options := range [][]string{
			{"scheduler=dask", "scheduler=sidekick", "policy=random|none", "policy!=none"},
			{"workers=1", "workers>1", "workers<=2", "simulations<1500"},
			{"repetition=2", "repetition>=1"},
		} {
			if o := rapid.SampledFrom(append(options, "")).Draw(t, "condition"); o != "" {
				parts = append(parts, o)
			}
		}
		if len(parts) == 0 {
			return
		}
		got, err := p.Only(strings.Join(parts, ","))
		if err != nil {
			t.Fatal(err)
		}
		all := p.Planned()
		i := 0
		for _, b := range got.Blocks {
			if len(b.Trials) == 0 {
				t.Fatal("a block without trials")
			}
			for _, w := range b.Warmups {
				if w.ID != w.Identity() {
					t.Fatal("a warm-up lost its identity")
				}
			}
			for _, tr := range b.Trials {
				for i < len(all) && (all[i].Warmup || all[i].ID != tr.ID) {
					i++
				}
				if i == len(all) {
					t.Fatalf("trial %v is out of order", tr)
				}
			}
		}
	})
}

func TestOnlyMovesWarmupsToAPolicyThatRuns(t *testing.T) {
	t.Parallel()
	p, err := BuildPlan(mustLoad(t, small)).Only("policy=earliest-start")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range p.Blocks {
		if len(b.Warmups) != 1 || b.Warmups[0].Policy != "earliest-start" || b.Warmups[0].ID != b.Warmups[0].Identity() {
			t.Errorf("warm-ups: have %v, want one under earliest-start", b.Warmups)
		}
	}
}

func FuzzOnly(f *testing.F) {
	for _, s := range []string{"workers>=2", "policy=random|none,repetition=1", "a!=b", ",", "=", "workers=|", "é<1"} {
		f.Add(s)
	}
	p := BuildPlan(mustLoad(f, small))
	f.Fuzz(func(t *testing.T, s string) {
		got, err := p.Only(s)
		if (got == nil) == (err == nil) {
			t.Fatalf("Only(%q): %v, %v", s, got, err)
		}
		if err != nil && hint.Of(err) == "" {
			t.Fatalf("Only(%q): no hint in %v", s, err)
		}
	})
}

func TestMistakesUnwrap(t *testing.T) {
	t.Parallel()
	_, err := Load("x.toml", []byte("a = 1\nb = 2\n"), testCatalog())
	var one *Mistake
	if !errors.As(err, &one) || one.Line != 1 {
		t.Errorf("first mistake: have %v", one)
	}
	var trial record.Trial
	if have := coordinate(&trial, "workers_per_node"); have != int64(0) {
		t.Errorf("workers per node without nodes: have %v, want 0", have)
	}
}
