package cmd

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/runners/record"
)

// Tests that act in the middle of a run force the order: what they act upon
// cannot end before they did, however slow they are.

// unending is a user's program that keeps Dask at work until a test lets it
// finish. What the test did before that has happened to the last round.
const unending = `import os

def double(n):
    return 2 * n

def run(client, params):
    directory = params["directory"]
    while True:
        last = os.path.exists(os.path.join(directory, "finish"))
        total = sum(client.gather(client.map(double, range(400), pure=False)))
        open(os.path.join(directory, "at-work"), "w").close()
        if last:
            return total
`

// writeUnending makes an experiment of one trial that goes on until finish;
// more are lines of the file.
func (s *shell) writeUnending(python, more string) {
	s.t.Helper()
	s.write("unending.py", unending)
	s.write("experiments.toml", fmt.Sprintf(`name = "unending"
repetitions = 1
claim_time = "00:30:00"
timeout = "600s"
warmup = 0
environment = %q
%s
[program.unending]
script = "unending.py"
[[workload]]
name = "unending"
directory = %q
`, python, more, s.p.Dir))
}

// awaitWork returns when Dask has done a part of the trial and is at the next.
func (s *shell) awaitWork() {
	s.t.Helper()
	eventually(s.t, runLimit, "work on the trial", func() bool { return s.there("at-work") })
}

func (s *shell) there(name string) bool {
	_, err := os.Stat(s.p.path(name))
	return err == nil
}

// finish lets the trial end, and every one after it.
func (s *shell) finish() {
	s.t.Helper()
	s.write("finish", "")
}

// trialEnded is the point at which the record of a trial, or of a warm-up, and
// its end are on disk, and nothing that follows has begun.
var trialEnded = failpoint.Told(string(record.EventTrialEnded), "")

// atPoint returns points that do something when one is reached for the n-th
// time.
func atPoint(point failpoint.Point, n int32, do func()) failpoint.Points {
	var count atomic.Int32
	return func(p failpoint.Point) {
		if p == point && count.Add(1) == n {
			do()
		}
	}
}

// standStill makes esched of the test binary write a file and stand still when
// so many trials and warm-ups have ended: "NUMBER FILE".
const standStill = "ESCHED_TEST_STAND_STILL"

// standing returns the points at which esched stands still.
func standing(order string) (failpoint.Points, error) {
	number, file, _ := strings.Cut(order, " ")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return nil, err
	}
	return atPoint(trialEnded, int32(n), func() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			panic(err)
		}
		select {}
	}), nil
}

// TestAtPoint holds that other points and other visits do not count.
func TestAtPoint(t *testing.T) {
	t.Parallel()
	done := 0
	points := atPoint("a", 2, func() { done++ })
	for i, want := range []int{0, 0, 1, 1} {
		points.Reach([]failpoint.Point{"a", "b", "a", "a"}[i])
		if done != want {
			t.Errorf("after %d points: done %d times, want %d", i+1, done, want)
		}
	}
}
