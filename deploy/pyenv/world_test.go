package pyenv

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/esched/esched/internal/need"
)

// world is a package index, a lock of what is in it, and a cache: everything
// that creating an environment touches.
type world struct {
	t       *testing.T
	url     string          // of the index
	wheels  string          // directory of the index's files
	listed  map[string]bool // what the index says it has
	cache   string
	bin     string // PATH
	lock    strings.Builder
	in      strings.Builder
	python  string
	options []string // further variables

	mu     sync.Mutex
	said   []string
	served map[string]int // how often each file was downloaded
}

var basePython = sync.OnceValues(func() (python, error) {
	return (&Manager{Env: os.Environ()}).findPython(context.Background(), "")
})

func newWorld(t *testing.T) *world {
	t.Helper()
	py, err := basePython()
	if err != nil {
		need.Skip(t, err.Error())
	}
	w := &world{t: t, wheels: t.TempDir(), cache: t.TempDir(), bin: t.TempDir(), python: py.path,
		listed: map[string]bool{}, served: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /simple/{name}/", func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/html")
		for file := range w.listed {
			if strings.HasPrefix(file, r.PathValue("name")+"-") {
				fmt.Fprintf(out, "<a href=\"/files/%s\">%s</a>\n", file, file)
			}
		}
	})
	mux.HandleFunc("GET /files/{file}", func(out http.ResponseWriter, r *http.Request) {
		file := r.PathValue("file")
		w.mu.Lock()
		w.served[file]++
		w.mu.Unlock()
		http.ServeFile(out, r, filepath.Join(w.wheels, file))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	w.url = s.URL + "/simple"
	return w
}

// withUV puts uv, when it is on the tests' own PATH, on PATH.
func (w *world) withUV() {
	w.t.Helper()
	if err := os.Symlink(need.Program(w.t, "uv"), filepath.Join(w.bin, "uv")); err != nil {
		w.t.Fatal(err)
	}
}

// preferUV puts uv on PATH if there is one, for tests to which the installer
// does not matter: with uv they are faster.
func (w *world) preferUV() {
	if _, err := exec.LookPath("uv"); err == nil {
		w.withUV()
	}
}

func (w *world) hasUV() bool { return w.manager().uv() != "" }

// downloads returns how often each file was downloaded.
func (w *world) downloads() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.served)
}

// manager returns a Manager of this world's only lock, "tiny".
func (w *world) manager() *Manager {
	env := []string{
		"PATH=" + w.bin, "HOME=" + w.cache,
		"PIP_INDEX_URL=" + w.url, "PIP_CONFIG_FILE=/dev/null", "PIP_NO_CACHE_DIR=1",
		"UV_DEFAULT_INDEX=" + w.url, "UV_CACHE_DIR=" + filepath.Join(w.cache, "uv"), "UV_NO_CONFIG=1",
		"PYTHONPATH=/nowhere", "PIP_USER=1", "PIP_TARGET=/nowhere", // must not matter
	}
	return &Manager{
		CacheDir: w.cache, Env: append(env, w.options...), Python: w.python,
		Locks: fstest.MapFS{"tiny.in": {Data: []byte(w.in.String())}, "tiny.txt": {Data: []byte(w.lock.String())}},
		Progress: func(s string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = append(w.said, s)
		},
	}
}

// count returns how many lines of progress contain the text.
func (w *world) count(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.said {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

// add puts a package of one module into the index and into the lock.
func (w *world) add(name, version string) (wheel string) {
	w.t.Helper()
	file, data := buildWheel(w.t, name, version)
	w.listed[file] = true
	wheel = filepath.Join(w.wheels, file)
	if err := os.WriteFile(wheel, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	w.pin(name, version, hex.EncodeToString(sum[:]))
	return wheel
}

func (w *world) pin(name, version, hash string) {
	fmt.Fprintf(&w.lock, "%s==%s \\\n    --hash=sha256:%s\n", name, version, hash)
	fmt.Fprintf(&w.in, "%s\n", name)
}

// buildWheel makes a wheel by its specification.
func buildWheel(t *testing.T, name, version string) (file string, data []byte) {
	t.Helper()
	info := fmt.Sprintf("%s-%s.dist-info/", name, version)
	files := [][2]string{
		{name + ".py", fmt.Sprintf("VERSION = %q\n", version)},
		{info + "METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	}
	var list strings.Builder
	for _, f := range files {
		sum := sha256.Sum256([]byte(f[1]))
		fmt.Fprintf(&list, "%s,sha256=%s,%d\n", f[0], base64.RawURLEncoding.EncodeToString(sum[:]), len(f[1]))
	}
	fmt.Fprintf(&list, "%sRECORD,,\n", info)
	files = append(files, [2]string{info + "RECORD", list.String()})
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range files {
		out, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s-%s-py3-none-any.whl", name, version), buf.Bytes()
}
