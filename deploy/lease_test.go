package deploy_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
)

// Times of these tests: how long silence may last where silence is what is
// tested, and elsewhere, and how long anything may take. On a busy machine
// everything is silent for some seconds now and then.
const (
	lease      = 10 * time.Second
	longLease  = time.Minute
	leaseBound = 2 * time.Minute
)

// cable connects a Node with a guard on this machine, and can be cut: then
// nothing passes any more, and neither side is told.
type cable struct {
	lease time.Duration
	until func() time.Time
	cut   atomic.Bool
	guard atomic.Pointer[exec.Cmd]
}

func (c *cable) open(_ context.Context, name string, stderr io.Writer) (deploy.Link, error) {
	argv := deploytest.Guard()
	cmd := exec.Command(argv[0], append(argv[1:], name)...)
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return deploy.Link{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return deploy.Link{}, err
	}
	if err := cmd.Start(); err != nil {
		return deploy.Link{}, err
	}
	c.guard.Store(cmd)
	r, w := io.Pipe()
	go func() {
		buf := make([]byte, 1<<10)
		for {
			n, err := out.Read(buf)
			if c.cut.Load() {
				return // what the guard writes from now on stays in the pipe
			}
			if _, werr := w.Write(buf[:n]); err != nil || werr != nil {
				w.CloseWithError(err)
				return
			}
		}
	}()
	letGo := func() { r.CloseWithError(io.ErrClosedPipe) }
	return deploy.Link{In: plug{in, c}, Out: r, Close: letGo, Lease: c.lease, Until: c.until}, nil
}

// plug is esched's end of a cable.
type plug struct {
	io.WriteCloser
	c *cable
}

func (p plug) Write(data []byte) (int, error) {
	if p.c.cut.Load() {
		return len(data), nil
	}
	return p.WriteCloser.Write(data)
}

func (p plug) Close() error {
	if p.c.cut.Load() {
		return nil
	}
	return p.WriteCloser.Close()
}

// TestSilence lets one side hear nothing of the other. Its parts wait, all at
// once.
func TestSilence(t *testing.T) {
	t.Parallel()
	var parts sync.WaitGroup
	defer parts.Wait()
	for _, c := range []silence{
		{"Cut", lease, ":", 0, func(_ *testing.T, c *cable) { c.cut.Store(true) }, true},
		{"CutWhileTalking", lease, "yes", 0, func(_ *testing.T, c *cable) { c.cut.Store(true) }, true},
		{"CutBeforeDeadline", time.Hour, ":", 15 * time.Second, func(_ *testing.T, c *cable) { c.cut.Store(true) }, false},
		{"GuardStopped", lease, ":", 0, func(t *testing.T, c *cable) {
			guard := c.guard.Load()
			if err := guard.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			t.Cleanup(func() { _ = guard.Process.Signal(syscall.SIGCONT); _ = guard.Wait() })
		}, true},
	} {
		parts.Go(func() { t.Run(c.name, c.test) })
	}
}

// silence is a part of TestSilence.
type silence struct {
	name   string
	lease  time.Duration
	script string
	limit  time.Duration // of the context; 0 for none
	act    func(t *testing.T, c *cable)
	lost   bool // esched is to notice by itself
}

func (c silence) test(t *testing.T) {
	dir := t.TempDir()
	line := &cable{lease: c.lease}
	n := deploy.NewNode("node001", filepath.Join(dir, deploy.ProcessesDir), line.open)
	ctx := t.Context()
	if c.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.limit)
		defer cancel()
	}
	file := filepath.Join(dir, "pid")
	script := `trap '' HUP; echo $$ > "$0.new"; mv "$0.new" "$0"; ` + c.script + "; while :; do sleep 1; done"
	p, err := n.Start(ctx, deploy.Command{
		Name: "talker", Argv: []string{"sh", "-c", script, file}, Log: filepath.Join(dir, "log"), Stdout: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "a process", func() bool { return readNumber(file) != 0 })
	c.act(t, line)
	if c.lost {
		deploytest.Ended(t, p, leaseBound)
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), "nothing heard of it") {
			t.Errorf("want an error about the silence, have %v", err)
		}
	}
	if c.name == "GuardStopped" {
		return // the guard ends its command when it continues; see clean
	}
	within(t, "no process and no record", func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, deploy.ProcessesDir, "*"))
		return !deploytest.Alive(p.PID()) && len(left) == 0
	})
	guard := line.guard.Load()
	ended := make(chan error, 1)
	go func() { ended <- guard.Wait() }()
	select {
	case <-ended:
	case <-time.After(leaseBound):
		t.Error("the guard has not ended")
	}
}

func within(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(leaseBound); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: want %s", leaseBound, what)
		}
	}
}

