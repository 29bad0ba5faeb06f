package das

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// desk is a preserve in memory: reservations by id, and a record of what it
// was asked.
type desk struct {
	mu    sync.Mutex
	lines []string // of the listing
	asked []string
	fail  func(argv []string) (stdout string, err error, answered bool)
}

func (d *desk) exec(_ context.Context, argv []string) ([]byte, []byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, strings.Join(argv, " "))
	if d.fail != nil {
		if out, err, answered := d.fail(argv); answered {
			return []byte(out), nil, err
		}
	}
	switch {
	case argv[0] == "sinfo":
		return []byte("4 fatq\n28 defq*\n"), nil, nil
	case slices.Contains(argv, "-llist"):
		return []byte("\n\nid\tuser\n" + strings.Join(d.lines, "\n") + "\n"), nil, nil
	case slices.Contains(argv, "-c"):
		id := argv[2]
		i := slices.IndexFunc(d.lines, func(l string) bool { return strings.HasPrefix(l, id+"\t") })
		if i < 0 {
			return nil, []byte("no such reservation"), errors.New("exit status 1")
		}
		d.lines = slices.Delete(d.lines, i, i+1)
		return nil, nil, nil
	}
	d.lines = append(d.lines, "77\tme\t06/21\t07:10\t06/21\t07:26\tPD\t2\t-")
	return []byte("Reservation number 77:\n"), nil, nil
}

// set replaces the listing.
func (d *desk) set(lines ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = lines
}

type clock struct{ now time.Time }

func setup(t *testing.T, d *desk) (*Reserver, *clock) {
	c := &clock{june}
	return New(Config{User: "me", Batch: reserve.Batch{
		Profile: reserve.Profile{Ledger: reserve.OpenLedger(t.TempDir()), Now: func() time.Time { return c.now }, Cluster: "das6"},
		Exec:    d.exec,
	}}), c
}

var request = reserve.Request{Run: "/runs/x", Nodes: 2, Claim: 15 * time.Minute}

