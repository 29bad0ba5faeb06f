package dashboard

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/esched/esched/internal/term"
	"github.com/esched/esched/runners/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the tests with -update)", err)
	}
	if have != string(want) {
		t.Errorf("%s differs; have:\n%s\nwant:\n%s", path, have, want)
	}
}

// visible makes escape codes readable.
func visible(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") + "\n" }

// after applies the events up to the n-th of a kind and returns the rest.
func after(m *Model, events []record.Event, kind record.EventKind, n int) []record.Event {
	for i, e := range events {
		m.Apply(e)
		if e.Kind == kind {
			if n--; n == 0 {
				return events[i+1:]
			}
		}
	}
	return nil
}

func TestScreens(t *testing.T) {
	t.Parallel()
	small := demo{repetitions: 7, workers: 4, nodes: 4}
	large := demo{repetitions: 2, workers: 64, nodes: 64}
	noop := Control{StopAfterTrial: func() {}, Cancel: func() {}}
	tests := []struct {
		name          string
		demo          demo
		width, height int
		kind          record.EventKind
		n             int
		change        func(*Options)
		keys          []string
	}{
		{"waiting-80x24", small, 80, 24, record.EventReservation, 2, nil, nil},
		{"deploying-80x24", small, 80, 24, record.EventNode, 7, nil, nil},
		{"deploying-64-nodes-80x24", large, 80, 24, record.EventNode, 100, nil, nil},
		{"early-80x24", small, 80, 24, record.EventTrialStarted, 8, nil, nil},
		{"late-80x24", small, 80, 24, record.EventTrialStarted, 70, nil, nil},
		{"late-120x40", small, 120, 40, record.EventTrialStarted, 70, nil, nil},
		{"late-200x60", small, 200, 60, record.EventTrialStarted, 70, nil, nil},
		{"late-ascii-80x24", small, 80, 24, record.EventTrialStarted, 70, func(o *Options) { o.ASCII = true }, nil},
		{"late-color-80x24", small, 80, 24, record.EventTrialStarted, 70, func(o *Options) { o.NoColor = false }, nil},
		{"late-light-80x24", small, 80, 24, record.EventTrialStarted, 70, func(o *Options) { o.NoColor, o.Background = false, term.Light }, nil},
		{"tiny-30x8", small, 30, 8, record.EventTrialStarted, 70, nil, nil},
		{"filter-80x24", small, 80, 24, record.EventTrialStarted, 70, nil, []string{"/", "r", "a", "n", "d"}},
		{"scrolled-80x24", small, 80, 24, record.EventTrialStarted, 70, nil, []string{"pgdown"}},
		{"events-80x24", small, 80, 24, record.EventTrialEnded, 18, nil, []string{"l"}},
		{"events-back-80x24", small, 80, 24, record.EventTrialEnded, 70, nil, []string{"l", "home"}},
		{"help-80x24", small, 80, 24, record.EventTrialEnded, 1, nil, []string{"?"}},
		{"stopping-80x24", small, 80, 24, record.EventTrialStarted, 9, nil, []string{"q"}},
		{"cancelling-80x24", small, 80, 24, record.EventTrialStarted, 9, nil, []string{"Q"}},
		{"not-waiting-80x24", small, 80, 24, record.EventTrialStarted, 9, nil, []string{"Q", "ctrl+c"}},
		{"ended-80x24", small, 80, 24, record.EventRunEnded, 1, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := demoOptions(tt.demo.manifest())
			opts.Width, opts.Height, opts.NoColor = tt.width, tt.height, true
			if tt.change != nil {
				tt.change(&opts)
			}
			m := NewModel(opts)
			after(m, tt.demo.events(), tt.kind, tt.n)
			s := newScreen(m, noop)
			for _, k := range tt.keys {
				s.press(k)
			}
			have := s.render(m.lastEvent.Add(3 * time.Second))
			golden(t, tt.name+".golden", visible(have))
			checkSize(t, have, tt.width, tt.height)
			if opts.ASCII && strings.ContainsFunc(have, func(r rune) bool { return r > 0x7e }) {
				t.Error("a character beyond ASCII")
			}
			if opts.NoColor && strings.Contains(have, "\x1b") {
				t.Error("an escape code")
			}
		})
	}
}

func checkSize(t *testing.T, screen string, w, h int) {
	t.Helper()
	lines := strings.Split(screen, "\n")
	if len(lines) != h {
		t.Errorf("%d lines, want %d", len(lines), h)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n > w {
			t.Errorf("line %d is %d cells wide, want at most %d: %q", i+1, n, w, l)
		}
	}
}

// TestSizes draws the run at every stage in many sizes: no size may break the
// screen.
func TestSizes(t *testing.T) {
	t.Parallel()
	d := demo{repetitions: 2, workers: 3, nodes: 1}
	for _, size := range [][2]int{{1, 1}, {20, 5}, {40, 12}, {47, 13}, {80, 24}, {100, 30}, {139, 24}, {140, 24}, {300, 100}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			opts := demoOptions(d.manifest())
			opts.Width, opts.Height = size[0], size[1]
			m := NewModel(opts)
			s := newScreen(m, Control{})
			keys := []string{"down", "l", "pgup", "?", "esc", "/", "x", "esc", "end", "home"}
			for i, e := range d.events() {
				m.Apply(e)
				s.press(keys[i%len(keys)])
				checkSize(t, s.render(e.Time), size[0], size[1])
			}
		})
	}
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	opts := demoOptions(nil)
	opts.NoColor = true
	m := NewModel(opts)
	nasty := "a\x1b[2Jb\nc\td\x07\u202e" + strings.Repeat("wide 漢字 ", 30)
	for _, kind := range []record.EventKind{record.EventRunStarted, record.EventWarning, record.EventStopping, record.EventNode, "new\x1bkind", record.EventTrialEnded, record.EventTrialStarted} {
		m.Apply(record.Event{Kind: kind, Message: nasty, State: nasty, Node: nasty, Time: demoStart})
	}
	bad := record.Record{Trial: record.Trial{ID: "1", Workload: nasty, Size: nasty, Scheduler: nasty}, Status: record.Status(nasty), Error: nasty}
	m.Apply(record.Event{Kind: record.EventTrialStarted, Trial: &bad.Trial, Time: demoStart})
	m.Apply(record.Event{Kind: record.EventTrialEnded, Record: &bad, Time: demoStart})
	s := newScreen(m, Control{})
	for _, key := range []string{"esc", "l"} {
		s.press(key)
		have := s.render(demoStart)
		checkSize(t, have, 80, 24)
		if strings.ContainsAny(have, "\x1b\x07\t\u202e") {
			t.Errorf("control characters reach the terminal: %q", have)
		}
	}
}