// TestNodeIsGivenBack lets the time of a node go by while esched lives and the
// guard hears of it: what runs there ends at the deadline that was told last.
func TestNodeIsGivenBack(t *testing.T) {
	t.Parallel()
	var first atomic.Pointer[time.Time] // as told at the start
	var over atomic.Bool
	line := &cable{lease: lease, until: func() time.Time {
		soon := time.Now().Add(2 * time.Second)
		if first.CompareAndSwap(nil, &soon) || over.Load() {
			return *first.Load()
		}
		return soon.Add(time.Hour) // extended since
	}}
	n := deploy.NewNode("node001", "", line.open)
	p, err := n.Start(t.Context(), deploy.Command{
		Name: "lasting", Argv: []string{"sleep", "1000"}, Log: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
		t.Fatalf("ended at the deadline that was put off: %v", p.Err())
	case <-time.After(time.Until(first.Load().Add(deploy.DefaultGrace + time.Second))):
	}
	if !deploytest.Alive(p.PID()) {
		t.Error("the process ended at the deadline that was put off")
	}
	over.Store(true)
	select {
	case <-p.Done():
	case <-time.After(leaseBound):
		t.Fatal("the process outlives its deadline")
	}
	if exit, ok := errors.AsType[*deploy.ExitError](p.Err()); !ok || exit.Signal != "SIGTERM" {
		t.Errorf("want an end by the guard, have %v", p.Err())
	}
}

// TestLeaseIsKept: who is not silent stays, for longer than the lease.
func TestLeaseIsKept(t *testing.T) {
	t.Parallel()
	line := &cable{lease: lease}
	n := deploy.NewNode("node001", "", line.open)
	have, err := n.Run(t.Context(), deploy.Command{Name: "quiet", Argv: []string{"sh", "-c", "sleep 12; echo done"}})
	if want := "done\n"; err != nil || string(have) != want {
		t.Errorf("want %q, have %q, %v", want, have, err)
	}
}

// TestCleanTakesLong cleans up after guards that do not end when they are asked
// to, which takes longer than the lease: five seconds for each.
func TestCleanTakesLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	records := filepath.Join(dir, deploy.ProcessesDir)
	script := `trap '' TERM; while :; do sleep 1; done`
	var guards []*exec.Cmd
	var all []deploy.Process
	for range 3 {
		line := &cable{lease: longLease}
		p, err := deploy.NewNode("node001", records, line.open).Start(t.Context(), deploy.Command{
			Name: "stubborn", Argv: []string{"sh", "-c", script}, Log: filepath.Join(dir, "log"),
		})
		if err != nil {
			t.Fatal(err)
		}
		guards, all = append(guards, line.guard.Load()), append(all, p)
	}
	// Traced processes and those in a debugger are like this: they are there and
	// take no signal but SIGKILL.
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				for _, guard := range guards {
					_ = guard.Process.Signal(syscall.SIGSTOP)
				}
			}
		}
	}()
	line := &cable{lease: lease}
	ended, err := deploy.NewNode("node001", records, line.open).Clean(t.Context(), dir)
	if err != nil || len(ended) < len(guards) {
		t.Errorf("want something ended, have %v, %v", ended, err)
	}
	for i, p := range all {
		within(t, "no process", func() bool { return !deploytest.Alive(p.PID()) })
		_ = guards[i].Wait()
	}
}

// TestPutOverNode places files that are awkward, and fails in words.
func TestPutOverNode(t *testing.T) {
	t.Parallel()
	line := &cable{lease: longLease}
	n := deploy.NewNode("node001", "", line.open)
	dir := t.TempDir()
	big := strings.Repeat("0123456789abcdef", 1<<17)
	src := fstest.MapFS{"empty": {Mode: 0o600}, "big": {Data: []byte(big), Mode: 0o640}, "a/b/c": {Data: []byte("deep"), Mode: 0o444}}
	for i := range 2500 { // more than one frame tells
		src["many/"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+time.Duration(i).String()] = &fstest.MapFile{Mode: 0o644}
	}
	if err := n.Put(t.Context(), src, filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(filepath.Join(dir, "new", "big"))
	if err != nil || string(have) != big {
		t.Errorf("big file: want %d bytes, have %d, %v", len(big), len(have), err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "new", "many"))
	if want := len(src) - 3; err != nil || len(files) != want {
		t.Errorf("want %d files, have %d, %v", want, len(files), err)
	}
	// The mode alone is mended without sending the content again.
	path := filepath.Join(dir, "new", "big")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := n.Put(t.Context(), src, filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || after.Mode().Perm() != 0o640 {
		t.Errorf("want the same file with its mode back, have %v, %v", after, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err = n.Put(t.Context(), src, filepath.Join(dir, "file"))
	if err == nil || !strings.Contains(err.Error(), "files for "+dir) || !strings.Contains(err.Error(), "node001") {
		t.Errorf("a file in the way: want an error that says so, have %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := n.Put(ctx, src, filepath.Join(dir, "late")); !errors.Is(err, why) {
		t.Errorf("with a done context: want %v, have %v", why, err)
	}
}
