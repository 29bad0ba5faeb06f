package dashboard

import "github.com/esched/esched/runners/record"

// Orders are what a dashboard that watches can ask of the run; each tells why
// the order could not be given. They may take a moment.
type Orders struct {
	// Stop ends the run after the trial that runs, Cancel now, the second time
	// without waiting. Extend asks the queue for more time.
	Stop, Cancel, Extend func() error
}

// question is an order that the user has to confirm: a key pressed by mistake
// must not end somebody's run.
type question struct {
	text string
	do   func() error
}

// inquire turns a key into a question, nil for none.
func (s *screen) inquire(key string) *question {
	if c := s.control.Extend; c != nil && key == "e" && !s.over {
		return &question{"ask the queue for more time?", func() error { c(); return nil }}
	}
	o := s.control.Orders
	if o == nil || s.over {
		return nil
	}
	switch key {
	case "s":
		return &question{"stop the run after this trial?", o.Stop}
	case "c", "Q":
		if s.stopKind == record.StopNow {
			return &question{"it is being cancelled: do not wait for that?", o.Cancel}
		}
		return &question{"cancel the run now?", o.Cancel}
	case "e":
		return &question{"ask the queue for more time?", o.Extend}
	}
	return nil
}

// answer takes the key after a question.
func (s *screen) answer(key string) (ask func()) {
	q := s.question
	s.question = nil
	if key != "y" && key != "Y" {
		return nil
	}
	return func() {
		s.notice = "asked; what comes of it shows in the events"
		if err := q.do(); err != nil {
			s.notice = clean(err.Error())
		}
	}
}
