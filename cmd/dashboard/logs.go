package dashboard

import (
	"fmt"
	"strings"
)

// Logs are the logs of a run's processes. The methods are called from one
// goroutine, and may take their time: the run does not wait for them.
type Logs interface {
	// List names the logs, the latest first.
	List() []string
	// End returns the last lines of a log.
	End(name string) ([]string, error)
}

// pane is the log that is looked at.
type pane struct {
	names []string
	name  string
	lines []string
	err   error
}

// load reads the list and the chosen log; step chooses another one.
func (p *pane) load(logs Logs, step int) {
	if logs == nil {
		p.err = fmt.Errorf("logs are not at hand here")
		return
	}
	p.names = logs.List()
	if len(p.names) == 0 {
		p.name, p.lines, p.err = "", nil, nil
		return
	}
	at := p.at()
	if at < 0 {
		at = 0
	}
	p.name = p.names[min(len(p.names)-1, max(0, at+step))]
	p.lines, p.err = logs.End(p.name)
}

// at is the place of the log in the list, -1 if it is not there.
func (p *pane) at() int {
	for i, n := range p.names {
		if n == p.name {
			return i
		}
	}
	return -1
}

// logsPage shows the end of a log. It follows what is written until the user
// scrolls back.
func (s *screen) logsPage() []string {
	p := s.palette
	title, note := "log", fmt.Sprintf("%d of %d", s.pane.at()+1, len(s.pane.names))
	if s.pane.name != "" {
		title = cut(clean(s.pane.name), max(8, s.width-20))
	}
	var all []string
	for _, l := range s.pane.lines {
		all = append(all, wrapped(clean(strings.ReplaceAll(l, "\t", "    ")), s.width-2)...)
	}
	switch {
	case s.pane.err != nil:
		all = wrapped(clean(s.pane.err.Error()), s.width-2)
	case len(all) == 0:
		all = []string{p.paint(faint, "nothing is logged so far")}
	}
	room := max(1, s.height-2)
	s.back = min(s.back, max(0, len(all)-room))
	end := len(all) - s.back
	lines := []string{s.rule(title, note, s.width)}
	for _, l := range all[max(0, end-room):end] {
		lines = append(lines, " "+l)
	}
	for len(lines) < s.height-1 {
		lines = append(lines, "")
	}
	return append(lines, p.paint(faint, " ←→ other logs · ↑↓ scroll · end newest · esc back"))
}
