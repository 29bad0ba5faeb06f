package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

func trial(rep int) record.Trial {
	t := record.Trial{
		Workload: "montecarlo", Size: "2,000 chunks", Params: map[string]any{"chunks": 2000, "seed": int64(1) << 60},
		Scheduler: "sidekick", Kind: "sidekick", Policy: "random", Nodes: 1, Workers: 4, Threads: 1, Repetition: rep,
	}
	t.ID = t.Identity()
	return t
}

func ok(rep int) record.Record {
	return record.Record{Trial: trial(rep), Status: record.StatusOK, MakespanS: 1.5, Started: time.Unix(1e9, 0).UTC()}
}

// create makes a run with n records and closes it.
func create(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs", "a")
	s, err := record.Create(dir, record.Manifest{ID: "a", Name: "test", Plan: []record.Planned{{Trial: trial(1)}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := s.AppendRecord(ok(i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AppendEvent(record.Event{Kind: record.EventRunEnded, Message: "done"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir string) *record.Run {
	t.Helper()
	run, err := record.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := create(t, 3)
	run := read(t, dir)
	if len(run.Records) != 3 || len(run.Events) != 1 || len(run.Warnings) != 0 {
		t.Fatalf("have %d records, %d events, warnings %q", len(run.Records), len(run.Events), run.Warnings)
	}
	if run.Manifest.Schema != record.Schema || run.Manifest.Sessions != 1 {
		t.Errorf("manifest has schema %d, sessions %d", run.Manifest.Schema, run.Manifest.Sessions)
	}
	for _, r := range run.Records {
		if have := r.Identity(); have != r.ID {
			t.Errorf("identity after reading: have %s, want %s", have, r.ID)
		}
	}
	if have, want := run.Manifest.Plan[0].ParamString(), "chunks=2000 seed=1152921504606846976"; have != want {
		t.Errorf("parameters: have %q, want %q", have, want)
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := create(t, 2)
	path := filepath.Join(dir, record.TrialsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for end := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:end], 0o666); err != nil {
			t.Fatal(err)
		}
		// A line without its newline is whole when its object is.
		survive := bytes.Count(whole[:end], []byte("\n"))
		if end < len(whole) && whole[end] == '\n' {
			survive++
		}
		if have := len(read(t, dir).Records); have != survive {
			t.Fatalf("cut at %d: have %d records, want %d", end, have, survive)
		}
		s, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.AppendRecord(ok(9)), s.AppendRecord(ok(10)), s.Close()); err != nil {
			t.Fatal(err)
		}
		run := read(t, dir)
		if have := len(run.Records); have != survive+2 {
			t.Fatalf("cut at %d, then 2 appended: have %d records, want %d", end, have, survive+2)
		}
		if torn := end > 0 && whole[end-1] != '\n' && (end == len(whole) || whole[end] != '\n'); torn != (len(run.Warnings) == 1) {
			t.Fatalf("cut at %d: torn %t, warnings %q", end, torn, run.Warnings)
		}
	}
}

// TestKilledWhileAppending kills real writers at moments nobody chose.
func TestKilledWhileAppending(t *testing.T) {
	if dir := os.Getenv("RECORD_TEST_APPEND_TO"); dir != "" {
		s, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; ; i++ {
			if err := s.AppendRecord(ok(i)); err != nil {
				t.Fatal(err)
			}
			fmt.Println("appended")
		}
	}
	t.Parallel()
	dir := create(t, 0)
	acknowledged := 0
	for range 5 {
		c := exec.Command(os.Args[0], "-test.run=^TestKilledWhileAppending$")
		c.Env = append(os.Environ(), "RECORD_TEST_APPEND_TO="+dir)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 256)
		seen := 0
		for seen < 5*len("appended\n") {
			n, err := out.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			seen += n
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // it was killed
		acknowledged += 5
	}
	run := read(t, dir)
	if have := len(run.Records) + len(run.Superseded); have < acknowledged {
		t.Errorf("have %d records, want at least the %d acknowledged ones", have, acknowledged)
	}
}

func TestOneWriter(t *testing.T) {
	t.Parallel()
	dir := create(t, 1)
	if _, err := record.Create(dir, record.Manifest{}); err == nil || !strings.Contains(hint.Of(err), "--resume") {
		t.Errorf("Create over a run: error %v, hint %q", err, hint.Of(err))
	}
	s, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.Open(dir); !errors.Is(err, record.ErrInUse) || hint.Of(err) == "" {
		t.Errorf("second Open: error %v, hint %q", err, hint.Of(err))
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := errors.Join(s.AppendRecord(ok(100+i)), s.AppendEvent(record.Event{Kind: record.EventWarning})); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.AppendRecord(ok(1)); err == nil {
		t.Error("append after Close: no error")
	}
	if run := read(t, dir); len(run.Records) != 21 || len(run.Events) != 21 || len(run.Warnings) != 0 {
		t.Errorf("have %d records, %d events, warnings %q", len(run.Records), len(run.Events), run.Warnings)
	}
	if s, err = record.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
}

// TestLookersAreWaitedFor opens a run while somebody looks whether it is in use.
func TestLookersAreWaitedFor(t *testing.T) {
	t.Parallel()
	dir := create(t, 1)
	f, err := os.Open(filepath.Join(dir, record.TrialsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	time.AfterFunc(50*time.Millisecond, func() { gone <- syscall.Flock(int(f.Fd()), syscall.LOCK_UN) })
	s, err := record.Open(dir)
	if err := errors.Join(err, <-gone); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUpdateManifest(t *testing.T) {
	t.Parallel()
	dir := create(t, 0)
	s, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := s.Manifest()
	err = s.UpdateManifest(func(m *record.Manifest) {
		m.Sessions++
		m.Plan[0].Size = "changed"
		m.Hosts = []record.Host{{Name: "node001", Cores: 24}}
	})
	if err != nil {
		t.Fatal(err)
	}
	m := read(t, dir).Manifest
	if m.Sessions != 2 || len(m.Hosts) != 1 || s.Manifest().Sessions != 2 {
		t.Errorf("have %+v", m)
	}
	if before.Plan[0].Size == "changed" {
		t.Error("the manifest handed out earlier changed")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files left: %v %v", left, err)
	}
}

func TestDiskErrors(t *testing.T) {
	t.Parallel()
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		dir := create(t, 0)
		path := filepath.Join(dir, record.TrialsFile)
		if err := errors.Join(os.Remove(path), os.Symlink("/dev/full", path)); err != nil {
			t.Fatal(err)
		}
		s, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.AppendRecord(ok(1))
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(hint.Of(err), "free space") {
			t.Errorf("have %v, hint %q", err, hint.Of(err))
		}
	})
	t.Run("a file in the way", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "runs")
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := record.Create(filepath.Join(file, "a"), record.Manifest{})
		if err == nil || !strings.Contains(hint.Of(err), "--output") {
			t.Errorf("have %v, hint %q", err, hint.Of(err))
		}
	})
	t.Run("not a number", func(t *testing.T) {
		t.Parallel()
		dir := create(t, 0)
		s, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		bad := ok(1)
		bad.MakespanS = math.NaN()
		if err := s.AppendRecord(bad); err == nil || !strings.Contains(err.Error(), bad.ID) {
			t.Errorf("have %v, want an error that names the trial", err)
		}
		if err := errors.Join(s.AppendRecord(ok(2)), s.Close()); err != nil {
			t.Fatal(err)
		}
		if run := read(t, dir); len(run.Records) != 1 || len(run.Warnings) != 0 {
			t.Errorf("have %d records, warnings %q", len(run.Records), run.Warnings)
		}
	})
}

func TestReadDamage(t *testing.T) {
	t.Parallel()
	line := func(id, status string, schema int) string {
		return fmt.Sprintf(`{"schema":%d,"trial":%q,"status":%q,"repetition":1,"makespan_s":1}`+"\n", schema, id, status)
	}
	warm := `{"schema":1,"trial":"w","status":"ok","repetition":0,"warmup":true}` + "\n"
	tests := []struct {
		name     string
		manifest string
		trials   string
		records  string // ids and states that count
		warnings []string
	}{
		{"no manifest", "", line("a", "ok", 1), "a:ok", []string{"run.json is missing"}},
		{"damaged manifest", `{"schema":1,`, line("a", "ok", 1), "a:ok", []string{"run.json is damaged"}},
		{"newer manifest", `{"schema":99}`, line("a", "ok", 1), "a:ok", []string{"schema 99"}},
		{"no records", `{"schema":1}`, "", "", nil},
		{"a damaged line", `{"schema":1}`, line("a", "ok", 1) + "{]\n" + line("b", "ok", 1), "a:ok b:ok", []string{"line 2"}},
		{"two in a line", `{"schema":1}`, `{"schema":1}{"schema":1}` + "\n", "", []string{"more than one value"}},
		{"torn", `{"schema":1}`, line("a", "ok", 1) + `{"schema":1,"tri`, "a:ok", []string{"torn"}},
		{"newer line", `{"schema":1}`, line("a", "ok", 1) + line("b", "ok", 2), "a:ok", []string{"schema 2"}},
		{"no schema", `{"schema":1}`, line("a", "ok", 0), "", []string{"no schema"}},
		{"unknown status", `{"schema":1}`, line("a", "fine", 1), "", []string{`"fine"`}},
		{"failed, then ok", `{"schema":1}`, line("a", "failed", 1) + line("a", "ok", 1), "a:ok", []string{"1 further"}},
		{"ok, then failed", `{"schema":1}`, line("a", "ok", 1) + line("a", "failed", 1), "a:ok", []string{"1 further"}},
		{"never ok", `{"schema":1}`, line("a", "failed", 1) + line("a", "timeout", 1), "a:timeout", []string{"1 further"}},
		{"warm-ups repeat", `{"schema":1}`, warm + warm + line("a", "ok", 1), "w:ok w:ok a:ok", nil},
		{"blank lines", `{"schema":1}`, "\n\n" + line("a", "ok", 1) + "\n", "a:ok", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{record.ManifestFile: test.manifest, record.TrialsFile: test.trials}
			for name, text := range files {
				if name == record.ManifestFile && text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, record.EventsFile), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			run := read(t, dir)
			var have []string
			for _, r := range run.Records {
				have = append(have, r.ID+":"+string(r.Status))
			}
			if have := strings.Join(have, " "); have != test.records {
				t.Errorf("records: have %q, want %q", have, test.records)
			}
			if len(run.Warnings) != len(test.warnings) {
				t.Fatalf("warnings: have %q, want %q", run.Warnings, test.warnings)
			}
			for i, want := range test.warnings {
				if !strings.Contains(run.Warnings[i], want) {
					t.Errorf("warning: have %q, want it to contain %q", run.Warnings[i], want)
				}
			}
		})
	}
	if _, err := record.Read(t.TempDir()); err == nil || hint.Of(err) == "" {
		t.Errorf("empty directory: error %v without a hint", err)
	}
	if _, err := record.Read(filepath.Join(t.TempDir(), "none")); err == nil || hint.Of(err) == "" {
		t.Errorf("missing directory: error %v without a hint", err)
	}
}