func entries(t *testing.T, r *Reserver) string {
	t.Helper()
	all, err := r.config.Ledger.Entries()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range all {
		id, _, _ := strings.Cut(e.ID, "-")
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

// TestLife follows a reservation as the listing shows it.
func TestLife(t *testing.T) {
	t.Parallel()
	d := &desk{}
	r, clock := setup(t, d)
	v, err := r.Reserve(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if v.ID() != "77" || entries(t, r) != "77" {
		t.Fatalf("have id %s, entries %s", v.ID(), entries(t, r))
	}
	const running = "77\tme\t06/21\t07:12\t06/21\t07:28\tR\t2\tnode001 node002"
	for _, step := range []struct {
		name   string
		after  time.Duration
		lines  []string
		want   reserve.State
		reason string
	}{
		{"not listed yet", time.Second, nil, reserve.Requested, "yet"},
		{"pending", 2 * time.Second, []string{"77\tme\t06/21\t07:12\t06/21\t07:28\tPD\t2\t-"}, reserve.Pending, "PD"},
		{"another one of the same user", 3 * time.Second, []string{"777\tme\t06/21\t07:12\t06/21\t07:28\tR\t1\tnode009",
			"77\tme\t06/21\t07:12\t06/21\t07:28\tPD\t2\t-"}, reserve.Pending, "PD"},
		{"running", 3 * time.Minute, []string{running}, reserve.Running, ""},
		{"cancelled by somebody", 4 * time.Minute, nil, reserve.Gone, "somebody cancelled it"},
		{"its time is over", 20 * time.Minute, nil, reserve.Gone, "time is over"},
	} {
		d.set(step.lines...)
		clock.now = june.Add(step.after)
		have, err := v.Status(t.Context())
		if err != nil || have.State != step.want || !strings.Contains(have.Reason, step.reason) {
			t.Errorf("%s: want %s (%s), have %+v, %v", step.name, step.want, step.reason, have, err)
		}
		if step.want == reserve.Running && (!have.Deadline.Equal(june.Add(18*time.Minute)) || len(have.Hosts) != 2) {
			t.Errorf("running: have %+v", have)
		}
	}
	// preserve refuses to cancel what ended; that is as good.
	for range 2 {
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if have := entries(t, r); have != "" {
		t.Errorf("after release: entries %s", have)
	}
	if have, err := v.Status(t.Context()); err != nil || have.State != reserve.Released {
		t.Errorf("after release: %+v, %v", have, err)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		batch reserve.Batch
		claim time.Duration
		want  string
	}{
		{reserve.Batch{}, 15 * time.Minute, "preserve -np 2 -t 00:15:00"},
		{reserve.Batch{}, 26*time.Hour + 1500*time.Millisecond, "preserve -np 2 -t 26:00:02"},
		{reserve.Batch{Partition: "fatq"}, time.Minute, "preserve -np 2 -t 00:01:00 -q fatq"},
		{reserve.Batch{Account: "p", Constraint: "cpunode", Native: []string{"-w node001", "--mem=0"}}, time.Minute,
			"preserve -np 2 -t 00:01:00 -native -A p -C cpunode -w node001 --mem=0"},
	} {
		q := request
		q.Claim = c.claim
		if have := strings.Join(New(Config{Batch: c.batch}).command(q), " "); have != c.want {
			t.Errorf("want %s, have %s", c.want, have)
		}
	}
}

// TestCheck refuses what can never be granted, before preserve is asked.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		config func(*Config)
		change func(*reserve.Request)
		want   string
	}{
		{"fits", nil, nil, ""},
		{"whole partition", nil, func(q *reserve.Request) { q.Nodes = 28 }, ""},
		{"more than the partition", nil, func(q *reserve.Request) { q.Nodes = 29 }, "the default partition has 28 node(s) for one reservation, 29 asked"},
		{"more than the profile", func(c *Config) { c.MaxNodes = 8 }, func(q *reserve.Request) { q.Nodes = 9 }, "9 nodes asked, the cluster's profile allows 8 at once (max_nodes)"},
		{"no such partition", func(c *Config) {
			c.Partition, c.Exec = "nope", func(context.Context, []string) ([]byte, []byte, error) { return nil, nil, nil }
		}, nil, `no partition "nope"`},
		{"no sinfo", func(c *Config) {
			c.Exec = func(context.Context, []string) ([]byte, []byte, error) { return nil, nil, exec.ErrNotFound }
		}, func(q *reserve.Request) { q.Nodes = 29 }, ""},
		{"at night", func(c *Config) { c.Policy = reserve.DASPolicy() }, func(q *reserve.Request) { q.Claim = 16 * time.Minute }, ""},
		{"by day", func(c *Config) {
			c.Policy, c.Now = reserve.DASPolicy(), func() time.Time { return june.Add(25 * time.Hour) }
		}, func(q *reserve.Request) { q.Claim = 16 * time.Minute }, "a claim of 16m0s from Mon 08:10"},
	} {
		d := &desk{}
		r, _ := setup(t, d)
		if c.config != nil {
			c.config(&r.config)
		}
		q := request
		if c.change != nil {
			c.change(&q)
		}
		err := r.Check(t.Context(), q)
		if c.want == "" && err != nil || c.want != "" && (hint.Exit(err) != hint.ExitUsage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: want %q, have %v", c.name, c.want, err)
		}
		if slices.ContainsFunc(d.asked, func(a string) bool { return strings.HasPrefix(a, "preserve") }) {
			t.Errorf("%s: preserve was asked: %q", c.name, d.asked)
		}
	}
}

// TestRefusals keeps an entry exactly when a reservation may exist.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, out string
		err       error
		entry     string // what remains in the ledger
		want      string
	}{
		{"refused", "preserve: no such partition", errors.New("exit status 1"), "", "no such partition"},
		{"no number", "done", nil, "", `no reservation number in "done"`},
		{"number in spite of a status", "Reservation number 5:", errors.New("exit status 1"), "5", ""},
		{"not installed", "", fmt.Errorf("preserve: %w", exec.ErrNotFound), "", "not found"},
		{"no answer", "", context.DeadlineExceeded, "asked", "outcome unknown"},
	} {
		d := &desk{fail: func(argv []string) (string, error, bool) {
			return c.out, c.err, argv[0] == "preserve" && slices.Contains(argv, "-np")
		}}
		r, _ := setup(t, d)
		ctx := t.Context()
		if c.entry == "asked" {
			d.fail = nil
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			r.config.Exec = func(ctx context.Context, argv []string) ([]byte, []byte, error) {
				if argv[0] == "preserve" {
					cancel()
					return nil, nil, ctx.Err()
				}
				return d.exec(ctx, argv)
			}
		}
		_, err := r.Reserve(ctx, request)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: want %q, have %v", c.name, c.want, err)
		}
		if have := entries(t, r); have != c.entry {
			t.Errorf("%s: want entry %q, have %q", c.name, c.entry, have)
		}
	}
}

