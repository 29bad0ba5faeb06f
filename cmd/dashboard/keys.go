package dashboard

import "unicode/utf8"

// page is what fills the screen.
type page int

const (
	pageRun page = iota
	pageEvents
	pageHelp
	pageNodes
	pageLogs
)

// stop is how far the user went with ending the run.
type stop int

const (
	notStopping stop = iota
	stopAfterTrial
	stopNow
	stopForced // does not wait for what is being stopped
)

// screen is a model with what the user did to the view of it.
type screen struct {
	*Model
	control       Control
	palette       palette
	width, height int

	page   page
	stop   stop
	top    int // first line of the results that is shown
	back   int // how far the events are scrolled back from the last one
	filter string
	typing bool // the filter is being typed

	pane     pane
	turn     int // how many logs further is wanted
	question *question
	notice   string // what came of an order, until the next key
}

func newScreen(m *Model, c Control) *screen {
	return &screen{
		Model:   m,
		control: c,
		palette: newPalette(m.opts.NoColor, m.opts.Background),
		width:   m.opts.Width,
		height:  m.opts.Height,
	}
}

// press acts on a key. It returns what is to be asked of the run, nil for
// nothing, and whether the dashboard is to be closed.
func (s *screen) press(key string) (ask func(), leave bool) {
	s.notice = ""
	if key == "ctrl+c" {
		return s.cancel()
	}
	if s.question != nil {
		return s.answer(key), false
	}
	if s.typing {
		s.typeFilter(key)
		return nil, false
	}
	if s.question = s.inquire(key); s.question != nil {
		return nil, false
	}
	switch key {
	case "q":
		return s.finish()
	case "Q":
		if s.control.watching() {
			return nil, false // with orders it is a question
		}
		return s.cancel()
	case "?":
		s.toggle(pageHelp)
	case "l":
		s.toggle(pageEvents)
	case "L":
		s.toggle(pageLogs)
	case "n":
		s.toggle(pageNodes)
	case "/":
		s.page, s.typing, s.top = pageRun, true, 0
	case "esc":
		s.escape()
	default:
		s.scroll(key)
	}
	return nil, false
}

func (s *screen) toggle(p page) {
	if s.page == p {
		p = pageRun
	}
	s.page, s.back = p, 0
}

func (s *screen) escape() {
	if s.page != pageRun {
		s.page = pageRun
		return
	}
	s.filter, s.top = "", 0
}

func (s *screen) typeFilter(key string) {
	switch key {
	case "enter":
		s.typing = false
	case "esc":
		s.typing, s.filter = false, ""
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-n]
	default:
		if utf8.RuneCountInString(key) == 1 && len(s.filter) < 40 {
			s.filter += clean(key)
			if key == " " {
				s.filter += " "
			}
		}
	}
	s.top = 0
}

// scroll moves in what the page shows; render keeps it within its bounds.
func (s *screen) scroll(key string) {
	if s.page == pageLogs && (key == "left" || key == "right" || key == "tab") {
		s.turn, s.back = 1, 0
		if key == "left" {
			s.turn = -1
		}
		return
	}
	full := max(1, s.height/2)
	step := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1,
		"pgup": -full, "pgdown": full, " ": full,
		"home": -1 << 20, "g": -1 << 20, "end": 1 << 20, "G": 1 << 20,
	}[key]
	switch s.page {
	case pageEvents, pageLogs:
		s.back = max(0, s.back-step)
		return
	case pageNodes:
		s.back = max(0, s.back+step)
		return
	}
	s.top = max(0, s.top+step)
}

// finish asks for the end of the run after this trial.
func (s *screen) finish() (ask func(), leave bool) {
	if s.control.watching() {
		return nil, true
	}
	if s.stop != notStopping || s.control.StopAfterTrial == nil {
		return nil, false
	}
	s.stop = stopAfterTrial
	return s.control.StopAfterTrial, false
}

// cancel asks for the end of the run now, and at the second time for not
// waiting for it.
func (s *screen) cancel() (ask func(), leave bool) {
	switch {
	case s.control.watching():
		return nil, true
	case s.control.Cancel == nil || s.stop == stopForced:
		return nil, false
	case s.stop == stopNow:
		s.stop = stopForced
	default:
		s.stop = stopNow
	}
	return s.control.Cancel, false
}
