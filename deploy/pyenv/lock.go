package pyenv

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// Default is the name of the environment that every workload runs in unless
// an experiment says otherwise.
const Default = "default"

//go:embed locks/*.in locks/*.txt
var embedded embed.FS

// Lockfile says what an environment contains, down to the bytes.
type Lockfile struct {
	Name string
	// Text is the lock as pip reads it: requirements with hashes.
	Text []byte
	// Hash is the SHA-256 of Text in hexadecimal.
	Hash string
	// Keys are the packages that were asked for, sorted; the others are there
	// because these need them.
	Keys []string
	// Pins are the versions of all packages by normalised name, Conditional
	// those of packages that only some interpreters or systems get.
	Pins        map[string]string
	Conditional map[string]string
}

// Names lists the environments for runs, the default one first.
func Names() []string { return names(locks()) }

// Lock returns the lock of an environment. An unknown name is a usage error
// that lists the known ones.
func Lock(name string) (Lockfile, error) { return readLock(locks(), name) }

// locks is the directory of the locks inside the binary.
func locks() fs.FS {
	sub, err := fs.Sub(embedded, "locks")
	if err != nil {
		panic(err) // the directory is named in the embed directive above
	}
	return sub
}

// names lists the locks that contain Dask's distributed scheduler. The others
// are for development.
func names(fsys fs.FS) []string {
	files, err := fs.Glob(fsys, "*.txt")
	if err != nil {
		panic(err) // the pattern is constant
	}
	var found []string
	for _, f := range files {
		name := strings.TrimSuffix(f, ".txt")
		if l, err := readLock(fsys, name); err == nil && l.Pins["distributed"] != "" {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if (a == Default) != (b == Default) {
			return map[bool]int{true: -1, false: 1}[a == Default]
		}
		return strings.Compare(a, b)
	})
	return found
}

func readLock(fsys fs.FS, name string) (Lockfile, error) {
	text, err := fs.ReadFile(fsys, name+".txt")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || path.Base(name) != name {
		err := fmt.Errorf("unknown environment %q", name)
		return Lockfile{}, hint.WithExit(hint.With(err, "choose one of: "+strings.Join(names(fsys), ", ")), hint.ExitUsage)
	}
	if err != nil {
		return Lockfile{}, fmt.Errorf("lock of environment %s: %w", name, err)
	}
	in, err := fs.ReadFile(fsys, name+".in")
	if err != nil {
		return Lockfile{}, fmt.Errorf("requirements of environment %s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	l := Lockfile{Name: name, Text: text, Hash: hex.EncodeToString(sum[:])}
	l.Pins, l.Conditional = parsePins(text)
	for line := range strings.Lines(string(in)) {
		if m := requirement.FindStringSubmatch(line); m != nil {
			l.Keys = append(l.Keys, normal(m[1]))
		}
	}
	slices.Sort(l.Keys)
	return l, nil
}

var (
	// requirement matches the package name at the start of a line of a .in
	// file.
	requirement = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)`)
	// pin matches a line of a lock that starts a package: name, version, and
	// the condition under which it is installed.
	pin = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)\s*(;.*?)?\s*\\?$`)
	// separators are what package names may use in place of one another.
	separators = regexp.MustCompile(`[-_.]+`)
)

// parsePins reads the packages of a lock, those with a condition apart.
func parsePins(text []byte) (pins, conditional map[string]string) {
	pins, conditional = map[string]string{}, map[string]string{}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		m := pin.FindStringSubmatch(sc.Text())
		switch {
		case m == nil:
		case m[3] == "":
			pins[normal(m[1])] = m[2]
		default:
			conditional[normal(m[1])] = m[2]
		}
	}
	return pins, conditional
}

// batchSize is how many packages pip downloads in one step: few enough that a
// lost connection costs little, many enough that starting pip does not.
const batchSize = 10

// batches cuts the lock into parts of a few packages each.
func (l Lockfile) batches() [][]byte {
	var parts [][]byte
	var part []byte
	n := 0
	for line := range bytes.Lines(l.Text) {
		if pin.Match(bytes.TrimRight(line, "\r\n")) {
			if n == batchSize {
				parts, part, n = append(parts, part), nil, 0
			}
			n++
		}
		part = append(part, line...)
	}
	return append(parts, part)
}

// normal spells a package's name in the one way that stands for all others.
func normal(name string) string {
	return strings.ToLower(separators.ReplaceAllString(name, "-"))
}

// modules are the names under which the key packages are imported.
func (l Lockfile) modules() []string {
	var m []string
	for _, k := range l.Keys {
		m = append(m, strings.ReplaceAll(k, "-", "_"))
	}
	return m
}

// differences lists what an environment with these packages lacks or has in
// another version, sorted.
func (l Lockfile) differences(packages map[string]string) []string {
	var diff []string
	for _, name := range slices.Sorted(maps.Keys(l.Pins)) {
		switch have := packages[name]; have {
		case l.Pins[name]:
		case "":
			diff = append(diff, name+" is missing")
		default:
			diff = append(diff, fmt.Sprintf("%s is %s, not %s", name, have, l.Pins[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Conditional)) {
		if have := packages[name]; have != "" && have != l.Conditional[name] {
			diff = append(diff, fmt.Sprintf("%s is %s, not %s", name, have, l.Conditional[name]))
		}
	}
	return diff
}
