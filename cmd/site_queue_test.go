package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

// counter is a queue's window: it answers by a script of the time that went by.
type counter struct {
	reserve.Reservation
	began time.Time
	asked []time.Duration
	say   func(waited time.Duration) (reserve.Status, error)
}

func (c *counter) ID() string { return "42" }

func (c *counter) Status(context.Context) (reserve.Status, error) {
	waited := time.Since(c.began)
	c.asked = append(c.asked, waited)
	return c.say(waited)
}

func TestAwait(t *testing.T) {
	t.Parallel()
	pending := reserve.Status{State: reserve.Pending, Reason: "Resources"}
	granted := reserve.Status{State: reserve.Running, Hosts: []string{"n1"}}
	until := func(end time.Duration, s reserve.Status) func(time.Duration) (reserve.Status, error) {
		return func(waited time.Duration) (reserve.Status, error) {
			if waited < end {
				return s, nil
			}
			return granted, nil
		}
	}
	outage := func(from, to time.Duration) func(time.Duration) (reserve.Status, error) {
		return func(waited time.Duration) (reserve.Status, error) {
			if waited >= from && waited < to {
				return reserve.Status{}, errors.New("squeue: no controller")
			}
			return until(to+time.Minute, pending)(waited)
		}
	}
	for _, c := range []struct {
		name      string
		poll      time.Duration
		bound     time.Duration
		say       func(time.Duration) (reserve.Status, error)
		questions [2]int        // least and most
		within    time.Duration // of the grant or the end
		events    []string
		err       string
		exit      int
	}{
		{"free nodes", 15 * time.Second, 0, until(2*time.Second, pending), [2]int{3, 3}, 2 * time.Second,
			[]string{"pending 42 Resources", "running 42 n1"}, "", 0},
		{"an hour", 15 * time.Second, 0, until(time.Hour, pending), [2]int{120, 160}, time.Hour + 30*time.Second,
			[]string{"pending 42 Resources", "running 42 n1"}, "", 0},
		{"an hour, asked seldom", 5 * time.Minute, 0, until(time.Hour, pending), [2]int{15, 20}, time.Hour + 5*time.Minute,
			[]string{"pending 42 Resources", "running 42 n1"}, "", 0},
		{"never", time.Second, 20 * time.Minute, until(time.Hour, pending), [2]int{80, 95}, 20 * time.Minute,
			[]string{"pending 42 Resources"}, "reservation 42: no nodes within 20m0s (queue_wait): pending Resources", hint.ExitNoNodes},
		{"short outage", time.Second, 0, outage(10*time.Second, 40*time.Second), [2]int{15, 25}, 110 * time.Second,
			[]string{"pending 42 Resources", "warning the queue does not answer (squeue: no controller)", "pending 42 Resources", "running 42 n1"}, "", 0},
		{"long outage", time.Second, 0, outage(10*time.Second, time.Hour), [2]int{50, 80}, 11 * time.Minute,
			[]string{"pending 42 Resources", "warning the queue does not answer"}, "the queue has not answered for 10m0s: squeue: no controller", hint.ExitError},
		{"cancelled by somebody", time.Second, 0, until(time.Hour, reserve.Status{State: reserve.Gone, Reason: "cancelled"}), [2]int{1, 1}, 0,
			[]string{"gone 42 cancelled"}, "reservation 42 is gone: cancelled", hint.ExitNoNodes},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				desk := &counter{began: time.Now(), say: c.say}
				var events []string
				w := &wait{
					holding: &holding{Reservation: desk, now: time.Now}, poll: c.poll, bound: c.bound, resume: "esched run --resume runs/x",
					tell: func(e record.Event) {
						word := e.State
						if e.Kind == record.EventWarning {
							word = "warning"
						}
						events = append(events, word+" "+e.Message)
					},
				}
				status, err := w.await(t.Context())
				if c.err == "" && (err != nil || status.State != reserve.Running) {
					t.Errorf("want nodes, have %+v, %v", status, err)
				}
				if c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err) || hint.Exit(err) != c.exit) {
					t.Errorf("want %s (exit %d), have %v (exit %d)", c.err, c.exit, err, hint.Exit(err))
				}
				if c.exit == hint.ExitNoNodes && !strings.Contains(hint.Of(err), "esched run --resume runs/x") {
					t.Errorf("hint: have %q", hint.Of(err))
				}
				if n := len(desk.asked); n < c.questions[0] || n > c.questions[1] {
					t.Errorf("questions: want %v, have %d: %v", c.questions, n, desk.asked)
				}
				if waited := time.Since(desk.began); waited > c.within {
					t.Errorf("want an end within %v, have %v", c.within, waited)
				}
				if len(events) != len(c.events) {
					t.Fatalf("events: want %q, have %q", c.events, events)
				}
				for i, want := range c.events {
					if !strings.HasPrefix(events[i], want) {
						t.Errorf("event %d: want %q, have %q", i, want, events[i])
					}
				}
			})
		})
	}
}

func TestAwaitStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("Ctrl-C")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(7*time.Second, func() { cancel(stop) })
		desk := &counter{began: time.Now(), say: func(time.Duration) (reserve.Status, error) { return reserve.Status{State: reserve.Pending}, nil }}
		w := &wait{holding: &holding{Reservation: desk, now: time.Now}, tell: func(record.Event) {}}
		if _, err := w.await(ctx); !errors.Is(err, stop) || time.Since(desk.began) != 7*time.Second {
			t.Errorf("have %v after %v", err, time.Since(desk.began))
		}
	})
}

func TestPermit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running := reserve.Status{State: reserve.Running, Hosts: []string{"n1", "n2"}, Deadline: time.Now().Add(15 * time.Minute)}
		answer, failure := running, error(nil)
		desk := &counter{began: time.Now(), say: func(time.Duration) (reserve.Status, error) { return answer, failure }}
		h := &holding{Reservation: desk, now: time.Now}
		check := func(name, host, want string, questions int) {
			t.Helper()
			err := h.permit(t.Context(), host)
			if have := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(have, want) {
				t.Errorf("%s: want %q, have %v", name, want, err)
			}
			if len(desk.asked) != questions {
				t.Errorf("%s: want %d questions so far, have %d", name, questions, len(desk.asked))
			}
		}
		check("first", "n1", "", 1)
		check("known", "n2", "", 1)
		check("another's node", "n3", "n3 is not in reservation 42", 1)
		time.Sleep(59 * time.Second)
		check("fresh", "n1", "", 1)
		time.Sleep(2 * time.Second)
		check("asked again", "n1", "", 2)
		time.Sleep(2 * time.Minute)
		failure = errors.New("no controller")
		check("no answer, young", "n1", "", 3)
		time.Sleep(4 * time.Minute)
		check("no answer, old", "n1", "may be over: no controller", 4)
		failure, answer = nil, reserve.Status{State: reserve.Gone, Reason: "cancelled"}
		check("gone", "n1", "reservation 42 is not running: gone cancelled", 5)
	})
}

// TestWatch ends a claim whose nodes are taken, but not for one odd answer.
func TestWatch(t *testing.T) {
	t.Parallel()
	all := reserve.Status{State: reserve.Running, Hosts: []string{"n1", "n2"}}
	some := reserve.Status{State: reserve.Running, Hosts: []string{"n1"}}
	gone := reserve.Status{State: reserve.Gone, Reason: "cancelled"}
	failed := reserve.Status{State: reserve.Failed, Reason: "NODE_FAIL"}
	for _, c := range []struct {
		name    string
		answers []reserve.Status
		want    string
	}{
		{"all is well", []reserve.Status{all, all, all}, ""},
		{"one odd answer", []reserve.Status{all, gone, all}, ""},
		{"gone", []reserve.Status{all, gone, gone}, "reservation lost: 42 is gone: cancelled"},
		{"failed", []reserve.Status{failed}, "reservation lost: 42 is failed: NODE_FAIL"},
		{"a node less", []reserve.Status{all, some, some}, "n2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				n := 0
				desk := &counter{began: time.Now()}
				desk.say = func(time.Duration) (reserve.Status, error) {
					n++
					return c.answers[min(n, len(c.answers))-1], nil
				}
				var have []string
				h := &holding{Reservation: desk, now: time.Now}
				h.watch(ctx, time.Second, []string{"n1", "n2"}, func(host string) { have = append(have, host) },
					func(err error) { have = append(have, err.Error()) })
				if strings.Join(have, "; ") != c.want {
					t.Errorf("want %q, have %q", c.want, have)
				}
				if most := 20; len(desk.asked) > most {
					t.Errorf("%d questions in 10 minutes, want %d at most", len(desk.asked), most)
				}
			})
		})
	}
}

// TestQueueEnvironment keeps the user's defaults for SLURM's commands from those
// whose output is read.
func TestQueueEnvironment(t *testing.T) {
	t.Parallel()
	p := Process{LookPath: exec.LookPath, Environ: func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "SQUEUE_FORMAT=%i", "SBATCH_ACCOUNT=a", "LC_ALL=de_DE"}
	}}
	out, _, err := p.exec(t.Context(), []string{"env"})
	have := strings.Fields(string(out))
	if err != nil || !slices.Contains(have, "SBATCH_ACCOUNT=a") || !slices.Contains(have, "LC_ALL=C") || slices.Contains(have, "SQUEUE_FORMAT=%i") {
		t.Errorf("have %q, %v", have, err)
	}
}