// TestLostNumber never cancels a reservation whose number esched did not get.
func TestLostNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing was made", nil, ""},
		{"only others'", []string{"8\tyou\t06/21\t07:10\t06/21\t07:26\tR\t1\tnode001"}, ""},
		{"one of the user's from before", []string{"8\tme\t06/21\t06:00\t06/21\t08:00\tR\t1\tnode001"}, ""},
		{"one that is in the ledger", []string{"9\tme\t06/21\t07:10\t06/21\t07:26\tR\t1\tnode001"}, ""},
		{"perhaps this", []string{"10\tme\t06/21\t07:10\t06/21\t07:26\tR\t1\tnode001"}, "it may be one of: 10"},
	} {
		d := &desk{lines: c.lines}
		r, _ := setup(t, d)
		lost := reserve.Entry{Kind: Kind, ID: "asked-abc", Run: "/runs/x", Made: june}
		known := reserve.Entry{Kind: Kind, ID: "9", Run: "/runs/y", Made: june}
		if err := errors.Join(r.config.Ledger.Add(lost), r.config.Ledger.Add(known)); err != nil {
			t.Fatal(err)
		}
		v, err := r.Attach(lost)
		if err != nil {
			t.Fatal(err)
		}
		err = v.Release(t.Context())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "") {
			t.Errorf("%s: want %q, have %v", c.name, c.want, err)
		}
		if have := strings.Contains(entries(t, r), "asked"); have != (c.want != "") {
			t.Errorf("%s: entry remains: %v", c.name, have)
		}
		if slices.ContainsFunc(d.asked, func(a string) bool { return strings.Contains(a, "-c") }) {
			t.Errorf("%s: something was cancelled: %q", c.name, d.asked)
		}
	}
}

// TestAdopt goes on with another run's reservation where it fits.
func TestAdopt(t *testing.T) {
	t.Parallel()
	const (
		pending = "77\tme\t06/21\t07:10\t06/21\t07:26\tPD\t2\t-"
		running = "77\tme\t06/21\t07:10\t06/21\t07:26\tR\t2\tnode001 node002"
	)
	for _, c := range []struct {
		name, line string
		after      time.Duration
		change     func(*Config, *reserve.Request)
		want       bool
	}{
		{"pending", pending, time.Hour, nil, true},
		{"running", running, time.Minute, nil, true},
		{"over soon", running, 10 * time.Minute, nil, false},
		{"over soon, but long enough", running, 10 * time.Minute, func(_ *Config, q *reserve.Request) { q.Claim = 5 * time.Minute }, true},
		{"too small", pending, 0, func(_ *Config, q *reserve.Request) { q.Nodes = 3 }, false},
		{"larger", pending, 0, func(_ *Config, q *reserve.Request) { q.Nodes = 1 }, true},
		{"other nodes", pending, 0, func(c *Config, _ *reserve.Request) { c.Constraint = "gpunode" }, false},
		{"another partition", pending, 0, func(c *Config, _ *reserve.Request) { c.Partition = "fatq" }, false},
		{"another cluster", pending, 0, func(c *Config, _ *reserve.Request) { c.Cluster = "das5" }, false},
		{"over", "", 20 * time.Minute, nil, false},
	} {
		d := &desk{}
		r, clock := setup(t, d)
		if _, err := r.Reserve(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		left, err := r.config.Ledger.Entries()
		if err != nil || len(left) != 1 {
			t.Fatalf("want one entry, have %v, %v", left, err)
		}
		d.set(c.line)
		clock.now = june.Add(c.after)
		q := request
		q.Run = "/runs/y"
		if c.change != nil {
			c.change(&r.config, &q)
		}
		v, err := r.Adopt(t.Context(), q, left[0])
		if err != nil || (v != nil) != c.want {
			t.Errorf("%s: want adopted %t, have %v, %v", c.name, c.want, v, err)
		}
	}
}

// TestReleaseFails keeps the entry while the nodes may be taken.
func TestReleaseFails(t *testing.T) {
	t.Parallel()
	d := &desk{}
	r, _ := setup(t, d)
	v, err := r.Reserve(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	d.fail = func(argv []string) (string, error, bool) {
		return "queue down", errors.New("exit status 1"), slices.Contains(argv, "-c")
	}
	if err := v.Release(t.Context()); err == nil || !strings.Contains(err.Error(), "queue down") || hint.Of(err) != "preserve -c 77" {
		t.Errorf("have %v", err)
	}
	if have := entries(t, r); have != "77" {
		t.Errorf("have entries %q", have)
	}
	d.fail = nil
	if err := v.Release(t.Context()); err != nil || entries(t, r) != "" {
		t.Errorf("second try: %v, entries %q", err, entries(t, r))
	}
	if _, err := r.Attach(reserve.Entry{Kind: Kind, ID: "-llist", Run: "/x"}); err == nil {
		t.Error("id that is no number: want an error")
	}
}
