package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Removal is something that was in the run and is not in the bundle.
type Removal struct {
	File string `json:"file"`
	What string `json:"what"`
	// Count is how often, or how many bytes where What says so.
	Count int `json:"count"`
}

// removed stands where a secret was.
const removed = "[removed]"

// rule replaces what matches.
type rule struct {
	what    string
	pattern *regexp.Regexp
	with    string
	// only is in every text that matches: most patterns are slow to say that
	// nothing does.
	only string
}

// pem matches what stands inside the lines of a key, also with its line ends
// written as \n, and also when one of the lines is missing because a log was
// cut there.
const pem = `(?:[A-Za-z0-9+/=\s]|\\n|\\r)*`

// keyEnd ends the first and the last line of a private key.
const keyEnd = "PRIVATE KEY-----"

// secretName matches the names of settings whose values nobody should read.
const secretName = `(?:token|secret|password|passwd|passphrase|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|credentials?|authorization)`

// secretRules find secrets by their shape. They are tried in this order.
var secretRules = []rule{
	{"private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----` + pem + `(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)?`), removed, keyEnd},
	{"private key", regexp.MustCompile(pem + `-----END [A-Z0-9 ]*PRIVATE KEY-----`), removed, keyEnd},
	{"token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abpr]-[\w-]{10,}|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16})`), removed, ""},
	{"token", regexp.MustCompile(`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+`), removed, "eyJ"},
	{"password in an address", regexp.MustCompile(`\b([a-z][a-z0-9+.-]*://[^/\s:@"']*:)[^/\s@"']+@`), "${1}" + removed + "@", "://"},
	{"secret value", regexp.MustCompile(`(?i)(\bauthorization["']?\s*[=:]\s*["']?)(?:\w+ )?[^\s"',;\[\]]+`), "${1}" + removed, ""},
	{"secret value", regexp.MustCompile(`(?i)((?:\b|_)` + secretName + `["']?\s*[=:]\s*["']?)[^\s"',;&\[\]]{4,}`), "${1}" + removed, ""},
	{"secret value", regexp.MustCompile(`(?i)(\bbearer )[A-Za-z0-9._~+/=-]{8,}`), "${1}" + removed, ""},
	{"secret value", regexp.MustCompile(`(?i)(--?[a-z-]*` + secretName + ` )[^\s"'-][^\s"']{3,}`), "${1}" + removed, ""},
}

// homePath matches the home directories of Linux and macOS, also below other
// directories. The path goes on behind it.
var homePath = regexp.MustCompile(`(?:/[A-Za-z0-9_.+-]+)*/(?:home[0-9]*|Users)/[A-Za-z0-9_.+-]+`)

// rootHome matches root's, which is no part of a longer name.
var rootHome = regexp.MustCompile(`(^|[^A-Za-z0-9_.~/-])/root($|[^A-Za-z0-9_.-])`)

// secretKey matches a name that is one of secretName or ends in one.
var secretKey = regexp.MustCompile(`(?i)(?:^|[^A-Za-z])` + secretName + `$`)

// scrubber takes out of texts what others must not see, and counts it.
type scrubber struct {
	rules  []rule
	counts map[Removal]int // with Count 0
	// clean are strings of JSON in which nothing was found: the records of a run
	// repeat theirs thousands of times.
	clean map[string]bool
}

// newScrubber knows the home directory and the name of the person who packs;
// both may be empty.
func newScrubber(home, user string) *scrubber {
	s := &scrubber{rules: slices.Clone(secretRules), counts: make(map[Removal]int), clean: make(map[string]bool)}
	if home = strings.TrimRight(home, "/"); strings.Count(home, "/") > 1 || home == "/root" {
		s.rules = append(s.rules, rule{"home directory", regexp.MustCompile(regexp.QuoteMeta(home) + `($|[^A-Za-z0-9_.-])`), "~${1}", home})
	}
	s.rules = append(s.rules, rule{"home directory", homePath, "~", "/home"}, rule{"home directory", homePath, "~", "/Users"},
		rule{"home directory", rootHome, "${1}~${2}", "/root"})
	if len(user) > 2 && user != "root" {
		name := regexp.QuoteMeta(user)
		s.rules = append(s.rules,
			rule{"user name", regexp.MustCompile(`((?:^|[\s"'=:(\[,])(?:/[A-Za-z0-9_.+-]+)*/)` + name + `($|[^A-Za-z0-9_.-])`), "${1}user${2}", user},
			rule{"user name", regexp.MustCompile(`(^|[^A-Za-z0-9_.-])` + name + `@`), "${1}user@", user})
	}
	return s
}

// text scrubs a text of a file.
func (s *scrubber) text(file, text string) string {
	for _, r := range s.rules {
		if r.only != "" && !strings.Contains(text, r.only) {
			continue
		}
		// Twice: a match takes the character behind it, which the next one needs.
		for range 2 {
			found := r.pattern.FindAllStringIndex(text, -1)
			if found == nil {
				break
			}
			after := r.pattern.ReplaceAllString(text, r.with)
			if after == text {
				break
			}
			s.note(file, r.what, len(found))
			text = after
		}
	}
	return text
}

// literal matches a string of JSON with what says whether it is a key.
var literal = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"(\s*:)?`)

// json scrubs the strings of a file of JSON or JSON lines, also of damaged
// ones: the rest of the bytes stays as it is, and so does its structure.
func (s *scrubber) json(file string, data []byte) []byte {
	var out bytes.Buffer
	at, key := 0, ""
	for _, m := range literal.FindAllSubmatchIndex(data, -1) {
		between := string(data[at:m[0]])
		out.WriteString(s.unfinished(file, between))
		end, isKey := m[1], m[2] >= 0
		if isKey {
			end = m[2]
		}
		if strings.ContainsAny(between, "{}[,") {
			key = "" // the value of the key before has passed
		}
		out.Write(s.value(file, key, data[m[0]:end]))
		out.Write(data[end:m[1]])
		at, key = m[1], ""
		if isKey {
			_ = json.Unmarshal(data[m[0]:end], &key) // a key that cannot be read names no secret
		}
	}
	out.WriteString(s.unfinished(file, string(data[at:])))
	return out.Bytes()
}

// unfinished scrubs what stands between strings: brackets and numbers, or the
// string of a torn line.
func (s *scrubber) unfinished(file, text string) string {
	if !strings.Contains(text, `"`) {
		return text
	}
	return s.text(file, text)
}

// value scrubs one string, with its quotes, that stands behind a key.
func (s *scrubber) value(file, key string, quoted []byte) []byte {
	secret := secretKey.MatchString(key)
	if !secret && s.clean[string(quoted)] {
		return quoted
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return []byte(s.text(file, string(quoted)))
	}
	var after string
	if secret && text != "" && text != removed {
		s.note(file, "secret value", 1)
		after = removed
	} else {
		after = s.text(file, text)
	}
	if after == text {
		s.clean[string(quoted)] = true
		return quoted
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(after) != nil {
		return []byte(`"` + removed + `"`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// note adds something that was left out.
func (s *scrubber) note(file, what string, count int) {
	s.counts[Removal{File: file, What: what}] += count
}

// removals lists all, by file.
func (s *scrubber) removals() []Removal {
	all := []Removal{}
	for r := range maps.Keys(s.counts) {
		all = append(all, Removal{r.File, r.What, s.counts[r]})
	}
	slices.SortFunc(all, func(x, y Removal) int { return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.What, y.What)) })
	return all
}
