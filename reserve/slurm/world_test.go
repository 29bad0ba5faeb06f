package slurm_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/reservetest"
	"github.com/esched/esched/reserve/slurm"
)

// bound is generous: nodes are granted within seconds on an idle machine.
const bound = 2 * time.Minute

// queue is a reserver in a world, with a ledger of its own.
type queue struct {
	*slurm.Reserver
	ledger *reserve.Ledger
	config reserve.Batch
}

func newQueue(t *testing.T, w *slurmworld.World, change func(*reserve.Batch)) queue {
	ledger := reserve.OpenLedger(t.TempDir())
	c := batch(ledger, w.Runner(t, slurmworld.User))
	if change != nil {
		change(&c)
	}
	return queue{slurm.New(c), ledger, c}
}

func batch(l *reserve.Ledger, x reserve.Exec) reserve.Batch {
	return reserve.Batch{Profile: reserve.Profile{Ledger: l, Now: time.Now, Cluster: "slurm"}, Exec: x}
}

func request(nodes int) reserve.Request {
	return reserve.Request{Run: "/runs/one", Nodes: nodes, Claim: 10 * time.Minute, Poll: time.Second}
}

func (q queue) obtain(t *testing.T, nodes int) reserve.Reservation {
	t.Helper()
	v, err := q.Reserve(t.Context(), request(nodes))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Release(context.Background()) }) // tests of the release check it themselves
	return v
}

func (q queue) entries(t *testing.T, want int) []reserve.Entry {
	t.Helper()
	have, err := q.ledger.Entries()
	if err != nil || len(have) != want {
		t.Errorf("ledger: want %d entries, have %+v, %v", want, have, err)
	}
	return have
}

// await asks until the reservation is in a state.
func await(t *testing.T, v reserve.Reservation, want reserve.State) reserve.Status {
	t.Helper()
	return reservetest.Await(t, v, bound, want)
}

// usage checks a refusal that names the mistake and a mend.
func usage(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, have %v", want, err)
	}
	if hint.Exit(err) != hint.ExitUsage || hint.Of(err) == "" {
		t.Errorf("want a usage error with a hint, have %v", err)
	}
}

// noJobs checks that nothing of the user is queued or runs.
func noJobs(t *testing.T, w *slurmworld.World) {
	t.Helper()
	if have := w.Output(t, slurmworld.User, "squeue", "-h", "-u", slurmworld.User, "-t", "PENDING,RUNNING"); have != "" {
		t.Errorf("want no jobs, have %s", have)
	}
}

func conform(t *testing.T, w *slurmworld.World) {
	reservetest.Run(t, func(t *testing.T, dir string) reservetest.Setup {
		ledger := reserve.OpenLedger(dir)
		r := slurm.New(batch(ledger, w.Runner(t, slurmworld.User)))
		return reservetest.Setup{Reserver: r, Ledger: ledger, TooMany: len(w.Nodes) + 1, Fixed: true, Bound: bound}
	})
	noJobs(t, w)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		conform(t, w)
		testLengthened(t, w)
	})
}

// testLengthened lengthens a job as its user may not, but administrators may,
// where the site's policy allows it.
func testLengthened(t *testing.T, w *slurmworld.World) {
	q := newQueue(t, w, func(c *reserve.Batch) {
		c.Exec = w.Runner(t, "root")
		week := []time.Weekday{0, 1, 2, 3, 4, 5, 6}
		c.Policy = reserve.TimePolicy{MaxClaim: 15 * time.Minute, Days: week} // all day
	})
	v := q.obtain(t, 1)
	before := await(t, v, reserve.Running)
	e := v.(reserve.Extender)
	_, err := e.Extend(t.Context(), 10*time.Minute)
	if !errors.Is(err, reserve.ErrTimePolicy) || hint.Of(err) == "" {
		t.Errorf("beyond the policy: have %v", err)
	}
	deadline, err := e.Extend(t.Context(), 90*time.Second)
	if want := before.Deadline.Add(2 * time.Minute); err != nil || !deadline.Equal(want) {
		t.Errorf("want an end at %v, have %v, %v", want, deadline, err)
	}
	if s := await(t, v, reserve.Running); !s.Deadline.Equal(deadline) {
		t.Errorf("want %v, have %+v", deadline, s)
	}
	w.Output(t, "root", "scancel", v.ID())
	await(t, v, reserve.Gone)
	if have, err := e.Extend(t.Context(), time.Minute); err == nil {
		t.Errorf("a job that ended: have %v", have)
	}
	if err := v.Release(t.Context()); err != nil {
		t.Error(err)
	}
	noJobs(t, w)
}

// TestConformanceWithoutJSON uses an squeue that only writes text.
func TestConformanceWithoutJSON(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		wrapWithoutJSON(t, w)
		conform(t, w)
	})
}

func wrapWithoutJSON(t *testing.T, w *slurmworld.World) {
	wrap(t, w, "squeue", `for a; do [ "$a" != --json ] || { echo "squeue: unrecognized option '--json'" >&2; exit 1; }; done
exec /usr/bin/squeue "$@"`)
}

// wrap puts a script in place of a command of SLURM.
func wrap(t *testing.T, w *slurmworld.World, name, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.Install(t, slurmworld.User, path)
}

