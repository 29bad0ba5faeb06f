package runners

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners/record"
)

// Program is a workload of the user's own: a [program.NAME] table.
type Program struct {
	Name string
	// Script is the absolute path of a Python file, or Command a command line
	// whose file names are absolute.
	Script  string
	Command []string
	// Digest identifies the text of the script, or the command and the files that
	// it names.
	Digest string
	// Timeout, Memory and Result limit a trial: its time (0: the experiment's
	// limit), the bytes that its process holds, the bytes of its result.
	Timeout time.Duration
	Memory  int64
	Result  int64
	// Warmup are parameters that differ in warm-up trials.
	Warmup map[string]any
}

// The usual limits of programs, in bytes.
const (
	usualMemory = 4_000_000_000
	usualResult = 1_000_000
)

var (
	programName   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
)

// programs reads the tables [program.NAME] and adds them to the workloads.
func (l *loader) programs(e *Experiment, t *table) {
	e.Programs = map[string]Program{}
	tables := l.named(t, "program")
	entries := slices.Clone(l.cat.Workloads)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		sub := tables[name]
		if _, builtin := l.cat.workload(name); builtin {
			l.wrongKey(sub.path, "give it a name of its own, such as [program.my-"+name+"]", "workload %q is built in and cannot be changed", name)
			continue
		}
		if !programName.MatchString(name) {
			l.wrongKey(sub.path, "use up to 63 small letters, digits and '-', beginning with a letter", "program name %q is not allowed", name)
			continue
		}
		p := l.program(name, sub)
		e.Programs[name] = p
		entries = append(entries, p.entry())
	}
	l.cat.Workloads = entries
}

// entry describes the program as a workload of any parameters.
func (p Program) entry() WorkloadEntry {
	return WorkloadEntry{
		Name: p.Name, Open: true, Program: p.Digest,
		Size: func(params map[string]any) string {
			if len(params) == 0 {
				return "as it is"
			}
			return record.Trial{Params: params}.ParamString()
		},
		Warmup: func(params map[string]any) map[string]any {
			maps.Copy(params, p.Warmup)
			return params
		},
	}
}

func (l *loader) program(name string, sub subtable) Program {
	t := l.table(sub.path, label("[program.%s]", name), sub.values)
	p := Program{Name: name}
	p.Script = t.text("script", "")
	p.Command = commandLine(t)
	p.Timeout = t.duration("timeout", 0, time.Millisecond, longest)
	p.Memory = t.bytes("memory", usualMemory, 1_000_000, 1<<50)
	p.Result = t.bytes("result", usualResult, 1, 1<<30)
	p.Warmup = t.scalars("warmup")
	t.finish()
	_, script := sub.values["script"]
	_, command := sub.values["command"]
	switch {
	case script && command:
		l.wrongKey(child(sub.path, "command"), "keep one of the two lines", "%sboth script and command are given", t.label)
	case !script && !command:
		l.wrongKey(sub.path, `add a line: script = "FILE.py", or: command = ["PROGRAM", "ARGUMENT"]`, "%sscript is missing", t.label)
	case script && p.Script != "" && !strings.HasSuffix(p.Script, ".py"):
		l.wrongValue(child(sub.path, "script"), `name a Python file, or write: command = ["`+p.Script+`"]`, "%sscript %q is no Python file (.py)", t.label, p.Script)
	case l.cat.FindProgram == nil:
		l.wrongKey(sub.path, "remove the table", "%sprograms are not allowed here", t.label)
	case p.Script != "" || len(p.Command) > 0:
		found, err := l.cat.FindProgram(p.Script, p.Command)
		if err != nil {
			key := "script"
			if command {
				key = "command"
			}
			l.wrongValue(child(sub.path, key), hint.Of(err), "%s%v", t.label, err)
			return p
		}
		p.Script, p.Command, p.Digest = found.Script, found.Command, found.Digest
	}
	return p
}

