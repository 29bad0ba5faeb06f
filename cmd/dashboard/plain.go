package dashboard

import (
	"fmt"
	"io"
	"strings"

	"github.com/esched/esched/runners/record"
)

// Plain writes one line for each event to out, without escape codes, and at
// the end where the report is and what the exit code means. It returns when
// the events are closed; when out does not take the lines any more it goes on
// taking events and returns the error at the end.
func Plain(out io.Writer, opts Options, events <-chan record.Event) error {
	f := newFeed(NewModel(opts), true, events)
	err := f.write(out)
	if err == nil {
		_, err = io.WriteString(out, f.model.lastLine()+"\n")
	}
	if err != nil {
		return fmt.Errorf("plain output: %w", err)
	}
	return nil
}

// plainLine renders a line for a view that is not a screen.
func (m *Model) plainLine(l line) string {
	return m.inCharset(strings.TrimRight(l.at.In(m.opts.Location).Format("15:04:05")+" "+l.words(), " "))
}

func (m *Model) inCharset(s string) string {
	if m.opts.ASCII {
		return ascii(s)
	}
	return s
}

// lastLine tells where the report is, and the exit code if it is not 0.
func (m *Model) lastLine() string {
	return m.inCharset(strings.TrimRight(m.closing()+"  "+m.exitWords(), " "))
}

// closing tells where the report is.
func (m *Model) closing() string {
	if !m.over && m.opts.Watching {
		return "no end of the run was seen; how it stands: esched status " + m.run
	}
	if !m.over {
		text := "the run stopped telling of itself before its end"
		if m.run != "" {
			text += "; what it recorded is in " + m.run
		}
		return text
	}
	text := "no report was made"
	if m.run != "" {
		text += "; records: " + m.run
	}
	if m.report != "" {
		text = "report: " + m.report
	}
	return text
}

// exitWords tells an exit code that is not 0.
func (m *Model) exitWords() string {
	if m.exitCode == 0 {
		return ""
	}
	return fmt.Sprintf("(exit code %d: %s)", m.exitCode, exitMeaning(m.exitCode))
}
