package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const timelineText = `{"schema":1,"tasks":5,"every":2,"work_s":1.5,"transfer_s":0.1,"path_s":0.7,"prefixes":["a","b"],"workers":["w0"]}
[0,0,0.1,0.2,0.5,[]]
[1,0,0.2,0.6,0.6,[0.5,0.55]]
`

func TestTimeline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, err := WriteTimeline(dir, "abc", packed(t, timelineText))
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{Dir: dir}
	have, err := run.Timeline(&Record{Timeline: name})
	if err != nil {
		t.Fatal(err)
	}
	if have.Tasks != 5 || have.Every != 2 || have.PathS != 0.7 || len(have.Spans) != 2 || have.Spans[1].Prefix != 1 || !slices.Equal(have.Spans[1].Transfers, []float64{0.5, 0.55}) {
		t.Errorf("have %+v", have)
	}
	if chain, err := run.LongestChain(&Record{Timeline: name}); err != nil || chain != 0.7 {
		t.Errorf("longest chain: have %g, %v, want 0.7", chain, err)
	}
	if _, err := run.LongestChain(&Record{Timeline: TasksDir + "/none.jsonl.gz"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("longest chain of no file: have %v", err)
	}
}

func TestTimelineDamaged(t *testing.T) {
	t.Parallel()
	whole := packed(t, timelineText)
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "EOF"},
		{"not packed", []byte(timelineText), "invalid header"},
		{"cut off", whole[:len(whole)-20], "unexpected"},
		{"empty", packed(t, ""), "no first line"},
		{"newer", packed(t, `{"schema":99}`), "schema 99"},
		{"no schema", packed(t, `{}`), "schema 0"},
		{"unknown worker", packed(t, timelineText+"[0,1,0,0,0,[]]\n"), "unknown prefix or worker"},
		{"backwards", packed(t, timelineText+"[0,0,0,2,1,[]]\n"), "not a task's times"},
		{"odd transfers", packed(t, timelineText+"[0,0,0,1,2,[1]]\n"), "not a task's times"},
		{"short", packed(t, timelineText+"[0,0,1]\n"), "not a task's times"},
		{"words", packed(t, timelineText+"hello\n"), "invalid character"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if _, err := WriteTimeline(dir, "abc", test.data); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("written: have %v, want %q", err, test.want)
			}
			if err := os.MkdirAll(filepath.Join(dir, TasksDir), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, TasksDir, "x.jsonl.gz"), test.data, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := (&Run{Dir: dir}).Timeline(&Record{Timeline: TasksDir + "/x.jsonl.gz"}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("read: have %v, want %q", err, test.want)
			}
		})
	}
}

// TestTimelineElsewhere holds that a record cannot name files outside of its
// run.
func TestTimelineElsewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/etc/passwd", "../x", "tasks/../run.json", "run.json", ""} {
		if _, err := (&Run{Dir: t.TempDir()}).Timeline(&Record{Timeline: name}); err == nil || !strings.Contains(err.Error(), "not in tasks") {
			t.Errorf("%s: have %v", name, err)
		}
	}
}
