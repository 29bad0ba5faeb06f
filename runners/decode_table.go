package runners

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// loader reads one file and collects its mistakes.
type loader struct {
	file     string
	text     string
	lines    []string
	starts   []int // offset of each line
	places   positions
	cat      Catalog
	mistakes Mistakes
}

// mistakeAt notes a mistake at a part of the text.
func (l *loader) mistakeAt(at span, try, format string, args ...any) {
	line, _ := slices.BinarySearch(l.starts, at.from+1)
	line = max(line-1, 0)
	source := l.lines[line]
	column := at.from - l.starts[line]
	l.mistakes = append(l.mistakes, &Mistake{
		File: l.file, Line: line + 1, Column: column + 1, Width: min(at.to-at.from, len(source)-column),
		Reason: fmt.Sprintf(format, args...), Try: try, source: source})
}

// mistakeInFile notes a mistake that has no place: something is missing.
func (l *loader) mistakeInFile(try, format string, args ...any) {
	l.mistakes = append(l.mistakes, &Mistake{File: l.file, Line: 1, Column: 1, Reason: fmt.Sprintf(format, args...), Try: try})
}

// refused tells whether there is a mistake in the value of a key of the file.
func (l *loader) refused(key string) bool {
	at := l.places[child("", key)].value
	return slices.ContainsFunc(l.mistakes, func(m *Mistake) bool {
		from := l.starts[m.Line-1] + m.Column - 1
		return at.from <= from && from < at.to
	})
}

// wrongKey and wrongValue note a mistake at a key or at its value.
func (l *loader) wrongKey(path, try, format string, args ...any) {
	l.mistakeAt(l.places[path].key, try, format, args...)
}

func (l *loader) wrongValue(path, try, format string, args ...any) {
	l.mistakeAt(l.places[path].value, try, format, args...)
}

// table reads the keys of one table. Every key that it was not asked for is
// unknown.
type table struct {
	*loader
	path   string
	label  string // "[[workload]] montecarlo: ", "" for the file
	values map[string]any
	known  []string
}

func (l *loader) table(path, label string, values map[string]any) *table {
	return &table{loader: l, path: path, label: label, values: values}
}

// take returns the value of a key and makes the key known.
func (t *table) take(key string) (value any, path string, ok bool) {
	t.known = append(t.known, key)
	value, ok = t.values[key]
	return value, child(t.path, key), ok
}

// finish reports the keys that nobody took.
func (t *table) finish() {
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		if slices.Contains(t.known, key) {
			continue
		}
		t.wrongKey(child(t.path, key), chooseOne(key, t.known), "%sunknown key %q", t.label, key)
	}
}

func (t *table) wrongType(path, what string, value any, want Type) {
	t.wrongValue(path, adviceFor(want), "%s%s is %s, not %s", t.label, what, typeName(value), want)
}

func adviceFor(want Type) string {
	switch want {
	case Int:
		return "write a whole number without quotes, as in 3 or 200_000"
	case Float:
		return "write a number without quotes, as in 0.5"
	case String:
		return `write it in quotes, as in "montecarlo"`
	case Bool:
		return "write true or false, without quotes"
	}
	return ""
}

func typeName(value any) string {
	switch v := value.(type) {
	case string:
		return "text"
	case int64:
		return "a whole number"
	case float64:
		switch {
		case math.IsNaN(v):
			return "nan"
		case math.IsInf(v, 0):
			return "infinite"
		}
		return "a number with a fraction"
	case bool:
		return "true or false"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	case time.Time:
		return "a date or time"
	}
	return fmt.Sprintf("a %T", value)
}

// integer reads a whole number within bounds.
func (t *table) integer(key string, fallback, low, high int64) int64 {
	value, path, ok := t.take(key)
	if !ok {
		return fallback
	}
	n, ok := t.checkInteger(path, key, value, low, high)
	if !ok {
		return fallback
	}
	return n
}

func (t *table) checkInteger(path, what string, value any, low, high int64) (int64, bool) {
	n, ok := value.(int64)
	if !ok {
		t.wrongType(path, what, value, Int)
		return 0, false
	}
	if n < low || n > high {
		t.outside(path, what, value, fmt.Sprint(low), fmt.Sprint(high), n < low)
		return 0, false
	}
	return n, true
}

func (t *table) outside(path, what string, value any, low, high string, under bool) {
	bound, word := high, "more than the largest allowed"
	if under {
		bound, word = low, "less than the smallest allowed"
	}
	t.wrongValue(path, fmt.Sprintf("use a value from %s to %s", low, high), "%s%s = %v is %s, %s",
		t.label, what, value, word, bound)
}

// text reads a text that is not empty.
func (t *table) text(key, fallback string) string {
	value, path, ok := t.take(key)
	if !ok {
		return fallback
	}
	s, ok := t.checkText(path, key, value)
	if !ok {
		return fallback
	}
	return s
}

