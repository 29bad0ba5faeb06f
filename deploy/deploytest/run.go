package deploytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
)

// bound is how long the suite waits for what must happen, on a machine that has
// other things to do.
const bound = time.Minute

// Factory makes a Host whose processes are recorded in the directory records.
// The suite closes it.
type Factory func(t *testing.T, records string) deploy.Host

// Run tests that a Host keeps its contract. The Host's node must share the
// file system and the process ids of the machine that runs the tests, by which
// the suite sees what the Host did.
func Run(t *testing.T, factory Factory) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, f *fixture)
	}{
		{"RunOutput", testRunOutput},
		{"RunFailure", testRunFailure},
		{"RunNotFound", testRunNotFound},
		{"RunCancelled", testRunCancelled},
		{"RunEndsWhatItLeaves", testRunLeaves},
		{"Environment", testEnvironment},
		{"StreamsBothWays", testStreams},
		{"LogFile", testLog},
		{"StopEndsTheGroup", testStopGroup},
		{"StopKillsTheStubborn", testStubborn},
		{"StopOfAStopped", testStopOfStopped},
		{"ContextEnds", testContextEnds},
		{"UnreadInputDoesNotBlockStop", testUnreadInput},
		{"ExitStatus", testExitStatus},
		{"Signals", testSignals},
		{"CPU", testCPU},
		{"RecordsComeAndGo", testRecords},
		{"CloseEndsAll", testClose},
		{"Put", testPut},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{dir: t.TempDir()}
			f.records = filepath.Join(f.dir, deploy.ProcessesDir)
			f.host = factory(t, f.records)
			t.Cleanup(func() {
				if err := f.host.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			c.test(t, f)
		})
	}
}

type fixture struct {
	host    deploy.Host
	dir     string
	records string
}

func shell(name, script string) deploy.Command {
	return deploy.Command{Name: name, Argv: []string{"sh", "-c", script}}
}

func (f *fixture) start(t *testing.T, ctx context.Context, c deploy.Command) deploy.Process {
	t.Helper()
	if c.Log == "" {
		c.Log = filepath.Join(f.dir, c.Name+".log")
	}
	p, err := f.host.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// await polls until cond holds.
func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: want %s", bound, what)
		}
	}
}

func ended(t *testing.T, p deploy.Process) {
	t.Helper()
	Ended(t, p, bound)
}

// pids reads the process ids that a script wrote to a file, one a line.
func pids(t *testing.T, path string, n int) []int {
	t.Helper()
	var all []int
	await(t, fmt.Sprintf("%d process ids in %s", n, path), func() bool {
		all = nil
		text, _ := os.ReadFile(path)
		for line := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(line); err == nil {
				all = append(all, pid)
			}
		}
		return len(all) == n && strings.HasSuffix(string(text), "\n")
	})
	return all
}

// Alive tells whether a process exists and is not a zombie.
func Alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z' && rest[0] != 'X'
}

func allGone(t *testing.T, all []int) {
	t.Helper()
	for _, pid := range all {
		if Alive(pid) {
			t.Errorf("process %d: want gone, have alive", pid)
		}
	}
}

// family is a script that starts a child, a child in a session of its own and
// a grandchild that is orphaned at once, and writes all ids to $1.
const family = `
sleep 100 & echo $! > "$F.new"
setsid sleep 100 & echo $! >> "$F.new"
(setsid sh -c 'sleep 100 & echo $! >> "$F.new"')
echo $$ >> "$F.new"
mv "$F.new" "$F"
`

func (f *fixture) family(name, then string) deploy.Command {
	c := shell(name, family+then)
	c.Env = []string{"F=" + f.pidFile()}
	return c
}

func (f *fixture) pidFile() string { return filepath.Join(f.dir, "pids") }

const familySize = 4

func testRunOutput(t *testing.T, f *fixture) {
	c := shell("copy", "cat; echo noise >&2")
	c.Stdin = strings.NewReader(strings.Repeat("0123456789", 100_000))
	have, err := f.host.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1_000_000; len(have) != want {
		t.Errorf("want %d bytes, have %d", want, len(have))
	}
}

