package runners

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/esched/esched/runners/record"
)

// Bounds of what an experiment may ask for. They are far beyond what anyone
// runs and near enough to catch a slip of the keyboard.
const (
	maxFile           = 256 << 10 // bytes
	maxTrials         = 100_000
	maxRepetitions    = 1000
	maxNodes          = 10_000
	maxWorkersPerNode = 1024
	maxThreads        = 1024
	maxRetries        = 100
	maxWarmup         = 100
	maxSeed           = 1<<53 - 1 // exact in every reader of JSON

	// leastWorkerMemory, in bytes, is about what an idle worker holds: with less,
	// it would never take a task.
	leastWorkerMemory = 100_000_000
	maxWorkerMemory   = 1 << 50
)

// workerDask is how an experiment names Dask's own workers.
const workerDask = "dask"

// Load reads the text of an experiment file. The path is used in messages and
// kept in the experiment; nothing is opened. Every mistake is reported at
// once: the error then wraps [Mistakes], a hint and the exit code for wrong
// usage. Only wrong TOML syntax is reported alone, as nothing can be read
// beyond it.
func Load(path string, data []byte, cat Catalog) (*Experiment, error) {
	text := string(data)
	l := &loader{file: path, text: text, cat: cat, places: positions{}}
	l.splitLines()
	if len(data) > maxFile {
		l.mistakeInFile("generate trials as lists of values instead of single tables",
			"the file has %d bytes, more than the largest allowed, %d", len(data), maxFile)
		return nil, l.mistakes.asError()
	}
	values := map[string]any{}
	if err := toml.Unmarshal(data, &values); err != nil {
		l.syntax(err)
		return nil, l.mistakes.asError()
	}
	l.places = scanPositions(text)
	e := &Experiment{Path: path, Source: data}
	l.experiment(e, values)
	if len(l.mistakes) == 0 { // what follows needs a sound experiment
		l.checkGrid(e)
	}
	if err := l.mistakes.asError(); err != nil {
		return nil, err
	}
	return e, nil
}

func (l *loader) splitLines() {
	l.lines = strings.Split(l.text, "\n")
	at := 0
	for i, line := range l.lines {
		l.starts = append(l.starts, at)
		at += len(line) + 1
		l.lines[i] = strings.TrimSuffix(line, "\r")
	}
}

// syntax notes an error of the TOML decoder.
func (l *loader) syntax(err error) {
	try := "mend the marked place: texts stand in quotes, lists look like [1, 2], comments begin with #"
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		l.mistakeInFile(try, "TOML syntax: %s", strings.TrimPrefix(err.Error(), "toml: "))
		return
	}
	if strings.Contains(parse.Message, "'cluster'") || strings.Contains(parse.Message, "'cluster.") {
		try = "describe clusters in tables [clusters.NAME]; the key cluster names the one to use"
	}
	from := min(max(parse.Position.Start, 0), len(l.text))
	if want := parse.Position.Line - 1; want >= 0 && want < len(l.starts) {
		end := l.starts[want] + len(l.lines[want])
		from = min(max(from, l.starts[want]), end) // the decoder's offset may lie behind its line
	}
	l.mistakeAt(span{from, from + max(parse.Position.Len, 1)}, try, "TOML syntax: %s",
		strings.TrimSuffix(parse.Message, "."))
}

// experiment reads the whole document.
func (l *loader) experiment(e *Experiment, values map[string]any) {
	t := l.table("", "", values)
	l.settings(e, t)
	l.clusters(e, t)
	schedulers := l.schedulers(e, t)
	policies := l.policies(e, t)
	l.checkPairing(e, t)
	l.programs(e, t)
	workloads, excludes, trials := l.tables(t, "workload"), l.tables(t, "exclude"), l.tables(t, "trial")
	for i, sub := range workloads {
		l.workload(e, i, sub)
	}
	if len(workloads)+len(trials) == 0 && !l.refused("workload") && !l.refused("trial") {
		l.mistakeInFile("add a table [[workload]] with name = \"...\"; names are: "+strings.Join(l.workloadNames(), ", "),
			"no workload: nothing to run")
	}
	for i, sub := range excludes {
		l.exclude(e, i, sub)
	}
	for i, sub := range trials {
		l.trial(e, i, sub, schedulers, policies)
	}
	t.finish()
}

