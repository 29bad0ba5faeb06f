package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/internal/hint"
)

// quarters is a user's directory on a node of a test.
type quarters struct {
	t    *testing.T
	node *deploy.Node
	home string
	now  time.Time
}

func newQuarters(t *testing.T) *quarters {
	line := &cable{lease: longLease}
	return &quarters{t, deploy.NewNode("node001", "", line.open), filepath.Join(t.TempDir(), "esched-user"), time.Now()}
}

// moveIn makes the directory of a run whose claim ends at that time.
func (q *quarters) moveIn(name string, until time.Time, over ...string) deploy.Tidied {
	q.t.Helper()
	for i := range over {
		over[i] = filepath.Join(q.home, over[i])
	}
	done, err := q.node.Tidy(q.t.Context(), deploy.Tidying{
		Home: q.home, Dir: filepath.Join(q.home, name), Now: q.now, Over: over,
		Stay: deploy.Stay{Run: "/runs/" + name, Reservation: "static abc", Until: until},
	})
	if err != nil {
		q.t.Fatal(err)
	}
	return done
}

// there lists what is in the user's directory.
func (q *quarters) there() []string {
	q.t.Helper()
	entries, err := os.ReadDir(q.home)
	if err != nil {
		q.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (q *quarters) want(names ...string) {
	q.t.Helper()
	if have := q.there(); !slices.Equal(have, names) {
		q.t.Errorf("want %q, have %q", names, have)
	}
}

// TestTidy moves in where others were before.
func TestTidy(t *testing.T) {
	t.Parallel()
	q := newQuarters(t)
	hour := time.Hour
	q.moveIn("r1", q.now.Add(hour))
	q.moveIn("r2", q.now.Add(-hour))
	q.want("r1", "r2")
	done := q.moveIn("r3", time.Time{}) // its queue tells no end
	if want := []string{filepath.Join(q.home, "r2")}; !slices.Equal(done.Removed, want) {
		t.Errorf("removed: want %q, have %q", want, done.Removed)
	}
	q.moveIn("r4", q.now.Add(hour))
	q.want("r1", "r3", "r4")
	info, err := os.Stat(filepath.Join(q.home, "r4"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("have %v, %v", info, err)
	}

	// What looks like a run's directory and is none stays, and so does one that
	// is over so recently that a clock may be wrong.
	for _, name := range []string{"r5", "r6"} {
		if err := os.Mkdir(filepath.Join(q.home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(q.home, "r6", "stay.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	q.moveIn("r7", q.now.Add(-time.Minute))
	q.moveIn("r1", q.now.Add(2*hour))
	q.want("r1", "r3", "r4", "r5", "r6", "r7")

	// Known to be over: one that is there, one that is not, one that is none of
	// this user's directory.
	stranger := t.TempDir()
	done = q.moveIn("r8", q.now.Add(hour), "r3", "r9", "../"+filepath.Base(stranger))
	slices.Sort(done.Removed)
	if want := []string{filepath.Join(q.home, "r3"), filepath.Join(q.home, "r9")}; !slices.Equal(done.Removed, want) {
		t.Errorf("removed: want %q, have %q", want, done.Removed)
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Error(err)
	}
	q.want("r1", "r4", "r5", "r6", "r7", "r8")
	q.now = q.now.Add(2 * hour)
	q.moveIn("r8", q.now.Add(hour))
	q.want("r1", "r5", "r6", "r8")
}

// TestTidySparesTheLiving leaves a directory alone that is over by its claim, but
// in which a process is recorded that runs; where the claim is known to be over,
// it is ended.
func TestTidySparesTheLiving(t *testing.T) {
	t.Parallel()
	q := newQuarters(t)
	q.moveIn("r1", q.now.Add(-time.Hour))
	line := &cable{lease: time.Hour}
	runner := deploy.NewNode("node001", filepath.Join(q.home, "r1", deploy.ProcessesDir), line.open)
	p, err := runner.Start(t.Context(), deploy.Command{Name: "long", Argv: []string{"sleep", "600"}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	q.moveIn("r2", q.now.Add(time.Hour))
	q.want("r1", "r2")
	q.moveIn("r2", q.now.Add(time.Hour), "r1")
	q.want("r2")
	within(t, "no process", func() bool { return !deploytest.Alive(p.PID()) })
	deploytest.Ended(t, p, leaseBound)
	_ = line.guard.Load().Wait()
}

// TestTidyCopies removes copies only when no run may use them.
func TestTidyCopies(t *testing.T) {
	t.Parallel()
	q := newQuarters(t)
	q.moveIn("r1", q.now.Add(time.Hour))
	for _, name := range []string{deploy.CopiesDir, deploy.BinaryDir} {
		if err := os.MkdirAll(filepath.Join(q.home, name, "one", "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	clean := deploy.Tidying{Home: q.home, Now: q.now, Copies: true}
	done, err := q.node.Tidy(t.Context(), clean)
	if err != nil || !strings.Contains(done.Left[q.home], "a run that is not over") {
		t.Errorf("in use: have %+v, %v", done, err)
	}
	q.want(deploy.BinaryDir, deploy.CopiesDir, "r1")
	clean.Over = []string{filepath.Join(q.home, "r1")}
	for range 2 { // nothing is there any more the second time
		done, err = q.node.Tidy(t.Context(), clean)
		if err != nil || len(done.Left) > 0 || !slices.Equal(done.Removed, clean.Over) {
			t.Errorf("not in use: have %+v, %v", done, err)
		}
		if _, err := os.Lstat(q.home); err == nil {
			t.Errorf("there is %q", q.there())
		}
	}
}

// TestTidyRefuses touches nothing in a directory that others can enter.
func TestTidyRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(q *quarters) error
	}{
		{"open", func(q *quarters) error { return os.Mkdir(q.home, 0o755) }},
		{"link", func(q *quarters) error { return os.Symlink(q.t.TempDir(), q.home) }},
		{"file", func(q *quarters) error { return os.WriteFile(q.home, nil, 0o700) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := newQuarters(t)
			if err := c.make(q); err != nil {
				t.Fatal(err)
			}
			_, err := q.node.Tidy(t.Context(), deploy.Tidying{Home: q.home, Dir: filepath.Join(q.home, "r1"), Now: q.now})
			if err == nil || hint.Of(err) == "" || !strings.Contains(err.Error(), "only user") && !strings.Contains(err.Error(), q.home) {
				t.Errorf("want a refusal with a hint, have %v", err)
			}
			if _, err := os.Lstat(filepath.Join(q.home, "r1")); err == nil {
				t.Error("the directory was made")
			}
		})
	}
}

// TestStay: what a directory says of itself can be read by people.
func TestStay(t *testing.T) {
	t.Parallel()
	q := newQuarters(t)
	until := q.now.Add(time.Hour).UTC().Truncate(time.Second)
	q.moveIn("r1", until)
	text, err := os.ReadFile(filepath.Join(q.home, "r1", "stay.json"))
	if err != nil {
		t.Fatal(err)
	}
	var have deploy.Stay
	if err := json.Unmarshal(text, &have); err != nil {
		t.Fatal(err)
	}
	if want := (deploy.Stay{Run: "/runs/r1", Reservation: "static abc", Until: until}); have != want {
		t.Errorf("want %+v, have %+v", want, have)
	}
}
