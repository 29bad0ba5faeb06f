package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/esched/esched/workloads"
)

// progressLines shows progress: on a terminal one line that is drawn again and
// again, elsewhere a line for each new thing and for each tenth of it.
type progressLines struct {
	w      io.Writer
	redraw bool

	what  string // the thing shown last
	tenth int64
	width int // of the line on the terminal
}

func (l *progressLines) show(p workloads.Progress) {
	fresh := p.What != l.what
	var tenth int64
	if p.Total > 0 {
		tenth = p.Done * 10 / p.Total
	}
	if !l.redraw {
		if fresh || tenth != l.tenth {
			fmt.Fprintln(l.w, progressText(p))
		}
		l.what, l.tenth = p.What, tenth
		return
	}
	if fresh {
		l.end()
	}
	l.what = p.What
	text := progressText(p)
	if p.Total > 0 {
		full := int(min(p.Done*20/p.Total, 20))
		text = "[" + strings.Repeat("#", full) + strings.Repeat("-", 20-full) + "] " + text
	}
	runes := []rune(text)
	text = string(runes[:min(len(runes), 79)]) // a longer one would wrap, and could not be drawn over
	fmt.Fprintf(l.w, "\r%-*s", l.width, text)
	l.width = len(runes)
}

// end leaves the line that is drawn over.
func (l *progressLines) end() {
	if l.redraw && l.width > 0 {
		fmt.Fprintln(l.w)
		l.width = 0
	}
}

func progressText(p workloads.Progress) string {
	amount := func(n int64) string {
		if p.Unit != "B" {
			return fmt.Sprint(n)
		}
		const mega = 1_000_000
		if n < mega {
			return fmt.Sprintf("%.1f kB", float64(n)/1000)
		}
		return fmt.Sprintf("%.1f MB", float64(n)/mega)
	}
	unit := ""
	if p.Unit != "" && p.Unit != "B" {
		unit = " " + p.Unit
	}
	switch {
	case p.Total > 0:
		return fmt.Sprintf("%s: %s of %s%s (%d %%)", p.What, amount(p.Done), amount(p.Total), unit, p.Done*100/p.Total)
	case p.Done > 0:
		return fmt.Sprintf("%s: %s%s", p.What, amount(p.Done), unit)
	}
	return p.What
}
