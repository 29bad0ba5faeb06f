package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/esched/esched/report/stats"
)

func TestStopping(t *testing.T) {
	t.Parallel()
	wide, narrow := []float64{1, 2, 3, 2.5, 1.5}, []float64{1, 1.01, 0.99, 1.02, 0.98}
	tests := []struct {
		name    string
		rule    stats.Stopping
		x       []float64
		room    int
		outcome stats.Outcome
	}{
		{"nothing yet", stats.Stopping{Precision: 0.05}, nil, 9, stats.Continue},
		{"too few for an interval", stats.Stopping{Precision: 0.05}, narrow[:2], 9, stats.Continue},
		{"too few and no time", stats.Stopping{Precision: 0.05}, narrow[:2], 0, stats.Exhausted},
		{"narrow", stats.Stopping{Precision: 0.05}, narrow, 9, stats.Precise},
		{"narrow at the end of the time", stats.Stopping{Precision: 0.05}, narrow, 0, stats.Precise},
		{"narrow, fewer than wanted", stats.Stopping{Precision: 0.05, Least: 10}, narrow, 9, stats.Continue},
		{"wide", stats.Stopping{Precision: 0.05}, wide, 9, stats.Continue},
		{"wide, and enough of it", stats.Stopping{Precision: 0.05, Most: 5}, wide, 9, stats.Exhausted},
		{"wide, no time", stats.Stopping{Precision: 0.05}, wide, 0, stats.Exhausted},
		{"no precision wanted", stats.Stopping{Most: 6}, wide, 9, stats.Continue},
	}
	for _, test := range tests {
		have := test.rule.Next(test.x, test.room, 1)
		if have.Outcome != test.outcome || have.N != len(test.x) {
			t.Errorf("%s: have %+v, want %s", test.name, have, test.outcome)
		}
		if (have.HalfWidth == nil) != (len(test.x) < stats.MinSample) {
			t.Errorf("%s: have half-width %v", test.name, have.HalfWidth)
		}
	}
	have := stats.Stopping{Precision: 0.05, Least: 10}.Next(narrow, 9, 1)
	interval := stats.GeoMeanInterval(narrow, 1)
	near(t, "half-width", *have.HalfWidth, (interval.Hi-interval.Lo)/2/stats.GeoMean(narrow), 1e-12)
	if have.Further != 5 {
		t.Errorf("5 of at least 10: %d more", have.Further)
	}
	have = stats.Stopping{Precision: *stats.Stopping{Precision: 1}.Next(wide, 9, 1).HalfWidth / 2}.Next(wide, 9, 1)
	if have.Further != 15 { // half the width takes four times as many
		t.Errorf("5 at twice the width: %d more", have.Further)
	}
}

// TestStoppingEnds runs the rule on simulated experiments: it ends within its
// bounds, by precision, near the number of repetitions that the noise asks for,
// and its intervals hold the truth as often as the report says they do: nearly
// as often as their level from ten repetitions on, less often when it looks
// from three on, and much less so when times are skewed.
func TestStoppingEnds(t *testing.T) {
	t.Parallel()
	normal := func(r *rand.Rand) float64 { return r.NormFloat64() }
	skewed := func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }
	tests := []struct {
		name              string
		noise             func(*rand.Rand) float64
		least             int
		fewest, most      float64 // repetitions on average
		rarest, mostOften float64 // share of intervals that hold the truth
	}{
		{"normal, from ten", normal, 10, 11, 17, 0.90, 0.98},
		{"normal, from three", normal, 3, 7, 15, 0.84, 0.96},
		{"skewed, from ten", skewed, 10, 10, 17, 0.82, 0.95},
		{"skewed, from three", skewed, 3, 5, 14, 0.72, 0.90},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(5, 6))
			rule := stats.Stopping{Precision: 0.05, Least: test.least, Most: 60}
			const experiments = 300
			held, used := 0, 0
			for range experiments {
				var x []float64
				outcome := stats.Continue
				for outcome == stats.Continue {
					x = append(x, math.Exp(0.08*test.noise(random)))
					outcome = rule.Next(x, 1, 7).Outcome
				}
				if outcome != stats.Precise || len(x) < rule.Least || len(x) > rule.Most {
					t.Fatalf("ended by %s with %d repetitions", outcome, len(x))
				}
				used += len(x)
				if i := stats.GeoMeanInterval(x, 7); i.Lo <= 1 && 1 <= i.Hi {
					held++
				}
			}
			mean, share := float64(used)/experiments, float64(held)/experiments
			t.Logf("%.1f repetitions on average; %.3f of the intervals hold the true value", mean, share)
			if mean < test.fewest || mean > test.most {
				t.Errorf("%.1f repetitions on average, want %v to %v", mean, test.fewest, test.most)
			}
			if share < test.rarest || share > test.mostOften {
				t.Errorf("%.3f of the intervals hold the true value, want %v to %v", share, test.rarest, test.mostOften)
			}
		})
	}
}
