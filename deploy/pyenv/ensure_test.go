package pyenv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/internal/hint"
)

// installers are the two ways to create an environment.
var installers = []string{"pip", "uv"}

// eachInstaller runs a test in a world of its own for pip and for uv.
func eachInstaller(t *testing.T, test func(t *testing.T, w *world)) {
	for _, name := range installers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if name == "uv" {
				w.withUV()
			}
			test(t, w)
		})
	}
}

func TestEnsureCreatesAndReuses(t *testing.T) {
	t.Parallel()
	eachInstaller(t, func(t *testing.T, w *world) {
		w.add("alpha", "1.0")
		w.add("beta", "2.0")
		m := w.manager()
		if _, err := m.Verify(t.Context(), "tiny"); !errors.Is(err, ErrAbsent) || hint.Of(err) != "run: esched env tiny" {
			t.Errorf("before: have %v", err)
		}
		env, err := m.Ensure(t.Context(), "tiny")
		if err != nil {
			t.Fatal(err)
		}
		if env.Name != "tiny" || env.Packages["alpha"] != "1.0" || env.Packages["beta"] != "2.0" || !strings.HasPrefix(env.Python, "3.1") {
			t.Errorf("have %+v", env)
		}
		parent, base := filepath.Split(env.Path)
		if want := filepath.Join(w.cache, "esched", "envs") + "/"; parent != want {
			t.Errorf("have %s, want %s", parent, want)
		}
		if want := regexp.MustCompile(`^tiny-` + env.Lock[:12] + `-py3\.1[123]$`); !want.MatchString(base) {
			t.Errorf("have %s, want %s", base, want)
		}
		out, err := exec.Command(env.Interpreter, "-c", "import alpha, sys; print(alpha.VERSION, sys.prefix)").CombinedOutput()
		if want := "1.0 " + env.Path; err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("have %s, %v, want %s", out, err, want)
		}
		if _, err := os.Stat(env.Path + ".wheels"); err == nil {
			t.Error("the downloads are still there")
		}

		// The second time only looks.
		said := len(w.said)
		again, err := m.Ensure(t.Context(), "tiny")
		if err != nil || again.Path != env.Path {
			t.Errorf("have %v, %v", again, err)
		}
		if len(w.said) != said {
			t.Errorf("the second time said %v", w.said[said:])
		}

		// Another lock is another environment.
		if !w.hasUV() {
			return // it is the same for pip, which takes seconds
		}
		w.add("gamma", "3.0")
		other, err := w.manager().Ensure(t.Context(), "tiny")
		if err != nil || other.Path == env.Path || other.Packages["gamma"] != "3.0" {
			t.Errorf("have %v, %v", other, err)
		}
		if _, err := m.Verify(t.Context(), "tiny"); err != nil {
			t.Errorf("the first lock's environment: %v", err)
		}
	})
}

func TestBrokenIsRecognisedAndMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.preferUV()
	w.add("alpha", "1.0")
	w.add("distributed", "1.0") // what makes a lock one for runs
	w.add("beta", "2.0")
	m := w.manager()
	status := func(want State) Status {
		t.Helper()
		all, err := m.Status(t.Context())
		if err != nil || len(all) != 1 || all[0].Name != "tiny" || all[0].State != want || all[0].Pins["distributed"] != "1.0" {
			t.Fatalf("have %+v, %v, want %s", all, err, want)
		}
		return all[0]
	}
	if s := status(StateAbsent); s.Path != "" {
		t.Errorf("have %+v", s)
	}
	env, err := m.Ensure(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	if s := status(StateOK); s.Path != env.Path || s.Packages["distributed"] != "1.0" || s.Python != env.Python {
		t.Errorf("have %+v", s)
	}
	site, err := filepath.Glob(filepath.Join(env.Path, "lib", "python3*", "site-packages"))
	if err != nil || len(site) != 1 {
		t.Fatalf("have %v, %v", site, err)
	}
	// Each harm renames one file; renaming it back heals.
	tests := []struct {
		name, from, to string
		want           string
	}{
		{"module gone", site[0] + "/alpha.py", site[0] + "/alpha.gone", "module alpha: not found"},
		{"package gone", site[0] + "/beta-2.0.dist-info", site[0] + "/beta.gone", "beta is missing"},
		{"interpreter gone", env.Interpreter, env.Interpreter + ".gone", "its interpreter does not run"},
		{"stamp missing", filepath.Join(env.Path, stampName), filepath.Join(env.Path, "gone"), "it was not completed"},
	}
	for _, test := range tests { // one after the other: they share the environment
		if err := os.Rename(test.from, test.to); err != nil {
			t.Fatal(err)
		}
		_, err := m.Verify(t.Context(), "tiny")
		broken, ok := errors.AsType[*BrokenError](err)
		if !ok || !strings.Contains(broken.Reason, test.want) {
			t.Errorf("%s: have %v, want %q", test.name, err, test.want)
		}
		if s := status(StateBroken); s.Path != env.Path || !strings.Contains(s.Reason, test.want) {
			t.Errorf("%s: have %+v", test.name, s)
		}
		if err := os.Rename(test.to, test.from); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Verify(t.Context(), "tiny"); err != nil {
		t.Fatalf("healed: %v", err)
	}
	metadata := filepath.Join(site[0], "beta-2.0.dist-info", "METADATA")
	if err := os.WriteFile(metadata, []byte("Metadata-Version: 2.1\nName: beta\nVersion: 2.5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env, err = m.Ensure(t.Context(), "tiny")
	if err != nil || env.Packages["beta"] != "2.0" {
		t.Errorf("have %v, %v", env, err)
	}
	if w.count("anew: beta is 2.5, not 2.0") != 1 {
		t.Errorf("said %q", w.said)
	}
}

func TestHashMismatch(t *testing.T) {
	t.Parallel()
	eachInstaller(t, func(t *testing.T, w *world) {
		w.add("alpha", "1.0")
		wheel := w.add("beta", "2.0")
		if _, other := buildWheel(t, "beta", "2.0+tampered"); os.WriteFile(wheel, other, 0o644) != nil {
			t.Fatal("wheel not replaced")
		}
		m := w.manager()
		_, err := m.Ensure(t.Context(), "tiny")
		if err == nil || !strings.Contains(err.Error(), "beta") || !strings.Contains(strings.ToLower(err.Error()), "hash") {
			t.Fatalf("have %v", err)
		}
		if !strings.Contains(hint.Of(err), "mirror or proxy") {
			t.Errorf("have hint %q", hint.Of(err))
		}
		if _, err := m.Verify(t.Context(), "tiny"); err == nil {
			t.Error("the environment counts as complete")
		}
	})
}

// A package that cannot be had is named; what was downloaded before it is
// not downloaded again, although the index allows no caching.
func TestDownloadFailureAndResume(t *testing.T) {
	t.Parallel()
	eachInstaller(t, func(t *testing.T, w *world) {
		for i := range batchSize {
			w.add(fmt.Sprintf("pkg%d", i), "1.0")
		}
		last := w.add("zeta", "1.0")
		if err := os.Rename(last, last+".away"); err != nil {
			t.Fatal(err)
		}
		m := w.manager()
		_, err := m.Ensure(t.Context(), "tiny")
		if err == nil || !strings.Contains(err.Error(), "at zeta==1.0") || !strings.Contains(hint.Of(err), "check the network") {
			t.Fatalf("have %v, hint %q", err, hint.Of(err))
		}
		if err := os.Rename(last+".away", last); err != nil {
			t.Fatal(err)
		}
		first := w.downloads()
		env, err := m.Ensure(t.Context(), "tiny")
		if err != nil || env.Packages["pkg0"] != "1.0" || env.Packages["zeta"] != "1.0" {
			t.Fatalf("have %v, %v", env, err)
		}
		if w.hasUV() {
			return // uv downloads all at once and keeps what was whole when it gave up
		}
		for file, n := range w.downloads() {
			if strings.HasPrefix(file, "pkg") && first[file] > 0 && n != first[file] {
				t.Errorf("%s was downloaded again", file)
			}
		}
	})
}

// stuckIndex is a package index that never answers. It closes asked at the
// first request.
func stuckIndex(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	ch, stop := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(ch) })
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(stop); s.Close() })
	return s.URL, ch
}

