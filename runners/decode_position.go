package runners

import (
	"strconv"
	"strings"
)

// The TOML decoder tells no positions of keys and values. The scanner below
// finds them in a text that the decoder accepted; of other texts it finds
// some. It never fails.
//
// A path names a place in the document: keys and "#i" for the element i of an
// array, joined by "\x00" with one in front.

// child is the path of a key in a table, element that of an item of a list.
func child(path, key string) string         { return path + "\x00" + key }
func element(path string, index int) string { return path + "\x00#" + strconv.Itoa(index) }

// span is a part of the text, in bytes.
type span struct{ from, to int }

// place is where a path is in the text.
type place struct{ key, value span }

type positions map[string]place

type scanner struct {
	text   string
	at     int
	places positions
	arrays map[string]int // number of [[tables]] so far, by path
}

// scanPositions finds the places of all keys and values.
func scanPositions(text string) positions {
	s := &scanner{text: text, places: positions{}, arrays: map[string]int{}}
	if s.here("\ufeff") { // byte order mark
		s.at += len("\ufeff")
	}
	base := ""
	for {
		s.blanks()
		switch {
		case s.at >= len(s.text):
			return s.places
		case s.here("[["):
			base = s.header(2)
		case s.here("["):
			base = s.header(1)
		default:
			s.pair(base)
		}
	}
}

func (s *scanner) here(prefix string) bool { return strings.HasPrefix(s.text[s.at:], prefix) }

// spaces skips what separates words in a line.
func (s *scanner) spaces() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// blanks skips spaces, newlines and comments.
func (s *scanner) blanks() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		case '#':
			s.until("\n")
		default:
			return
		}
	}
}

// until moves to the next occurrence of stop, or to the end.
func (s *scanner) until(stop string) {
	if i := strings.Index(s.text[s.at:], stop); i >= 0 {
		s.at += i
	} else {
		s.at = len(s.text)
	}
}

// header reads "[a.b]" or "[[a.b]]" and returns the path of the table.
func (s *scanner) header(brackets int) string {
	from := s.at
	s.at += brackets
	keys := s.keys()
	for range brackets {
		s.spaces()
		if s.here("]") {
			s.at++
		}
	}
	all := span{from, s.at}
	path := ""
	for i, k := range keys {
		path = child(path, k)
		if i == len(keys)-1 && brackets == 2 {
			s.mark(path, place{all, all})
			s.arrays[path]++
			path = element(path, s.arrays[path]-1)
		} else {
			s.mark(path, place{all, all})
			if n := s.arrays[path]; n > 0 {
				path = element(path, n-1)
			}
		}
	}
	s.places[path] = place{all, all}
	return path
}

// mark keeps the first place of a path.
func (s *scanner) mark(path string, p place) {
	if _, ok := s.places[path]; !ok {
		s.places[path] = p
	}
}

// pair reads "a.b = value".
func (s *scanner) pair(base string) {
	from := s.at
	keys := s.keys()
	key := span{from, s.at}
	s.spaces()
	if !s.here("=") || len(keys) == 0 { // not valid; go on behind it
		s.at = max(s.at, from+1)
		return
	}
	s.at++
	path := base
	var parents []string
	for _, k := range keys {
		parents = append(parents, path)
		path = child(path, k)
	}
	s.blanks()
	value := s.value(path)
	for _, p := range parents[1:] {
		s.mark(p, place{key, value})
	}
	s.places[path] = place{key, value}
}

// keys reads "a.'b'.c" and stops right behind it.
func (s *scanner) keys() []string {
	var keys []string
	for {
		s.spaces()
		from := s.at
		switch {
		case s.here(`"`):
			s.quoted(`"`)
			raw := s.text[from:s.at]
			if k, err := strconv.Unquote(raw); err == nil {
				raw = k
			}
			keys = append(keys, raw)
		case s.here("'"):
			s.quoted("'")
			keys = append(keys, strings.Trim(s.text[from:s.at], "'"))
		default:
			for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n.=]\"'#[{},", rune(s.text[s.at])) {
				s.at++
			}
			if s.at == from {
				return keys
			}
			keys = append(keys, s.text[from:s.at])
		}
		end := s.at
		s.spaces()
		if !s.here(".") {
			s.at = end
			return keys
		}
		s.at++
	}
}

// quoted skips a text in quotes, of one line or of several.
func (s *scanner) quoted(quote string) {
	escapes := quote == `"`
	if triple := strings.Repeat(quote, 3); s.here(triple) {
		s.at += 3
		s.closing(triple, escapes, false)
		for i := 0; i < 2 && s.here(quote); i++ { // quotes before the closing ones belong to the text
			s.at++
		}
		return
	}
	s.at++
	s.closing(quote, escapes, true)
}

func (s *scanner) closing(quote string, escapes, line bool) {
	for s.at < len(s.text) {
		switch {
		case s.here(quote):
			s.at += len(quote)
			return
		case escapes && s.text[s.at] == '\\':
			s.at = min(s.at+2, len(s.text))
		case line && s.text[s.at] == '\n':
			return
		default:
			s.at++
		}
	}
}

// value reads a value and marks the places inside of it.
func (s *scanner) value(path string) span {
	from := s.at
	switch {
	case s.here(`"`), s.here("'"):
		s.quoted(s.text[s.at : s.at+1])
	case s.here("["):
		s.at++
		s.items("]", func(i int) {
			p := element(path, i)
			v := s.value(p)
			s.places[p] = place{v, v}
		})
	case s.here("{"):
		s.at++
		s.items("}", func(int) { s.pair(path) })
	default:
		for s.at < len(s.text) && !strings.ContainsRune(",]}#\r\n", rune(s.text[s.at])) {
			s.at++
		}
		return span{from, from + len(strings.TrimRight(s.text[from:s.at], " \t"))}
	}
	return span{from, s.at}
}

// items reads what is between brackets, separated by commas.
func (s *scanner) items(closing string, item func(i int)) {
	for i := 0; ; i++ {
		s.blanks()
		if s.at >= len(s.text) {
			return
		}
		if s.here(closing) {
			s.at++
			return
		}
		before := s.at
		item(i)
		s.blanks()
		if s.here(",") {
			s.at++
		}
		if s.at == before {
			s.at++
		}
	}
}
