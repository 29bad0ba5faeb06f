package reserve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxHosts bounds what a host expression may stand for, so that a slip such
// as node[1-99999999] is a message and not a full memory.
const maxHosts = 100_000

// ExpandHosts returns the hosts that an expression as queues write it stands
// for, in its order: "node[001-003,007],head" is node001, node002, node003,
// node007 and head. Names may hold several brackets. Numbers keep the width
// with which the range begins.
func ExpandHosts(expression string) ([]string, error) {
	var hosts []string
	for rest := expression; ; {
		part, after, more := cutOutside(rest)
		names, err := expandName(part)
		if err == nil && len(hosts)+len(names) > maxHosts {
			err = fmt.Errorf("more than %d hosts", maxHosts)
		}
		if err != nil {
			return nil, fmt.Errorf("host expression %q: %w", expression, err)
		}
		hosts = append(hosts, names...)
		if !more {
			return hosts, nil
		}
		rest = after
	}
}

// cutOutside cuts at the first comma outside of brackets.
func cutOutside(s string) (before, after string, found bool) {
	depth := 0
	for i, c := range []byte(s) {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return s, "", false
}

// expandName expands the brackets of one name, the last one running fastest.
func expandName(name string) ([]string, error) {
	before, rest, ranged := strings.Cut(name, "[")
	if !ranged {
		if !fitsHost(name) {
			return nil, fmt.Errorf("%q is no host name", name)
		}
		return []string{name}, nil
	}
	inside, after, closed := strings.Cut(rest, "]")
	if !closed {
		return nil, fmt.Errorf("%q has no closing bracket", name)
	}
	var hosts []string
	for item := range strings.SplitSeq(inside, ",") {
		numbers, err := expandRange(item)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			names, err := expandName(before + n + after)
			if err != nil {
				return nil, err
			}
			if hosts = append(hosts, names...); len(hosts) > maxHosts {
				return nil, fmt.Errorf("more than %d hosts", maxHosts)
			}
		}
	}
	return hosts, nil
}

// expandRange expands "001-003", or returns a single number.
func expandRange(item string) ([]string, error) {
	first, last, ranged := strings.Cut(item, "-")
	if !ranged {
		last = first
	}
	low, err := strconv.ParseUint(first, 10, 32)
	high, err2 := strconv.ParseUint(last, 10, 32)
	switch {
	case err != nil || err2 != nil:
		return nil, fmt.Errorf("%q is no range of numbers", item)
	case high < low:
		return nil, fmt.Errorf("range %q ends before it begins", item)
	case high-low >= maxHosts:
		return nil, fmt.Errorf("range %q has more than %d numbers", item, maxHosts)
	}
	numbers := make([]string, 0, high-low+1)
	for n := low; n <= high; n++ {
		numbers = append(numbers, fmt.Sprintf("%0*d", len(first), n))
	}
	return numbers, nil
}

// fitsHost tells whether a word can be the name or address of a host. What
// cannot would end up on command lines.
func fitsHost(name string) bool {
	allowed := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._:", c) >= 0
	}
	return name != "" && name[0] != '-' && len(name) <= 253 &&
		!slices.ContainsFunc([]byte(name), func(c byte) bool { return !allowed(c) })
}