// commandLine reads a command: a list of texts, in which some may be equal.
func commandLine(t *table) []string {
	value, path, ok := t.take("command")
	if !ok {
		return nil
	}
	const try = `write it as a list: command = ["./simulate", "--fast"]`
	items, ok := value.([]any)
	if !ok || len(items) == 0 {
		t.wrongValue(path, try, "%scommand is %s, not a list of texts", t.label, typeName(value))
		return nil
	}
	var words []string
	for i, item := range items {
		s, ok := item.(string)
		if !ok || i == 0 && s == "" || strings.ContainsRune(s, 0) {
			t.wrongValue(element(path, i), try, "%sword %d of command is %s", t.label, i+1, typeName(item))
			return nil
		}
		words = append(words, s)
	}
	return words
}

// scalars reads a table of parameters.
func (t *table) scalars(key string) map[string]any {
	value, path, ok := t.take(key)
	if !ok {
		return nil
	}
	values, ok := value.(map[string]any)
	if !ok {
		t.wrongValue(path, "write: "+key+" = { NAME = VALUE }", "%s%s is %s, not a table", t.label, key, typeName(value))
		return nil
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v, ok := t.scalar(child(path, name), name, values[name]); ok {
			out[name] = v
		}
	}
	return out
}

// scalar checks a parameter's value of a program.
func (t *table) scalar(path, name string, value any) (any, bool) {
	switch value.(type) {
	case string, int64, float64, bool:
		if plainJSON(value) {
			return value, true
		}
	}
	t.wrongValue(path, "use text, a finite number, true or false", "%s%s is %s", t.label, name, typeName(value))
	return nil, false
}

// open reads the parameters of a workload that takes any: every key that is
// left. It returns their values, and the parameters in a fixed order.
func (t *table) open() (map[string][]any, []Parameter) {
	grid := map[string][]any{}
	var params []Parameter
	for _, name := range slices.Sorted(maps.Keys(t.values)) {
		if slices.Contains(t.known, name) {
			continue
		}
		value, path, _ := t.take(name)
		if !parameterName.MatchString(name) || slices.Contains(cellKeys, name) || name == "repetition" {
			t.wrongKey(path, "choose another name: letters, digits and '_', none of "+strings.Join(cellKeys, ", "),
				"%sparameter %q cannot be called so", t.label, name)
			continue
		}
		values := listOf(t, name, value, path, func(path, what string, value any) (any, bool) { return t.scalar(path, what, value) })
		if len(values) > 0 {
			grid[name] = values
			params = append(params, Parameter{Name: name})
		}
	}
	return grid, params
}

// bytes reads a size: "500 MB", "2GiB", or a number of bytes.
func (t *table) bytes(key string, fallback, low, high int64) int64 {
	value, path, ok := t.take(key)
	if !ok {
		return fallback
	}
	return t.checkBytes(key, path, value, fallback, low, high, `write it as "500 MB" or "2 GB"`)
}

// workerMemory reads the limit of a worker's memory: a size, or Dask's own.
func (t *table) workerMemory() int64 {
	const key = "worker_memory"
	value, path, ok := t.take(key)
	switch {
	case !ok:
		return 0
	case value == "auto":
		return record.MemoryAuto
	}
	return t.checkBytes(key, path, value, 0, leastWorkerMemory, maxWorkerMemory,
		`write it as "500 MB" or "2 GB", or "auto" for what Dask chooses; without the line, workers share their node's memory`)
}

func (t *table) checkBytes(key, path string, value any, fallback, low, high int64, try string) int64 {
	n, isNumber := value.(int64)
	if s, isText := value.(string); isText {
		n, isNumber = parseBytes(s)
	}
	if !isNumber {
		t.wrongValue(path, try, "%s%s = %v is no size", t.label, key, quoteText(value))
		return fallback
	}
	if n < low || n > high {
		t.outside(path, key, quoteText(value), fmt.Sprint(low, " bytes"), fmt.Sprint(high, " bytes"), n < low)
		return fallback
	}
	return n
}

var byteUnits = map[string]float64{
	"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

func parseBytes(s string) (int64, bool) {
	at := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if at < 0 {
		at = len(s)
	}
	number, err := strconv.ParseFloat(s[:at], 64)
	unit, known := byteUnits[strings.TrimSpace(s[at:])]
	if err != nil || !known || number*unit > math.MaxInt64/2 {
		return 0, false
	}
	return int64(number * unit), true
}
