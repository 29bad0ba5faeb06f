package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/report/bundle"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

const secret = "ghp_abcdefghijklmnopqrstuvwx0123"

// save writes an invented run to a directory, with secrets in places where
// they have been seen, and logs of these sizes.
func save(t *testing.T, logs ...int) string {
	t.Helper()
	run := reporttest.Run(reporttest.Shape{Sizes: []int{500}, Workers: []int{2}, Policies: []string{"random"}, FailEvery: 4})
	m := run.Manifest
	m.Experiment = "name = \"invented\"\npassword = \"hunter2\"\noutput = \"/home/ada/runs\"\n"
	m.ExperimentPath = "/home/ada/experiments.toml"
	m.Environments["/home/ada/venv"] = record.Environment{Name: "/home/ada/venv", Path: "/home/ada/venv", Python: "3.12.1", Packages: map[string]string{"dask": "1"}}
	dir := filepath.Join(t.TempDir(), "a")
	store, err := record.Create(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range run.Records {
		if rec.Error != "" {
			rec.Error += " (see /home/ada/runs; token=abcdefgh)"
		}
		if err := store.AppendRecord(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(store.AppendEvent(record.Event{Time: m.Started, Kind: record.EventWarning, Message: "ada@node001: use " + secret}), store.Close()); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "report.html", "old")
	put(t, dir, "conductor.json", `{"secret":"x"}`)
	put(t, dir, "processes/1.json", "{}")
	put(t, dir, "programs/0123/mine.py", "KEY = 1 # "+secret+"\n")
	put(t, dir, "programs/0123/blob.py", "\xff\x00")
	put(t, dir, "inputs/4567/instance.json", "{}")
	for i, size := range logs {
		put(t, dir, fmt.Sprintf("logs/%03d/worker.log", i), strings.Repeat("worker of ada@node001\n", size/22+1)[:size])
	}
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func source(t *testing.T, run string) bundle.Source {
	return bundle.Source{
		Run: run, Home: "/home/ada", User: "ada", LogLimit: 1 << 20, Temp: t.TempDir(),
		Locks: map[string]bundle.Lock{"sha256:00": {Name: "default", Text: []byte("dask==2026.7.1 --hash=sha256:00\n")}},
		Tool:  bundle.Tool{Version: "0.0.0-test", Go: "go1", SHA256: "0123", Build: map[string]string{"-ldflags": "-L/home/ada/lib"}},
	}
}

func pack(t *testing.T, s bundle.Source) (*bundle.Bundle, []byte) {
	t.Helper()
	b, err := bundle.Make(s)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := b.Write(&archive); err != nil {
		t.Fatal(err)
	}
	return b, archive.Bytes()
}

// unpack reads an archive as tar does.
func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for r := tar.NewReader(packed); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[head.Name] = string(data)
	}
}

// repack makes an archive of files, as somebody else would.
func repack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	w := tar.NewWriter(packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

const top = "2026-01-15T10-00-00-invented/"

func TestBundleHasEverything(t *testing.T) {
	t.Parallel()
	b, archive := pack(t, source(t, save(t, 100, 5000)))
	files := unpack(t, archive)
	for _, name := range []string{
		"README.md", "SHA256SUMS", "removed.json", "esched.json", "hosts.json", "experiment.toml",
		"run/run.json", "run/trials.jsonl", "run/events.jsonl", "run/logs/000/worker.log", "run/logs/001/worker.log", "run/programs/0123/mine.py",
		"run/inputs/4567/instance.json",
		"report/report.html", "report/report.json", "report/report.md", "report/tables/cells.csv", "report/tables/trials.csv", "report/tables/cells.tex",
		"environments/default.lock.txt", "environments/default.packages.txt",
	} {
		if files[top+name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if !slices.ContainsFunc(b.Files(), func(n string) bool { return strings.HasPrefix(n, "report/figures/") && strings.HasSuffix(n, ".svg") }) {
		t.Error("no figure is there")
	}
	for _, name := range []string{"run/conductor.json", "run/processes/1.json", "run/report.html", "run/programs/0123/blob.py"} {
		if _, ok := files[top+name]; ok {
			t.Errorf("%s is there", name)
		}
	}
	readme := files[top+"README.md"]
	for _, want := range []string{"## Claims", "1. On montecarlo 500 chunks", "sha256sum --check", "esched report run", "esched run experiment.toml", "the run took 17m0s", "Invented CPU", "esched makes it from the lock", "has to be made by hand", "home directory",
		"(SHA-256 of the program: 0123)", "[authors]: invented-montecarlo: run 2026-01-15T10-00-00-invented, 2026-01-15. Measured with esched 0.0.0-test", "@misc{2026-01-15T10-00-00-invented,",
		fmt.Sprintf("SHA-256 of trials.jsonl %x", sha256.Sum256([]byte(files[top+"run/trials.jsonl"]))), "## Licence", "licences of their authors"} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md: want %q in\n%s", want, readme)
		}
	}
	var lines []string
	for line := range strings.Lines(files[top+"SHA256SUMS"]) {
		lines = append(lines, strings.TrimSpace(line[66:]))
	}
	if len(lines) != len(files)-1 || !slices.IsSorted(lines) {
		t.Errorf("SHA256SUMS lists %d files, sorted %t; want %d", len(lines), slices.IsSorted(lines), len(files)-1)
	}
}

// TestBundleHasNoSecrets looks for what was planted in every file.
func TestBundleHasNoSecrets(t *testing.T) {
	t.Parallel()
	b, archive := pack(t, source(t, save(t, 3000)))
	for name, text := range unpack(t, archive) {
		for _, bad := range []string{secret, "hunter2", "abcdefgh", "/home/ada", "ada@"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
	found := make(map[string]bool)
	for _, r := range b.Removed {
		found[r.File+" "+r.What] = r.Count > 0
	}
	for _, want := range []string{
		"run/run.json secret value", "run/run.json home directory", "run/trials.jsonl secret value", "run/events.jsonl token", "run/events.jsonl user name",
		"run/logs/000/worker.log user name", "run/programs/0123/mine.py token", "esched.json home directory",
		"run/conductor.json left out: no part of the results", "run/processes/ left out: no part of the results",
		"run/programs/0123/blob.py left out: no text, so it cannot be searched for secrets",
	} {
		if !found[want] {
			t.Errorf("not listed: %s in %+v", want, b.Removed)
		}
	}
}

// TestSameBytes packs the same run in two places, at two times.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	one, other := save(t, 100, 90000), save(t, 100, 90000)
	for _, name := range []string{"run.json", "logs/000/worker.log"} {
		if err := os.Chtimes(filepath.Join(other, name), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	_, first := pack(t, source(t, one))
	_, again := pack(t, source(t, one))
	_, second := pack(t, source(t, other))
	if !bytes.Equal(first, again) || !bytes.Equal(first, second) {
		t.Errorf("the archives differ: %x, %x, %x", sha256.Sum256(first), sha256.Sum256(again), sha256.Sum256(second))
	}
}

func TestLogLimit(t *testing.T) {
	t.Parallel()
	s := source(t, save(t, 100, 500, 30000, 20000))
	for _, test := range []struct {
		limit int64
		cut   int // logs that are cut
	}{{1 << 20, 0}, {30000, 2}, {800, 3}, {10, 4}} {
		s.LogLimit = test.limit
		b, archive := pack(t, s)
		size, cut := int64(0), 0
		for name, text := range unpack(t, archive) {
			if !strings.HasPrefix(name, top+"run/logs/") {
				continue
			}
			size += int64(len(text))
			if strings.Contains(text, "bytes were left out here]") {
				cut++
			}
		}
		// A name of the same length stands for the user's, and a line where
		// something was cut.
		if size > test.limit+int64(cut)*60+test.limit/10 || cut != test.cut {
			t.Errorf("limit %d: have %d bytes, %d cut; want %d cut", test.limit, size, cut, test.cut)
		}
		listed := 0
		for _, r := range b.Removed {
			if r.What == "cut from the middle: bytes" {
				listed++
			}
		}
		if listed != test.cut {
			t.Errorf("limit %d: %d are listed as cut", test.limit, listed)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	_, archive := pack(t, source(t, save(t, 500)))
	whole := unpack(t, archive)
	// edit changes one file; with true, the checksums as well, as somebody would
	// who wants another result.
	edit := func(name, from, to string, checksums bool) map[string]string {
		files := maps.Clone(whole)
		before := files[top+name]
		files[top+name] = strings.Replace(before, from, to, 1)
		if before == files[top+name] {
			t.Fatalf("%s has no %q", name, from)
		}
		if checksums {
			files[top+"SHA256SUMS"] = strings.Replace(files[top+"SHA256SUMS"], fmt.Sprintf("%x", sha256.Sum256([]byte(before))), fmt.Sprintf("%x", sha256.Sum256([]byte(files[top+name]))), 1)
		}
		return files
	}
	without := maps.Clone(whole)
	delete(without, top+"hosts.json")
	more := maps.Clone(whole)
	more[top+"extra.txt"] = "x"
	unlisted := maps.Clone(whole)
	delete(unlisted, top+"SHA256SUMS")
	noReport := maps.Clone(whole)
	delete(noReport, top+"report/report.json")
	tests := []struct {
		name               string
		files              map[string]string
		damaged, different string
	}{
		{"as packed", whole, "", ""},
		{"a changed file", edit("README.md", "Claims", "Truths", false), "README.md: not as listed", ""},
		{"a changed record", edit("run/trials.jsonl", `"makespan_s":`, `"makespan_s":9`, true), "", "packed"},
		{"a changed report", edit("report/report.json", `"geomean_s": `, `"geomean_s": 1`, true), "", "computed"},
		{"a missing file", without, "hosts.json: missing", ""},
		{"a file too many", more, "extra.txt: not listed", ""},
		{"no checksums", unlisted, "SHA256SUMS: missing", ""},
		{"no report", noReport, "report/report.json: missing", "report/report.json"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := bundle.Verify(bytes.NewReader(repack(t, test.files)), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if damaged := strings.Join(c.Damaged, "\n"); !strings.Contains(damaged, test.damaged) || (damaged == "") != (test.damaged == "") {
				t.Errorf("damaged: have %q, want %q", damaged, test.damaged)
			}
			if different := strings.Join(c.Different, "\n"); !strings.Contains(different, test.different) || (different == "") != (test.different == "") {
				t.Errorf("different: have %q, want %q", different, test.different)
			}
			if c.OK() != (test.damaged+test.different == "") || c.Esched != "0.0.0-test" || test.name == "as packed" && c.Numbers < 100 {
				t.Errorf("have %+v", c)
			}
		})
	}
}

// TestForeignArchives reads what is no bundle, or a trap.
func TestForeignArchives(t *testing.T) {
	t.Parallel()
	_, archive := pack(t, source(t, save(t)))
	link := func() []byte {
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		w := tar.NewWriter(packed)
		if err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "x/run", Linkname: "/etc"}), w.Close(), packed.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, data := range map[string][]byte{
		"nothing":              nil,
		"text":                 []byte("hello"),
		"cut short":            archive[:len(archive)/2],
		"empty":                repack(t, nil),
		"a path upwards":       repack(t, map[string]string{"x/../../evil": "x"}),
		"an absolute path":     repack(t, map[string]string{"/etc/evil": "x"}),
		"no directory":         repack(t, map[string]string{"evil": "x"}),
		"two directories":      repack(t, map[string]string{"x/a": "x", "y/a": "x"}),
		"a link":               link(),
		"a path that is dotty": repack(t, map[string]string{"x/./a": "x"}),
	} {
		c, err := bundle.Verify(bytes.NewReader(data), t.TempDir())
		if err == nil || hint.Of(err) == "" {
			t.Errorf("%s: have %+v, %v; want an error with a hint", name, c, err)
		}
	}
	// A directory of that name with other things in it is no trap, only no run.
	c, err := bundle.Verify(bytes.NewReader(repack(t, map[string]string{"x/a": "x"})), t.TempDir())
	if err != nil || c.OK() {
		t.Errorf("no run: have %+v, %v", c, err)
	}
}

// TestDamagedRuns packs what is left of runs.
func TestDamagedRuns(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(dir string) error{
		"no manifest": func(dir string) error { return os.Remove(filepath.Join(dir, "run.json")) },
		"no events":   func(dir string) error { return os.Remove(filepath.Join(dir, "events.jsonl")) },
		"no records":  func(dir string) error { return os.Remove(filepath.Join(dir, "trials.jsonl")) },
		"no logs":     func(dir string) error { return os.RemoveAll(filepath.Join(dir, "logs")) },
		"a torn record": func(dir string) error {
			path := filepath.Join(dir, "trials.jsonl")
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, info.Size()-40)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := save(t, 100)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			_, archive := pack(t, source(t, dir))
			c, err := bundle.Verify(bytes.NewReader(archive), t.TempDir())
			if err != nil || !c.OK() {
				t.Errorf("have %+v, %v", c, err)
			}
		})
	}
	if _, err := bundle.Make(source(t, t.TempDir())); err == nil || hint.Of(err) == "" {
		t.Errorf("an empty directory: have %v, want an error with a hint", err)
	}
}

// TestRemovedIsListed: the list in the archive is the one that is told.
func TestRemovedIsListed(t *testing.T) {
	t.Parallel()
	b, archive := pack(t, source(t, save(t, 100)))
	var listed []bundle.Removal
	if err := json.Unmarshal([]byte(unpack(t, archive)[top+"removed.json"]), &listed); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(listed, b.Removed) || len(listed) == 0 {
		t.Errorf("have %+v, want %+v", listed, b.Removed)
	}
}