// TestRefusals asks for what the queue does not give.
func TestRefusals(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		for _, c := range []struct {
			name   string
			change func(*reserve.Batch, *reserve.Request)
			want   string
		}{
			{"partition", func(c *reserve.Batch, _ *reserve.Request) { c.Partition = "nope" }, `the cluster has no partition "nope"`},
			{"nodes", func(_ *reserve.Batch, q *reserve.Request) { q.Nodes = 3 }, "3 nodes asked, partition defq has 2"},
			{"time", func(c *reserve.Batch, q *reserve.Request) { c.Partition, q.Claim = "short", time.Hour }, "1h0m0s claimed, partition short gives up to 15m0s"},
			{"profile", func(c *reserve.Batch, q *reserve.Request) { c.MaxNodes, q.Nodes = 1, 2 }, "allows 1 at once (max_nodes)"},
			{"constraint", func(c *reserve.Batch, _ *reserve.Request) { c.Constraint = "gpunode" }, "1 nodes with gpunode asked, partition defq has 0"},
			{"option", func(c *reserve.Batch, _ *reserve.Request) { c.Native = []string{"--nonsense"} }, "unrecognized option"},
			{"expression", func(c *reserve.Batch, _ *reserve.Request) { c.Constraint = "cpunode&nope" }, "Invalid feature specification"},
		} {
			t.Run(c.name, func(t *testing.T) {
				r := request(1)
				q := newQueue(t, w, func(s *reserve.Batch) { c.change(s, &r) })
				v, err := q.Reserve(t.Context(), r)
				if err == nil {
					t.Fatalf("want no reservation, have %s", v.ID())
				}
				usage(t, err, c.want)
				q.entries(t, 0)
			})
		}
		noJobs(t, w)
	})
}

// TestWait waits for nodes that somebody else has.
func TestWait(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		_, free := w.Occupy(t, 1)
		q := newQueue(t, w, nil)
		v := q.obtain(t, 2)
		s := reservetest.AwaitThat(t, v, bound, "an estimated start", func(s reserve.Status) bool { return s.State == reserve.Pending && !s.Start.IsZero() })
		if s.Reason == "" || len(s.Hosts) > 0 {
			t.Errorf("pending: have %+v", s)
		}
		free()
		s = await(t, v, reserve.Running)
		if strings.Join(s.Hosts, " ") != "node001 node002" {
			t.Errorf("hosts: have %q", s.Hosts)
		}
		// A job that has got the id of one that was lost is somebody's.
		lost := q.entries(t, 1)[0]
		lost.Name = "esched-lost"
		other, err := q.Attach(lost)
		if err != nil {
			t.Fatal(err)
		}
		reservetest.Await(t, other, bound, reserve.Requested, reserve.Gone) // by its age
		if err := other.Release(t.Context()); err != nil {
			t.Error(err)
		}
		await(t, v, reserve.Running)
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		noJobs(t, w)
	})
}

// TestOutage lets the controller be silent while the reservation is asked for.
func TestOutage(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 1}, func(t *testing.T, w *slurmworld.World) {
		q := newQueue(t, w, nil)
		v := q.obtain(t, 1)
		await(t, v, reserve.Running)
		w.StopController(t)
		_, err := v.Status(t.Context())
		if err == nil || !strings.Contains(err.Error(), "squeue") || hint.Of(err) == "" {
			t.Errorf("silent controller: want an error that names squeue, with a hint, have %v", err)
		}
		if _, err := q.Reserve(t.Context(), request(1)); err == nil {
			t.Error("reservation from a silent controller: want an error")
		}
		if err := v.Release(t.Context()); err == nil {
			t.Error("release to a silent controller: want an error")
		}
		q.entries(t, 1)
		w.StartController(t)
		reservetest.Await(t, v, bound, reserve.Running, reserve.Gone, reserve.Failed) // whatever SLURM makes of the pause
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		q.entries(t, 0)
		noJobs(t, w)
	})
}

// TestEnds lets reservations end in every way that is not a release.
func TestEnds(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3}, func(t *testing.T, w *slurmworld.World) {
		q := newQueue(t, w, nil)
		for _, c := range []struct {
			name   string
			strike func(t *testing.T, id, host string)
			want   reserve.State
			reason string
		}{
			{"cancelled", func(t *testing.T, id, _ string) { w.Output(t, "root", "scancel", id) }, reserve.Gone, ""},
			{"expired", func(t *testing.T, id, _ string) { w.Expire(t, id) }, reserve.Gone, ""},
			{"node taken down", func(t *testing.T, _, host string) {
				w.Output(t, "root", "scontrol", "update", "nodename="+host, "state=down", "reason=test")
			}, reserve.Failed, "a node failed"},
		} {
			t.Run(c.name, func(t *testing.T) {
				v := q.obtain(t, 1)
				c.strike(t, v.ID(), await(t, v, reserve.Running).Hosts[0])
				s := await(t, v, c.want)
				if s.Reason == "" || !strings.Contains(s.Reason, c.reason) || len(s.Hosts) > 0 {
					t.Errorf("want reason %q, have %+v", c.reason, s)
				}
				for range 2 {
					if err := v.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
				q.entries(t, 0)
			})
		}
		noJobs(t, w)
	})
}

// TestNodeCrash loses one of several nodes: the others stay ours.
func TestNodeCrash(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 3}, func(t *testing.T, w *slurmworld.World) {
		q := newQueue(t, w, nil)
		v := q.obtain(t, 3)
		await(t, v, reserve.Running)
		w.Crash(t, "node003")
		s := reservetest.AwaitThat(t, v, bound, "two nodes", func(s reserve.Status) bool { return len(s.Hosts) < 3 })
		if s.State != reserve.Running || strings.Join(s.Hosts, " ") != "node001 node002" {
			t.Errorf("want the other two nodes, have %+v", s)
		}
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		noJobs(t, w)
	})
}
