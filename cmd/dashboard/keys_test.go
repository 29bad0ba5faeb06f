package dashboard

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/esched/esched/runners/record"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	type state struct {
		stops, cancels int
		leave          bool
		page           page
		filter         string
		says           string // a part of the last line of the screen
	}
	tests := []struct {
		name  string
		watch bool
		keys  string
		want  state
	}{
		{"stop", false, "q", state{stops: 1, says: "stopping after this trial"}},
		{"stop once", false, "q q q", state{stops: 1, says: "stopping after this trial"}},
		{"cancel", false, "Q", state{cancels: 1, says: "again: do not wait"}},
		{"cancel by ctrl+c", false, "ctrl+c", state{cancels: 1, says: "again: do not wait"}},
		{"cancel after stop", false, "q Q", state{stops: 1, cancels: 1, says: "cancelling"}},
		{"cancel twice", false, "Q ctrl+c", state{cancels: 2, says: "not waiting any more"}},
		{"cancel no more than twice", false, "Q Q Q Q", state{cancels: 2, says: "not waiting any more"}},
		{"no stop after cancel", false, "Q q", state{cancels: 1, says: "cancelling"}},
		{"watching, q leaves", true, "q", state{leave: true, says: "leave (the run goes on)"}},
		{"watching, ctrl+c leaves", true, "ctrl+c", state{leave: true, says: "leave"}},
		{"help and back", false, "?", state{page: pageHelp, says: "esc back"}},
		{"help, esc", false, "? esc", state{says: "q stop"}},
		{"help, ?", false, "? ?", state{says: "q stop"}},
		{"events", false, "l", state{page: pageEvents, says: "esc back"}},
		{"events, scroll, esc", false, "l up pgup esc", state{says: "q stop"}},
		{"filter", false, "/ q Q l", state{filter: "qQl", says: "filter: qQl"}},
		{"filter kept", false, "/ d enter", state{filter: "d", says: "q stop"}},
		{"filter corrected", false, "/ d x backspace enter", state{filter: "d", says: "q stop"}},
		{"filter dropped", false, "/ d enter esc", state{says: "q stop"}},
		{"ctrl+c while typing", false, "/ d ctrl+c", state{cancels: 1, filter: "d", says: "filter: d"}},
		{"unknown keys", false, "x f5 tab alt+q", state{says: "q stop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var have state
			control := Control{StopAfterTrial: func() { have.stops++ }, Cancel: func() { have.cancels++ }}
			if tt.watch {
				control = Control{}
			}
			opts := demoOptions(nil)
			opts.NoColor = true
			s := newScreen(NewModel(opts), control)
			for _, k := range strings.Fields(tt.keys) {
				ask, leave := s.press(k)
				have.leave = leave
				if ask != nil {
					ask()
				}
			}
			have.page, have.filter, have.says = s.page, s.filter, tt.want.says
			if have != tt.want {
				t.Errorf("have %+v, want %+v", have, tt.want)
			}
			screen := s.render(demoStart)
			if last := screen[strings.LastIndex(screen, "\n")+1:]; !strings.Contains(last, tt.want.says) {
				t.Errorf("last line is %q, want %q in it", last, tt.want.says)
			}
		})
	}
}

// TestProgram drives the adapter: pasted text presses no key, and asking the
// runner does not hold the feed up.
func TestProgram(t *testing.T) {
	t.Parallel()
	events := make(chan record.Event)
	f := newFeed(NewModel(demoOptions(nil)), false, events)
	asked := 0
	control := Control{StopAfterTrial: func() {
		asked++
		events <- record.Event{Kind: record.EventStopping, Message: "asked", Time: demoStart}
	}}
	p := &program{feed: f, screen: newScreen(f.model, control)}
	p.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q"), Paste: true})
	p.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("a question")})
	p.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("/Qq")}) // typed fast
	p.Update(tea.KeyMsg{Type: tea.KeyEsc})
	if asked != 0 {
		t.Error("pasted text stops the run")
	}
	p.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	if n := strings.Count(p.View(), "\n") + 1; n != 30 {
		t.Errorf("have %d lines, want 30", n)
	}
	p.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")})
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	if _, cmd := p.Update(tick{}); cmd == nil {
		t.Error("the clock stops")
	}
	close(events)
	<-f.ended
	if _, cmd := p.Update(tick{}); cmd == nil || cmd() != tea.Quit() {
		t.Error("the dashboard stays after the last event")
	}
	if !strings.Contains(strings.Join(p.screen.summaryLines(), "\n"), "stopped telling") {
		t.Error("no summary of a run without end")
	}
}

// TestOrdersByState asks back about what is being done already, and about no
// more.
func TestOrdersByState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ state, cancel, keys string }{
		{"", "cancel the run now?", "s stop"},
		{record.StopAfterTrial, "cancel the run now?", ""},
		{record.StopNow, "it is being cancelled: do not wait for that?", ""},
	} {
		t.Run("stopping "+c.state, func(t *testing.T) {
			t.Parallel()
			opts := demoOptions(nil)
			opts.NoColor = true
			m := NewModel(opts)
			if c.state != "" {
				m.Apply(record.Event{Time: demoStart, Kind: record.EventStopping, State: c.state, Message: "somebody"})
			}
			s := newScreen(m, Control{Orders: &Orders{}})
			if have := s.keyLine(); strings.Contains(have, "s stop") != (c.keys != "") {
				t.Errorf("keys %q", have)
			}
			s.press("c")
			if have := s.keyLine(); !strings.Contains(have, c.cancel) {
				t.Errorf("want %q, have %q", c.cancel, have)
			}
		})
	}
}
