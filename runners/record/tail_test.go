package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTailFollowsARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tail := NewTail(dir)
	next := func(want ...EventKind) {
		t.Helper()
		have, err := tail.Next()
		if err != nil || len(have) != len(want) {
			t.Fatalf("want %q, have %+v, %v", want, have, err)
		}
		for i, e := range have {
			if e.Kind != want[i] {
				t.Errorf("event %d: want %s, have %s", i, want[i], e.Kind)
			}
		}
	}
	next()
	s, err := Create(dir, Manifest{ID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if used, err := InUse(dir); err != nil || !used {
		t.Errorf("in use: %t, %v", used, err)
	}
	next()
	for _, k := range []EventKind{EventRunStarted, EventWarning} {
		if err := s.AppendEvent(Event{Time: time.Now(), Kind: k}); err != nil {
			t.Fatal(err)
		}
	}
	next(EventRunStarted, EventWarning)
	next()
	f, err := os.OpenFile(filepath.Join(dir, EventsFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range []string{"junk\n{\"kind\":\"rep", "ort\"}\n"} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if part[0] == 'j' {
			next()
		}
	}
	next(EventReport)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if used, err := InUse(dir); err != nil || used {
		t.Errorf("after its end: %t, %v", used, err)
	}
}
