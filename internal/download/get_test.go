package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
)

// content is what the servers of these tests have: bytes that tell where they
// are from, longer than what a connection buffers.
func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16 ^ i>>8 ^ i)
	}
	return b
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// shaky is a server that breaks each connection after so many bytes.
type shaky struct {
	body []byte
	most int // bytes of an answer; 0 for all
	tag  string

	mu     sync.Mutex
	ranges []string // of the requests
	change func(*shaky, int)
}

func (s *shaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	if s.change != nil {
		s.change(s, len(s.ranges))
	}
	if s.tag != "" {
		w.Header().Set("ETag", s.tag)
	}
	if s.most == 0 {
		http.ServeContent(w, r, "file", time.Time{}, bytes.NewReader(s.body))
		return
	}
	http.ServeContent(&cut{w, s.most}, r, "file", time.Time{}, bytes.NewReader(s.body))
}

// cut ends an answer, and its connection, in the middle.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(b []byte) (int, error) {
	n, _ := c.ResponseWriter.Write(b[:min(len(b), c.left)])
	if c.left -= n; c.left <= 0 {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func get(t *testing.T, f File) ([]byte, error) {
	t.Helper()
	var last int64
	err := Get(t.Context(), http.DefaultClient, f, func(done, total int64) {
		if total > 0 && done > total {
			t.Errorf("progress: %d of %d", done, total)
		}
		last = done
	})
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(f.Path)
	if err == nil && last != int64(len(b)) {
		t.Errorf("progress ended at %d of %d", last, len(b))
	}
	left, _ := filepath.Glob(f.Path + ".*")
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	return b, err
}

// TestGet gets a file from servers that break connections.
func TestGet(t *testing.T) {
	t.Parallel()
	body := content(3_000_000)
	other := append(content(2_000_000), "another version"...)
	for _, test := range []struct {
		name   string
		server *shaky
		part   []byte // what an earlier attempt left
		of     string // the version it was of
		want   []byte
		ranges string
	}{
		{"whole", &shaky{body: body, tag: `"1"`}, nil, "", body, ""},
		{"continued after breaks", &shaky{body: body, tag: `"1"`, most: 1_200_000}, nil, "", body, ",bytes=N-,bytes=N-"},
		{"continued from an earlier attempt", &shaky{body: body, tag: `"1"`}, body[:1_000_000], `"1"`, body, "bytes=N-"},
		{"an earlier attempt at another version", &shaky{body: body, tag: `"2"`}, other[:1_000_000], `"1"`, body, "bytes=N-"},
		{"an earlier attempt at nobody knows what", &shaky{body: body, tag: `"2"`}, other[:1_000_000], "", body, ""},
		{"an earlier attempt that is longer", &shaky{body: body[:10], tag: `"1"`}, body[:1_000_000], `"1"`, body[:10], "bytes=N-,"},
		{"no version, so never continued", &shaky{body: body, most: 1_200_000, change: func(s *shaky, n int) {
			if n == 2 {
				s.most = 0
			}
		}}, nil, "", body, ","},
		{"another version between two requests", &shaky{body: body, tag: `"1"`, most: 1_200_000, change: func(s *shaky, n int) {
			if n == 2 {
				s.body, s.tag, s.most = other, `"2"`, 0
			}
		}}, nil, "", other, ",bytes=N-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.server)
			defer server.Close()
			f := File{Source: server.URL + "/file", Path: filepath.Join(t.TempDir(), "sub", "file"), SHA256: sum(test.want)}
			if test.part != nil {
				write(t, f.Path+".part", test.part)
				write(t, f.Path+".part.version", []byte(test.of))
			}
			have, err := get(t, f)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, test.want) {
				t.Errorf("want %d bytes, have %d, which differ", len(test.want), len(have))
			}
			var ranges []string
			for _, r := range test.server.ranges {
				if r != "" && r != "bytes=0-" {
					r = "bytes=N-"
				}
				ranges = append(ranges, r)
			}
			if have := strings.Join(ranges, ","); have != test.ranges {
				t.Errorf("ranges asked for: want %q, have %q", test.ranges, have)
			}
		})
	}
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGetInVain asks for what cannot be had.
func TestGetInVain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		n := asked[r.URL.Path]
		mu.Unlock()
		switch r.URL.Path {
		case "/none":
			http.NotFound(w, r)
		case "/login":
			http.Error(w, "who are you?", http.StatusForbidden)
		case "/busy":
			if n < 3 {
				http.Error(w, "later", http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, "content")
		case "/wrong":
			fmt.Fprint(w, "content")
		}
	}))
	defer server.Close()
	for _, test := range []struct {
		name, path, sum string
		want            string // of the error; "" for none
		requests        int
	}{
		{"missing", "/none", "", "not found at its source", 1},
		{"forbidden", "/login", "", "403 Forbidden", 1},
		{"busy for a while", "/busy", sum([]byte("content")), "", 3},
		{"wrong content", "/wrong", sum([]byte("other")), "content has the SHA-256 ed7002b439e9, not d9298a10d1b0", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := File{Source: server.URL + test.path, Path: filepath.Join(t.TempDir(), "file"), SHA256: test.sum}
			_, err := get(t, f)
			if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("want %q, have %v", test.want, err)
			}
			if left, _ := filepath.Glob(f.Path + "*"); err != nil && len(left) > 0 && test.sum != "" {
				t.Errorf("left: %v", left)
			}
			if asked[test.path] != test.requests {
				t.Errorf("want %d requests, have %d", test.requests, asked[test.path])
			}
			if test.path == "/none" != errors.Is(err, ErrMissing) {
				t.Errorf("is it missing: %v", err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		// One end of a connection has a port that nobody else gets meanwhile.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		taken, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		source := "http://" + taken.LocalAddr().String() + "/file"
		_, err = get(t, File{Source: source, Path: filepath.Join(t.TempDir(), "file")})
		if err == nil || !strings.Contains(err.Error(), "5 attempts") || hint.Of(err) == "" {
			t.Errorf("want the number of attempts and a hint, have %v (%s)", err, hint.Of(err))
		}
	})
}

