package cmd

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write golden files")

// asMain makes the test binary act as esched, for the processes that esched
// starts of itself.
const asMain = "ESCHED_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		p := Current()
		if os.Getenv(garbled) != "" && len(p.Args) > 0 && p.Args[0] == "serve" {
			os.Exit(garble(p))
		}
		if order := os.Getenv(standStill); order != "" {
			points, err := standing(order)
			if err != nil {
				panic(err)
			}
			p.Failpoints = points
		}
		os.Exit(execute(p, patient(builtin())))
	}
	os.Setenv(asMain, "1") // before any test, for all processes started
	// Most of the time these tests wait: for queues, nodes, and processes.
	if err := flag.Set("test.parallel", "5"); err != nil { // an option given wins
		panic(err)
	}
	code := m.Run()
	forWorlds.remove()
	os.Exit(code)
}

// deadline matches where the preload says how long Dask waits for an answer.
var deadline = regexp.MustCompile(`(?m)^DEADLINE = [0-9.]+`)

// patient makes Dask's scheduler wait long for the service: on a machine that is
// busy with tests, one that does not answer at once is not one that hangs.
func patient(p programs) programs {
	usual := p.preload
	p.preload = func() []byte {
		text := deadline.ReplaceAll(usual(), []byte("DEADLINE = 30.0"))
		if bytes.Equal(text, usual()) {
			panic("the preload has no line DEADLINE = ...")
		}
		return text
	}
	return p
}

// lockedBuffer is a stream that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// shell is a Process in a directory of its own, with a clock, an environment
// and signals that the test controls.
type shell struct {
	t       *testing.T
	p       Process
	env     map[string]string
	signals chan string
	out     *lockedBuffer
	err     *lockedBuffer
	programs
}

func newShell(t *testing.T) *shell {
	t.Helper()
	dir := t.TempDir()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, signals: make(chan string, 4), out: &lockedBuffer{}, err: &lockedBuffer{}, programs: patient(builtin())}
	s.env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": dir, "LANG": "C.UTF-8", asMain: "1",
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "XDG_STATE_HOME": filepath.Join(dir, "state"),
	}
	s.p = Process{
		Stdin: strings.NewReader(""), Stdout: s.out, Stderr: s.err,
		LookupEnv: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
		Environ: func() []string {
			var all []string
			for k, v := range s.env {
				all = append(all, k+"="+v)
			}
			return all
		},
		Dir: dir, Home: dir, Temp: os.TempDir(), Executable: executable, PID: os.Getpid(), UID: os.Getuid(),
		Now: time.Now, LookPath: exec.LookPath,
		Signals: func() (<-chan string, func()) { return s.signals, func() {} },
		Guard:   func([]string) int { return 7 },
	}
	return s
}

// result is what a command left.
type result struct {
	code           int
	stdout, stderr string
}

// esched runs a command line.
func (s *shell) esched(args ...string) result {
	s.t.Helper()
	s.out, s.err = &lockedBuffer{}, &lockedBuffer{}
	p := s.p
	p.Args, p.Stdout, p.Stderr = args, s.out, s.err
	code := execute(p, s.programs)
	return result{code, s.out.String(), s.err.String()}
}

// write makes a file in the working directory.
func (s *shell) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.p.Dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shell) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(s.p.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// wants checks the exit code and that texts occur in the streams.
func (r result) wants(t *testing.T, code int, stdout, stderr []string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code: want %d, have %d\nstdout: %s\nstderr: %s", code, r.code, r.stdout, r.stderr)
	}
	for _, w := range stdout {
		if !strings.Contains(r.stdout, w) {
			t.Errorf("stdout: want %q in\n%s", w, r.stdout)
		}
	}
	for _, w := range stderr {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("stderr: want %q in\n%s", w, r.stderr)
		}
	}
	if len(stderr) == 0 && r.stderr != "" {
		t.Errorf("stderr: want nothing, have\n%s", r.stderr)
	}
	if strings.Count(r.stderr, "esched: ") > 1 {
		t.Errorf("the error was printed more than once:\n%s", r.stderr)
	}
}

// into parses standard output as JSON.
func (r result) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, r.stdout)
	}
}

// eventually polls until done, for at most the bound.
func eventually(t *testing.T, bound time.Duration, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, bound)
		}
	}
}

// shortly bounds what takes milliseconds on an idle machine, and stands still
// for many seconds on one that is busy with other tests.
const shortly = 90 * time.Second