// settings reads the plain keys.
func (l *loader) settings(e *Experiment, t *table) {
	e.Name = t.text("name", "")
	if _, given := t.values["name"]; !given {
		l.mistakeInFile(`add a line such as: name = "overhead-laptop"`, "name is missing: run directories are called after it")
	} else if e.Name != "" && !fitsDirectory(e.Name) {
		l.wrongValue(child("", "name"), "use up to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit",
			"name %q cannot be part of a directory's name", e.Name)
	}
	l.repetitions(e, t)
	e.Seed = t.integer("seed", 1, 0, maxSeed)
	e.ClaimTime = t.duration("claim_time", 15*time.Minute, time.Second, longest)
	e.PollInterval = t.duration("poll_interval", 15*time.Second, time.Second, time.Hour)
	e.Timeout = t.duration("timeout", time.Minute, time.Millisecond, longest)
	if e.Timeout > e.ClaimTime {
		l.wrongValue(child("", l.firstGiven(t, "timeout", "claim_time")), "make timeout shorter or claim_time longer",
			"timeout of one trial (%s) is longer than the claim of the whole run (%s)",
			plainDuration(e.Timeout), plainDuration(e.ClaimTime))
	}
	e.Retries = int(t.integer("retries", 1, 0, maxRetries))
	e.Warmup = int(t.integer("warmup", 1, 0, maxWarmup))
	e.Data = t.text("data", "")
	if e.Data != "" && !strings.HasPrefix(e.Data, "/") && !strings.HasPrefix(e.Data, "~/") {
		// A run that is resumed elsewhere must find the same data.
		l.wrongValue(child("", "data"), `write it from the root or from your home directory, as in "~/data"`,
			"data = %q is not an absolute path", e.Data)
	}
	e.Environment = t.text("environment", "default")
	l.checkEnvironment(e.Environment)
	e.Nodes = t.integers("nodes", []int{1}, 1, maxNodes)
	e.WorkersPerNode = t.integers("workers_per_node", []int{1}, 1, maxWorkersPerNode)
	if kind := t.oneOf("worker", "kind of worker", workerDask, []string{workerDask, record.WorkerInstant}); kind != workerDask {
		e.Worker = kind
	}
	e.Threads = int(t.integer("threads", 1, 1, maxThreads))
	e.WorkerMemoryB = t.workerMemory()
}

func (l *loader) firstGiven(t *table, keys ...string) string {
	for _, k := range keys {
		if _, ok := t.values[k]; ok {
			return k
		}
	}
	return keys[0]
}

func fitsDirectory(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("-_.", r)) {
			return false
		}
	}
	return len(name) <= 64
}

func (l *loader) checkEnvironment(name string) {
	if slices.Contains(l.cat.Environments, name) {
		return
	}
	path := child("", "environment")
	if strings.Contains(name, "/") && l.cat.CheckEnvironment != nil {
		if err := l.cat.CheckEnvironment(name); err != nil {
			l.wrongValue(path, chooseOne(name, l.cat.Environments)+", or give the path of a Python environment", "environment %q: %v", name, err)
		}
		return
	}
	l.wrongValue(path, chooseOne(name, l.cat.Environments)+", or give the path of a Python environment", "unknown environment %q", name)
}

// subtable is one table of an array of tables, or a named one.
type subtable struct {
	path   string
	values map[string]any
}

// tables reads an array of tables.
func (l *loader) tables(t *table, key string) []subtable {
	value, path, ok := t.take(key)
	if !ok {
		return nil
	}
	var out []subtable
	switch v := value.(type) {
	case []map[string]any:
		for i, m := range v {
			out = append(out, subtable{element(path, i), m})
		}
	case []any:
		for i, item := range v {
			m, ok := item.(map[string]any)
			if !ok {
				l.wrongValue(element(path, i), "begin each with a line [["+key+"]]", "%s holds %s, not tables", key, typeName(item))
				continue
			}
			out = append(out, subtable{element(path, i), m})
		}
	default:
		l.wrongKey(path, "begin each with a line [["+key+"]] (two brackets)", "%s is %s, not a list of tables", key, typeName(value))
	}
	return out
}

// named reads tables such as [cluster.NAME], sorted by name.
func (l *loader) named(t *table, key string) map[string]subtable {
	value, path, ok := t.take(key)
	if !ok {
		return nil
	}
	all, ok := value.(map[string]any)
	if !ok {
		l.wrongKey(path, "begin each with a line ["+key+".NAME]", "%s is %s, not tables with names", key, typeName(value))
		return nil
	}
	out := map[string]subtable{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m, ok := all[name].(map[string]any)
		if !ok {
			l.wrongKey(child(path, name), "write a line ["+key+".NAME] in front of it", "%s %s is %s, not a table", key, name, typeName(all[name]))
			continue
		}
		out[name] = subtable{child(path, name), m}
	}
	return out
}

func (l *loader) workloadNames() []string {
	var names []string
	for _, w := range l.cat.Workloads {
		names = append(names, w.Name)
	}
	return names
}

func label(format string, args ...any) string { return fmt.Sprintf(format, args...) + ": " }