func (t *table) checkText(path, what string, value any) (string, bool) {
	s, ok := value.(string)
	if !ok {
		t.wrongType(path, what, value, String)
		return "", false
	}
	if s == "" {
		t.wrongValue(path, "write a value between the quotes", "%s%s is empty", t.label, what)
		return "", false
	}
	return s, true
}

// oneOf reads the name of something that must be among some.
func (t *table) oneOf(key, noun, fallback string, names []string) string {
	s := t.text(key, fallback)
	if s != fallback && !slices.Contains(names, s) {
		t.wrongValue(child(t.path, key), chooseOne(s, names), "%sunknown %s %q", t.label, noun, s)
		return fallback
	}
	return s
}

// list reads a list, or a single value as a list of one. The check converts
// an item; items that it refuses are left out. Empty lists and items that
// occur twice are mistakes.
func list[T comparable](t *table, key string, check func(path, what string, value any) (T, bool)) []T {
	value, path, ok := t.take(key)
	if !ok {
		return nil
	}
	return listOf(t, key, value, path, check)
}

func listOf[T comparable](t *table, key string, value any, path string, check func(path, what string, value any) (T, bool)) []T {
	items, isList := value.([]any)
	if tables, ok := value.([]map[string]any); ok { // a list of inline tables
		for _, m := range tables {
			items = append(items, m)
		}
		isList = true
	}
	if !isList {
		v, ok := check(path, key, value)
		if !ok {
			return nil
		}
		return []T{v}
	}
	if len(items) == 0 {
		t.wrongValue(path, "write at least one value, or remove the line", "%s%s is an empty list", t.label, key)
		return nil
	}
	var out []T
	for i, item := range items {
		v, ok := check(element(path, i), key, item)
		if !ok {
			continue
		}
		if slices.Contains(out, v) {
			t.wrongValue(element(path, i), "remove one of them", "%s%s holds %v twice", t.label, key, quoteText(v))
			continue
		}
		out = append(out, v)
	}
	return out
}

func quoteText(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

// integers reads a list of whole numbers within bounds.
func (t *table) integers(key string, fallback []int, low, high int64) []int {
	got := list(t, key, func(path, what string, value any) (int, bool) {
		n, ok := t.checkInteger(path, what, value, low, high)
		return int(n), ok
	})
	if len(got) == 0 {
		return fallback
	}
	return got
}

// duration reads a length of time: "15s" or "1m30s", "HH:MM:SS", or a whole
// number of seconds.
func (t *table) duration(key string, fallback, low, high time.Duration) time.Duration {
	value, path, ok := t.take(key)
	if !ok {
		return fallback
	}
	d, ok := t.checkDuration(path, key, value, low, high)
	if !ok {
		return fallback
	}
	return d
}

func (t *table) checkDuration(path, what string, value any, low, high time.Duration) (time.Duration, bool) {
	const try = `write it as "90s", "1m30s" or "00:01:30"`
	var d time.Duration
	switch v := value.(type) {
	case int64:
		if v > int64(high/time.Second) || v < 0 {
			t.outside(path, what, v, plainDuration(low), plainDuration(high), v < 0)
			return 0, false
		}
		d = time.Duration(v) * time.Second
	case string:
		var err error
		if d, err = parseDuration(v); err != nil {
			t.wrongValue(path, try, "%s%s = %q %v", t.label, what, v, err)
			return 0, false
		}
	case time.Time:
		t.wrongValue(path, "write it in quotes: \""+v.Format(time.TimeOnly)+"\"", "%s%s is a time of day, not a length of time", t.label, what)
		return 0, false
	default:
		t.wrongValue(path, try, "%s%s is %s, not a length of time", t.label, what, typeName(value))
		return 0, false
	}
	if d < low || d > high {
		t.outside(path, what, quoteText(value), plainDuration(low), plainDuration(high), d < low)
		return 0, false
	}
	return d, true
}

// longest bounds every duration of a file, so that sums do not overflow.
const longest = 10_000 * time.Hour

// plainDuration writes "10000h" for what Go writes as "10000h0m0s".
func plainDuration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

func parseDuration(s string) (time.Duration, error) {
	parts := strings.Split(s, ":")
	if len(parts) == 1 {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("is no length of time")
		}
		return d, nil
	}
	if len(parts) != 3 {
		return 0, fmt.Errorf("is not of the form HH:MM:SS")
	}
	var total int64
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("is not of the form HH:MM:SS")
		}
		if i > 0 && (n >= 60 || len(p) != 2) {
			return 0, fmt.Errorf("is not of the form HH:MM:SS (minutes and seconds are 00 to 59)")
		}
		total = total*60 + int64(n)
	}
	return min(time.Duration(total)*time.Second, longest+time.Second), nil
}
