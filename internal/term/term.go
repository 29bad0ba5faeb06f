package term

import (
	"fmt"
	"strconv"
	"strings"

	xterm "github.com/charmbracelet/x/term"
)

// Lookup returns the value of an environment variable and whether it is set,
// as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// File is a stream with a file descriptor, such as *os.File.
type File interface{ Fd() uintptr }

// IsTerminal tells whether f is a terminal.
func IsTerminal(f File) bool { return xterm.IsTerminal(f.Fd()) }

// Size returns the width and height of the terminal f, in character cells.
func Size(f File) (width, height int, err error) {
	width, height, err = xterm.GetSize(f.Fd())
	if err != nil {
		return 0, 0, fmt.Errorf("terminal size: %w", err)
	}
	return width, height, nil
}

// Color tells whether the environment allows colour: it does unless NO_COLOR
// or ESCHED_NO_COLOR has a value that is not empty, or the terminal is dumb.
// That the stream is a terminal is for the caller to check, per stream.
func Color(lookup Lookup) bool {
	for _, name := range []string{"NO_COLOR", "ESCHED_NO_COLOR"} {
		if v, _ := lookup(name); v != "" {
			return false
		}
	}
	return !Dumb(lookup)
}

// Dumb tells whether the terminal cannot move its cursor (TERM=dumb), so that
// only plain lines are of use.
func Dumb(lookup Lookup) bool {
	v, _ := lookup("TERM")
	return v == "dumb"
}

// Unicode tells whether box drawings and the like can be shown: the locale's
// characters are UTF-8, and the terminal is neither the console of the Linux
// kernel, whose font has few of them, nor dumb.
func Unicode(lookup Lookup) bool {
	if v, _ := lookup("TERM"); v == "linux" || v == "dumb" {
		return false
	}
	return UTF8(lookup)
}

// UTF8 tells whether the locale's character set is UTF-8. As in POSIX, the
// first of LC_ALL, LC_CTYPE and LANG that is not empty decides, and no locale
// at all is ASCII.
func UTF8(lookup Lookup) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		v, _ := lookup(name)
		if v == "" {
			continue
		}
		v = strings.ToLower(v)
		return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
	}
	return false
}

// Shade is what is known about the background of a terminal.
type Shade int

// The shades of a background. Most terminals do not say theirs.
const (
	Unknown Shade = iota
	Dark
	Light
)

// Background returns the shade that COLORFGBG ("15;0": foreground;background)
// tells, which rxvt, Konsole and others set, or Unknown.
func Background(lookup Lookup) Shade {
	v, _ := lookup("COLORFGBG")
	parts := strings.Split(v, ";")
	if len(parts) < 2 {
		return Unknown
	}
	n, err := strconv.Atoi(parts[len(parts)-1])
	switch {
	case err != nil || n < 0 || n > 15:
		return Unknown
	case n <= 6 || n == 8: // the dark half of the 16 colours, and dark grey
		return Dark
	}
	return Light
}
