package dashboard

import "github.com/esched/esched/internal/term"

// role is what a piece of text means. Colour only repeats what a sign or a
// word says already.
type role int

const (
	plain role = iota
	strong
	faint
	better  // faster, ok, registered
	worse   // slower, failed, lost
	caution // warnings, waiting
	accent  // the progress bar, titles
	inverse // the input line
)

// palette holds the attributes (SGR parameters) of each role.
type palette map[role]string

// newPalette chooses the attributes. They are of the sixteen colours that the
// reader's own theme defines, so that they fit it; the bright ones are left
// out because some themes use them for greys, and yellow because it cannot be
// read on white unless the background is known to be dark. Faint and bold
// adapt to any background.
func newPalette(noColor bool, background term.Shade) palette {
	if noColor {
		return nil
	}
	p := palette{strong: "1", faint: "2", better: "32", worse: "31", caution: "35", accent: "36", inverse: "7"}
	switch background {
	case term.Dark:
		p[caution] = "33"
	case term.Light:
		p[accent] = "34"
	}
	return p
}

// paint gives text the attributes of a role.
func (p palette) paint(r role, text string) string {
	if a := p[r]; a != "" && text != "" {
		return "\x1b[" + a + "m" + text + "\x1b[0m"
	}
	return text
}

// signs of the levels; they mean the same without colour.
func (l level) sign() string {
	switch l {
	case good:
		return "✓"
	case warn:
		return "!"
	case bad:
		return "✗"
	}
	return " "
}

func (l level) role() role {
	switch l {
	case good:
		return better
	case warn:
		return caution
	case bad:
		return worse
	}
	return plain
}

// signs of the states of nodes and workers.
func stateSign(state string) (string, role) {
	switch state {
	case "registered", "first-task":
		return "●", better
	case "process":
		return "◐", caution
	case "lost", "failed":
		return "✗", worse
	}
	return "○", caution
}
