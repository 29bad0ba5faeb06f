package dashboard

import (
	"fmt"
	"runtime/debug"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/esched/esched/internal/mute"
)

// Bubble Tea is initialised by now, without a question to the terminal.
var _ = mute.End()

// refresh is the time between two drawings; keys and a new size of the
// terminal are answered at once.
const refresh = 250 * time.Millisecond

type tick struct{}

// program adapts a screen to bubbletea: the only file that knows how tea
// delivers keys, sizes and time.
type program struct {
	feed   *feed
	screen *screen
	view   string
	crash  error // of the dashboard itself
	left   bool  // the user closed it
}

func (p *program) Init() tea.Cmd { return wait }

func wait() tea.Msg {
	time.Sleep(refresh)
	return tick{}
}

func (p *program) View() string { return p.view }

// Update draws too, so that a mistake in drawing is caught here: the run and
// its terminal must survive the dashboard.
func (p *program) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			p.crash = fmt.Errorf("dashboard: %v\n%s", r, debug.Stack())
			next, cmd = p, tea.Quit
		}
	}()
	p.readLogs()
	over := p.feed.over() // before drawing, so that the last event is drawn
	ask := p.react(msg)
	if ask != nil {
		// Not under the lock: the runner may hold a lock that this waits for
		// while it hands an event to the feed.
		ask()
		p.redraw()
	}
	if over || p.left {
		return p, tea.Quit
	}
	if _, ok := msg.(tick); ok {
		return p, wait
	}
	return p, nil
}

// readLogs reads the log that is looked at. Not under the lock of the feed: a
// slow file system must not hold the run up.
func (p *program) readLogs() {
	if s := p.screen; s.page == pageLogs {
		s.pane.load(s.opts.Logs, s.turn)
		s.turn = 0
	}
}

// react applies a message to the screen and draws it. It returns what is to
// be asked of the runner, if anything.
func (p *program) react(msg tea.Msg) (ask func()) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 { // serial lines say 0 by 0
			p.screen.width, p.screen.height = msg.Width, msg.Height
		}
	case tea.KeyMsg:
		for _, key := range keysOf(msg) {
			a, left := p.screen.press(key)
			if a != nil {
				ask = a
			}
			p.left = p.left || left
		}
	}
	p.view = p.screen.render(p.screen.opts.Now())
	return ask
}

// redraw shows what came of an order.
func (p *program) redraw() {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.view = p.screen.render(p.screen.opts.Now())
}

// burst is the number of characters read at once from which on nobody typed
// them, also on a slow connection.
const burst = 8

// keysOf splits a message into keys: those that were typed fast come as one.
// Pasted text is none; what was meant for another window stops no run.
func keysOf(msg tea.KeyMsg) []string {
	switch {
	case msg.Paste || len(msg.Runes) >= burst:
		return nil
	case msg.Type != tea.KeyRunes || msg.Alt:
		return []string{msg.String()}
	}
	var keys []string
	for _, r := range msg.Runes {
		keys = append(keys, string(r))
	}
	return keys
}
