package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// clean makes text from elsewhere (a queue's reason, a worker's traceback)
// safe to show: one line, no control characters.
func clean(s string) string {
	s = ansi.Strip(s)
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// grouped puts separators into the numbers of a size: "2000 chunks" becomes
// "2,000 chunks". Only digits between spaces are a number.
func grouped(s string) string {
	words := strings.Split(s, " ")
	for i, w := range words {
		if n, err := strconv.ParseUint(w, 10, 63); err == nil && w[0] != '0' {
			words[i] = count(int(n))
		}
	}
	return strings.Join(words, " ")
}

// count renders a number with separators: 12,345.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// digits renders a number of seconds with three significant digits, at most
// three decimals.
func digits(s float64) string {
	switch a := math.Abs(s); {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return "–"
	case a < 0.9995:
		return strconv.FormatFloat(s, 'f', 3, 64)
	case a < 9.995:
		return strconv.FormatFloat(s, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(s, 'f', 1, 64)
	}
	return count(int(math.Round(s)))
}

func seconds(s float64) string { return digits(s) + " s" }

// clock renders a duration as 02:10 or 1:02:10.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second) / time.Second)
	if s < 0 {
		s = 0
	}
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// micros renders a time given in microseconds with a fitting unit.
func micros(us float64) string {
	switch {
	case us < 999.5:
		return strconv.FormatFloat(us, 'g', 3, 64) + " µs"
	case us < 999500:
		return strconv.FormatFloat(us/1e3, 'g', 3, 64) + " ms"
	}
	return seconds(us / 1e6)
}

// joined puts the parts that are not empty into one line.
func joined(parts ...string) string { return join(" · ", parts) }

func joinWords(parts ...string) string { return join(" ", parts) }

func join(sep string, parts []string) string {
	var full []string
	for _, p := range parts {
		if p != "" {
			full = append(full, p)
		}
	}
	return strings.Join(full, sep)
}

// fitting joins as many of the parts as fit into a width, the first first.
func fitting(w int, parts ...string) string {
	text := ""
	for _, p := range parts {
		next := joined(text, p)
		if text != "" && width(next) > w {
			break
		}
		text = next
	}
	return text
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func width(s string) int { return ansi.StringWidth(s) }

func padLeft(s string, w int) string { return strings.Repeat(" ", max(0, w-width(s))) + s }

func padRight(s string, w int) string { return s + strings.Repeat(" ", max(0, w-width(s))) }

// cut shortens a text to a width and shows that it did.
func cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	return ansi.Truncate(s, w, "…")
}

// wrapped breaks a text into lines of at most w cells.
func wrapped(s string, w int) []string {
	return strings.Split(ansi.Wrap(s, max(1, w), ""), "\n")
}

// ascii replaces every character beyond ASCII by one of the same width, so
// that a finished screen keeps its columns.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 {
			return r
		}
		if a, ok := inASCII(r); ok {
			return a
		}
		return '?'
	}, s)
}

func inASCII(r rune) (rune, bool) {
	const from, to = "·–−…µ█░─│●○◐✓✗▼▲╌×≈↑↓→←▏", "|--~u#.-|*o%+xv^-x~^v><|"
	for i, f := range []rune(from) {
		if f == r {
			return rune(to[i]), true
		}
	}
	return 0, false
}