func TestCancelEndsTheInstaller(t *testing.T) {
	t.Parallel()
	eachInstaller(t, func(t *testing.T, w *world) {
		w.add("alpha", "1.0")
		url, asked := stuckIndex(t)
		w.options = []string{"PIP_INDEX_URL=" + url, "UV_DEFAULT_INDEX=" + url}
		m := w.manager()
		ctx, interrupt := context.WithCancelCause(t.Context())
		defer interrupt(nil)
		done := make(chan error, 1)
		go func() {
			_, err := m.Ensure(ctx, "tiny")
			done <- err
		}()
		select {
		case <-asked:
		case err := <-done:
			t.Fatalf("ended before it asked the index: %v", err)
		case <-time.After(3 * time.Minute):
			t.Fatal("the index was not asked within three minutes")
		}
		files, err := filepath.Glob(filepath.Join(m.root(), "*.lock"))
		if err != nil || len(files) != 1 {
			t.Fatalf("have %v, %v", files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		parts := regexp.MustCompile(`^pid (\d+) on .* \(its \w+ is pid (\d+)\)\n$`).FindSubmatch(text)
		if parts == nil || string(parts[1]) != strconv.Itoa(os.Getpid()) {
			t.Fatalf("have %q in the lock", text)
		}
		installer, _ := strconv.Atoi(string(parts[2]))

		interrupt(errors.New("interrupt signal received"))
		select {
		case err = <-done:
		case <-time.After(3 * time.Minute):
			t.Fatal("not ended three minutes after the cancellation")
		}
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted: interrupt signal") || !strings.Contains(hint.Of(err), "start again") {
			t.Errorf("have %v, hint %q", err, hint.Of(err))
		}
		// Killed processes may still be on their way out.
		deploytest.Await(t, "no installer's group", 3*time.Minute, func() error {
			if err := syscall.Kill(-installer, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("group %d: have %v", installer, err)
			}
			return nil
		})

		w.options = nil
		if _, err := w.manager().Ensure(t.Context(), "tiny"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.preferUV()
	w.add("alpha", "1.0")
	var wg sync.WaitGroup
	var envs [2]Environment
	var errs [2]error
	for i := range envs {
		m := w.manager()
		wg.Go(func() { envs[i], errs[i] = m.Ensure(t.Context(), "tiny") })
	}
	wg.Wait()
	if errs[0] != nil || errs[1] != nil || envs[0].Path != envs[1].Path {
		t.Errorf("have %v, %v", envs, errs)
	}
	if n := w.count(": creating /"); n != 1 {
		t.Errorf("created %d times: %q", n, w.said)
	}
}

func TestLockWaitIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("alpha", "1.0")
	m := w.manager()
	l, err := readLock(m.Locks, "tiny")
	if err != nil {
		t.Fatal(err)
	}
	py, err := m.findPython(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	held, err := m.lock(t.Context(), "tiny", m.dir(l, py.minor))
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	m.LockWait = 300 * time.Millisecond
	_, err = m.Ensure(t.Context(), "tiny")
	who := fmt.Sprintf("pid %d on ", os.Getpid())
	if err == nil || !strings.Contains(err.Error(), "still locked by "+who) || hint.Of(err) == "" {
		t.Errorf("have %v, hint %q", err, hint.Of(err))
	}
	if w.count("waiting for "+who) != 1 {
		t.Errorf("said %q", w.said)
	}
}
