package cmd

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/reserve"
)

// onThisMachine stands for a launcher that reaches a node: it executes on this machine what
// follows its options.
const onThisMachine = `#!/bin/sh
while [ "$1" != --input=0 ]; do shift; done
shift
exec "$@"
`

// TestProcessesEndWithTheClaim lets the queue tell an end of the claim that has
// come, to an esched that lives, keeps its guards informed, and does nothing
// about it.
func TestProcessesEndWithTheClaim(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	program := filepath.Join(t.TempDir(), "srun")
	if err := os.WriteFile(program, []byte(onThisMachine), 0o755); err != nil {
		t.Fatal(err)
	}
	s.p.LookPath = func(string) (string, error) { return program, nil }
	var end atomic.Pointer[time.Time]
	tell := func(left time.Duration) {
		at := time.Now().Add(left)
		end.Store(&at)
	}
	tell(time.Hour)
	queue := &counter{began: time.Now(), say: func(time.Duration) (reserve.Status, error) {
		return reserve.Status{State: reserve.Running, Hosts: []string{"node001"}, Deadline: *end.Load()}, nil
	}}
	x := &site{
		session:     &session{runOptions: &runOptions{globals: &globals{Process: s.p}}},
		reservation: &holding{Reservation: queue, now: time.Now},
		nodes:       &nodes{cluster: clusterOptions{Kind: clusterSLURM, Launcher: launcherSrun, Silence: leastSilence * time.Second}, scratch: t.TempDir()},
	}
	ask := func() {
		t.Helper()
		if _, err := x.reservation.ask(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	h, err := x.way().host(t.Context(), "node001")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p, err := h.Start(t.Context(), deploy.Command{Name: "lasting", Argv: []string{"sleep", "1000"}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	tell(-time.Minute)
	ask()
	select {
	case <-p.Done():
	case <-time.After(runLimit):
		t.Fatal("a process outlives its claim")
	}
	if p.Err() == nil {
		t.Error("want an end that was not asked for by esched, have none")
	}
}