// TestGetInterrupted ends a download whose server has fallen silent, and goes on
// with what it left.
func TestGetInterrupted(t *testing.T) {
	t.Parallel()
	body := content(2_000_000)
	silent := make(chan struct{})
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		asked = append(asked, r.Header.Get("Range"))
		if len(asked) == 1 {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			w.Write(body[:1_500_000])
			w.(http.Flusher).Flush()
			<-silent
			return
		}
		http.ServeContent(w, r, "file", time.Time{}, bytes.NewReader(body))
	}))
	defer server.Close()
	defer close(silent)
	f := File{Source: server.URL, Path: filepath.Join(t.TempDir(), "file")}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by the test")
	err := Get(ctx, http.DefaultClient, f, func(done, _ int64) {
		if done == 1_500_000 {
			cancel(stop)
		}
	})
	if !errors.Is(err, stop) {
		t.Fatalf("want %v, have %v", stop, err)
	}
	have, err := get(t, f)
	if err != nil || !bytes.Equal(have, body) {
		t.Fatalf("have %d bytes, %v", len(have), err)
	}
	if len(asked) != 2 || asked[1] != "bytes=1500000-" {
		t.Errorf("requests: have %q", asked)
	}
}

// TestGetFromDirectory copies files of this machine.
func TestGetFromDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "there"), []byte("content"))
	have, err := get(t, File{Source: Within(dir, "there"), Path: filepath.Join(t.TempDir(), "file"), SHA256: sum([]byte("content"))})
	if err != nil || string(have) != "content" {
		t.Errorf("have %q, %v", have, err)
	}
	if _, err = get(t, File{Source: Within(dir, "not"), Path: filepath.Join(t.TempDir(), "file")}); !errors.Is(err, ErrMissing) {
		t.Errorf("want it to be missing, have %v", err)
	}
}

func TestChecksums(t *testing.T) {
	t.Parallel()
	a, b := sum([]byte("a")), sum([]byte("b"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hidden/SHA256SUMS": // as object stores answer for what they do not have
			http.Error(w, "AccessDenied", http.StatusForbidden)
			return
		case "/login/SHA256SUMS":
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		case "/broken/SHA256SUMS":
			http.Error(w, "no idea", http.StatusInternalServerError)
			return
		case "/SHA256SUMS":
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "# made today\n%s  one.parquet\n\n%s *./two.parquet\n", a, strings.ToUpper(b))
	}))
	defer server.Close()
	have, err := Checksums(t.Context(), http.DefaultClient, Within(server.URL+"/sets/", "SHA256SUMS"))
	if err != nil || len(have) != 2 || have["one.parquet"] != a || have["two.parquet"] != b {
		t.Errorf("have %v, %v", have, err)
	}
	for _, dir := range []string{"", "/hidden", "/login"} {
		if have, err = Checksums(t.Context(), http.DefaultClient, Within(server.URL+dir, "SHA256SUMS")); err != nil || have != nil {
			t.Errorf("no list in %q: have %v, %v", dir, have, err)
		}
	}
	if _, err = Checksums(t.Context(), http.DefaultClient, Within(server.URL+"/broken", "SHA256SUMS")); err == nil {
		t.Error("a server that is broken passed for one without a list")
	}
	bad := filepath.Join(t.TempDir(), "list")
	write(t, bad, []byte("12ab  file\n"))
	if _, err = Checksums(t.Context(), http.DefaultClient, bad); err == nil {
		t.Error("a line that is none was accepted")
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dir, want string }{
		{"/data/taxi", "/data/taxi/a.parquet"},
		{"https://host.example/data/", "https://host.example/data/a.parquet"},
		{"https://host.example?token=1", "https://host.example/a.parquet?token=1"},
	} {
		if have := Within(test.dir, "a.parquet"); have != test.want {
			t.Errorf("%s: want %s, have %s", test.dir, test.want, have)
		}
	}
}
