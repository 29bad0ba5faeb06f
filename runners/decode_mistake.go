package runners

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/esched/esched/internal/hint"
)

// Mistake is one thing that is wrong with an experiment file.
type Mistake struct {
	File string
	// Line and Column count from 1, Column in bytes; Width is the number of
	// bytes the mistake covers in its line.
	Line, Column, Width int
	// Reason says what is wrong, Try what to do about it ("" when the reason
	// says it).
	Reason string
	Try    string

	source string // the line
}

// Error tells the place and the reason and shows the line with a caret.
func (m *Mistake) Error() string {
	return fmt.Sprintf("%s:%d: %s%s", m.File, m.Line, m.Reason, m.snippet())
}

// maxShown bounds the part of a source line that is shown, in characters.
const maxShown = 100

func (m *Mistake) snippet() string {
	if strings.TrimSpace(m.source) == "" {
		return ""
	}
	column := min(max(m.Column-1, 0), len(m.source))
	width := min(max(m.Width, 1), len(m.source)-column)
	before := utf8.RuneCountInString(m.source[:column])
	carets := max(utf8.RuneCountInString(m.source[column:column+width]), 1)
	line := []rune(printable(m.source))
	if len(line) > maxShown {
		from := max(min(before-maxShown/3, len(line)-maxShown), 0)
		line, before = line[from:from+maxShown], before-from
		carets = max(min(carets, maxShown-before), 1)
	}
	number := fmt.Sprintf("%5d", m.Line)
	return fmt.Sprintf("\n%s | %s\n%s | %s%s", number, strings.TrimRight(string(line), " "),
		strings.Repeat(" ", len(number)), strings.Repeat(" ", before), strings.Repeat("^", carets))
}

// printable keeps carets aligned and terminals safe.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '?'
	}, line)
}

// Mistakes are all mistakes of a file, by line. It is never empty.
type Mistakes []*Mistake

// shownMistakes bounds how many of them the message tells.
const shownMistakes = 40

// Error tells every mistake, each with what to try.
func (ms Mistakes) Error() string {
	if len(ms) == 1 {
		return ms[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d mistakes", ms[0].File, len(ms))
	for i, m := range ms {
		if i == shownMistakes {
			fmt.Fprintf(&b, "\n\nand %d more", len(ms)-i)
			break
		}
		fmt.Fprintf(&b, "\n\n%v", m)
		if m.Try != "" {
			fmt.Fprintf(&b, "\n  Try: %s", m.Try)
		}
	}
	return b.String()
}

// Unwrap gives the single mistakes to errors.Is and errors.As.
func (ms Mistakes) Unwrap() []error {
	errs := make([]error, len(ms))
	for i, m := range ms {
		errs[i] = m
	}
	return errs
}

// asError sorts the mistakes and attaches a hint and the exit code; it is nil
// when there are none.
func (ms Mistakes) asError() error {
	if len(ms) == 0 {
		return nil
	}
	slices.SortStableFunc(ms, func(a, b *Mistake) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	try := ms[0].Try
	if len(ms) > 1 {
		try = "mend them, then check again with: esched plan " + ms[0].File
	}
	err := hint.WithExit(ms, hint.ExitUsage)
	if try != "" {
		err = hint.With(err, try)
	}
	return err
}

// nearest returns the name most similar to have, or "" when none is similar.
func nearest(have string, names []string) string {
	if len(have) > 64 {
		return ""
	}
	var begun []string
	for _, n := range names {
		if len(have) >= 3 && strings.HasPrefix(n, strings.ToLower(have)) {
			begun = append(begun, n)
		}
	}
	if len(begun) == 1 {
		return begun[0]
	}
	best, bestDistance := "", max(2, len(have)/3)+1
	for _, n := range names {
		d := distance(strings.ToLower(have), strings.ToLower(n))
		if d < bestDistance && d < len(n) {
			best, bestDistance = n, d
		}
	}
	return best
}

// distance is the number of insertions, deletions and replacements of bytes
// that turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// maxNamed is how many names are still listed beside a similar one.
const maxNamed = 8

// chooseOne is the advice for a name that does not exist.
func chooseOne(have string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	list := "choose one of: " + strings.Join(names, ", ")
	if near := nearest(have, names); near != "" && len(names) > 1 {
		if len(names) > maxNamed {
			return fmt.Sprintf("did you mean %q?", near)
		}
		return fmt.Sprintf("did you mean %q? %s", near, list)
	}
	return list
}
