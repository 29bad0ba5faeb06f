package dashboard

import (
	"io"
	"sync"

	"github.com/esched/esched/runners/record"
)

// feed applies events to a model as soon as they come, in a goroutine of its
// own, so that the runner never waits for a terminal. Views look at the model
// under the feed's lock and do no output meanwhile.
type feed struct {
	mu      sync.Mutex
	model   *Model
	lines   []string // for a view of lines, in order, not yet written
	keep    bool     // lines are wanted
	changed chan struct{}
	ended   chan struct{} // closed when the events are
}

// newFeed starts to take events; it does until they are closed. With keep it
// keeps their lines.
func newFeed(m *Model, keep bool, events <-chan record.Event) *feed {
	f := &feed{model: m, keep: keep, changed: make(chan struct{}, 1), ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		for e := range events {
			f.take(e)
		}
	}()
	return f
}

func (f *feed) take(e record.Event) {
	f.mu.Lock()
	l, told := f.model.apply(e)
	if told && f.keep && e.Kind != record.EventReport { // the last line names the report
		f.lines = append(f.lines, f.model.plainLine(l))
	}
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default: // somebody was told already
	}
}

// over tells whether no event will come any more.
func (f *feed) over() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// keepLines keeps the lines of events from now on.
func (f *feed) keepLines() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep = true
}

// taken returns the lines kept so far and forgets them.
func (f *feed) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := f.lines
	f.lines = nil
	return lines
}

// write copies the lines to out until the events end. It goes on when out
// does not take them, and returns the first error.
func (f *feed) write(out io.Writer) error {
	var first error
	for {
		over := f.over() // before taking, so that the last lines are not missed
		for _, l := range f.taken() {
			if first == nil {
				_, first = io.WriteString(out, l+"\n")
			}
		}
		if over {
			return first
		}
		select {
		case <-f.changed:
		case <-f.ended:
		}
	}
}