func testRunFailure(t *testing.T, f *fixture) {
	have, err := f.host.Run(t.Context(), shell("broken", "echo some; echo bad luck >&2; exit 7"))
	var exit *deploy.ExitError
	if !errors.As(err, &exit) || exit.Code != 7 || exit.Name != "broken" || exit.Host != f.host.Name() {
		t.Errorf("want exit status 7 of broken, have %v", err)
	}
	if err == nil || !strings.Contains(err.Error(), "bad luck") {
		t.Errorf("want the end of standard error in the message, have %v", err)
	}
	if want := "some\n"; string(have) != want {
		t.Errorf("want output %q, have %q", want, have)
	}
}

func testRunNotFound(t *testing.T, f *fixture) {
	_, err := f.host.Run(t.Context(), deploy.Command{Name: "missing", Argv: []string{"/no/such/program"}})
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") || !strings.Contains(err.Error(), "missing on") {
		t.Errorf("want an error that names the program, have %v", err)
	}
	_, err = f.host.Run(t.Context(), deploy.Command{Name: "nowhere", Argv: []string{"true"}, Dir: "/no/such/dir"})
	if err == nil {
		t.Error("missing working directory: want an error")
	}
}

func testRunCancelled(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(f.pidFile()); err == nil {
				cancel(why)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, err := f.host.Run(ctx, f.family("long", "sleep 100"))
	if !errors.Is(err, why) {
		t.Errorf("want %v, have %v", why, err)
	}
	allGone(t, pids(t, f.pidFile(), familySize))
	if _, err := f.host.Run(ctx, shell("late", "true")); !errors.Is(err, why) {
		t.Errorf("with a done context: want %v, have %v", why, err)
	}
}

func testRunLeaves(t *testing.T, f *fixture) {
	if _, err := f.host.Run(t.Context(), f.family("leaver", "exit 0")); err != nil {
		t.Error(err)
	}
	allGone(t, pids(t, f.pidFile(), familySize))
}

func testEnvironment(t *testing.T, f *fixture) {
	c := shell("env", `echo "$A|$B|$(pwd)|$(cat)"`)
	c.Env = []string{"A=a b", "B=$HOME;'\""}
	c.Dir = f.dir
	have, err := f.host.Run(t.Context(), c)
	if want := "a b|$HOME;'\"|" + f.dir + "|\n"; err != nil || string(have) != want {
		t.Errorf("want %q, have %q, %v", want, have, err)
	}
}

func testStreams(t *testing.T, f *fixture) {
	c := shell("echo", `while read -r line; do echo "got $line"; done; echo end`)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c.Stdin, c.Stdout = inR, outW
	p := f.start(t, t.Context(), c)
	buf := make([]byte, 100)
	for _, line := range []string{"one", "two"} {
		fmt.Fprintln(inW, line)
		n, err := outR.Read(buf)
		if want := "got " + line + "\n"; err != nil || string(buf[:n]) != want {
			t.Fatalf("want %q, have %q, %v", want, buf[:n], err)
		}
	}
	inW.Close()
	if n, err := outR.Read(buf); err != nil || string(buf[:n]) != "end\n" {
		t.Errorf("want %q after the end of input, have %q, %v", "end\n", buf[:n], err)
	}
	ended(t, p)
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

func testLog(t *testing.T, f *fixture) {
	var out bytes.Buffer
	for _, c := range []struct {
		stdout io.Writer
		want   string
	}{{nil, "before\nout\nerr\n"}, {&out, "before\nerr\n"}} {
		log := filepath.Join(f.dir, "some.log")
		if err := os.WriteFile(log, []byte("before\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		command := shell("both", "echo out; echo err >&2")
		command.Log, command.Stdout = log, c.stdout
		p := f.start(t, t.Context(), command)
		ended(t, p)
		have, _ := os.ReadFile(log)
		if string(have) != c.want {
			t.Errorf("want log %q, have %q", c.want, have)
		}
	}
	if want := "out\n"; out.String() != want {
		t.Errorf("want output %q, have %q", want, out.String())
	}
}

func testStopGroup(t *testing.T, f *fixture) {
	p := f.start(t, t.Context(), f.family("parent", "wait; sleep 100"))
	all := pids(t, f.pidFile(), familySize)
	if p.PID() != all[familySize-1] {
		t.Errorf("PID: want %d, have %d", all[familySize-1], p.PID())
	}
	stopInGrace(t, p)
	ended(t, p)
	if err := p.Err(); err != nil {
		t.Errorf("after Stop: want no error, have %v", err)
	}
	allGone(t, all)
	if err := p.Stop(time.Second); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func testStubborn(t *testing.T, f *fixture) {
	c := shell("stubborn", `trap '' TERM INT HUP; echo $$ > "$F"; while :; do sleep 1; done`)
	c.Env = []string{"F=" + f.pidFile()}
	p := f.start(t, t.Context(), c)
	all := pids(t, f.pidFile(), 1)
	begin := time.Now()
	if err := p.Stop(300 * time.Millisecond); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took < 250*time.Millisecond {
		t.Errorf("killed after %v, before the grace time of 300 ms", took)
	}
	allGone(t, all)
}

func testStopOfStopped(t *testing.T, f *fixture) {
	p := f.start(t, t.Context(), shell("sleeper", "exec sleep 100"))
	if err := p.Signal("STOP"); err != nil {
		t.Fatal(err)
	}
	stopInGrace(t, p)
}

// stopInGrace stops a process that ends when it is asked to, so that nothing is
// left to be killed when the grace time is over.
func stopInGrace(t *testing.T, p deploy.Process) {
	t.Helper()
	begin := time.Now()
	if err := p.Stop(bound); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took >= bound {
		t.Errorf("want an end on SIGTERM, have one after the grace time of %v", bound)
	}
}

func testContextEnds(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	p := f.start(t, ctx, f.family("child", "sleep 100"))
	all := pids(t, f.pidFile(), familySize)
	cancel()
	ended(t, p)
	allGone(t, all)
}

func testUnreadInput(t *testing.T, f *fixture) {
	c := shell("deaf", "exec sleep 100")
	c.Stdin = endless{}
	p := f.start(t, t.Context(), c)
	if _, err := p.CPU(); err != nil {
		t.Error(err)
	}
	stopInGrace(t, p)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func testExitStatus(t *testing.T, f *fixture) {
	p := f.start(t, t.Context(), shell("three", "exit 3"))
	ended(t, p)
	var exit *deploy.ExitError
	if !errors.As(p.Err(), &exit) || exit.Code != 3 {
		t.Errorf("want exit status 3, have %v", p.Err())
	}
	if err := p.Stop(time.Second); err != nil {
		t.Errorf("stop of an ended process: %v", err)
	}
	if err := p.Signal("TERM"); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to an ended process: want %v, have %v", os.ErrProcessDone, err)
	}
}

func testSignals(t *testing.T, f *fixture) {
	p := f.start(t, t.Context(), shell("victim", "exec sleep 100"))
	state := func() byte {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		_, rest, _ := bytes.Cut(text, []byte(") "))
		return append(rest, 0)[0]
	}
	if err := p.Signal("STOP"); err != nil {
		t.Error(err)
	}
	await(t, "a stopped process", func() bool { return state() == 'T' })
	if err := p.Signal("CONT"); err != nil {
		t.Error(err)
	}
	await(t, "a running process", func() bool { return state() == 'S' })
	if err := p.Signal("NONSENSE"); err == nil {
		t.Error("unknown signal: want an error")
	}
	if err := p.Signal("KILL"); err != nil {
		t.Error(err)
	}
	ended(t, p)
	var exit *deploy.ExitError
	if !errors.As(p.Err(), &exit) || exit.Signal != "SIGKILL" {
		t.Errorf("want the end by SIGKILL, have %v", p.Err())
	}
}

func testCPU(t *testing.T, f *fixture) {
	c := shell("busy", `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo ready; read -r x`)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c.Stdin, c.Stdout = inR, outW
	p := f.start(t, t.Context(), c)
	if _, err := io.ReadFull(outR, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	during, err := p.CPU()
	if err != nil || during < time.Millisecond || during > bound {
		t.Errorf("want some milliseconds, have %v, %v", during, err)
	}
	inW.Close()
	ended(t, p)
	after, err := p.CPU()
	if err != nil || after < during {
		t.Errorf("after the end: want at least %v, have %v, %v", during, after, err)
	}
}

func testRecords(t *testing.T, f *fixture) {
	count := func() int {
		files, err := filepath.Glob(filepath.Join(f.records, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	p := f.start(t, t.Context(), shell("recorded", "exec sleep 100"))
	if have := count(); have != 1 {
		t.Errorf("while it runs: want 1 record, have %d", have)
	}
	if err := p.Stop(time.Second); err != nil {
		t.Error(err)
	}
	if have := count(); have != 0 {
		t.Errorf("after its end: want no record, have %d", have)
	}
}
