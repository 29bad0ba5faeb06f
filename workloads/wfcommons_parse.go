package workloads

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// wfVersions are the versions of WfFormat that can be read. 1.5 tells tasks and
// their execution apart, 1.6 adds nothing to it that is read here.
var wfVersions = []string{"1.4", "1.5", "1.6"}

// instance is a workflow that was executed once.
type instance struct {
	// digest identifies the text of the file.
	digest string
	// tasks are each behind their inputs.
	tasks []wfNode
}

// wfNode is a task of an instance. Bytes are those of its files that other
// tasks read.
type wfNode struct {
	kind    string
	inputs  []int
	seconds float64
	bytes   float64
}

// wfDocument is an instance's file. Of what WfFormat has, only what a replay
// needs is read; everything else may be there.
type wfDocument struct {
	SchemaVersion *string `json:"schemaVersion"`
	Workflow      *struct {
		Tasks         []wfTask `json:"tasks"` // up to 1.4
		Specification *struct {
			Tasks []wfTask `json:"tasks"`
			Files []wfFile `json:"files"`
		} `json:"specification"`
		Execution *struct {
			Tasks []wfTask `json:"tasks"`
		} `json:"execution"`
	} `json:"workflow"`
}

type wfTask struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"`
	Category string   `json:"category"`
	Parents  []string `json:"parents"`
	Children []string `json:"children"`
	Runtime  *float64 `json:"runtimeInSeconds"`
	Files    []wfFile `json:"files"` // up to 1.4
	Input    []string `json:"inputFiles"`
	Output   []string `json:"outputFiles"`
}

// wfFile has an id since 1.5, and up to 1.4 a name, a path and a link.
type wfFile struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Path string   `json:"path"`
	Link string   `json:"link"`
	Size *float64 `json:"sizeInBytes"`
}

// parseInstance reads the text of an instance. Errors begin with the place in
// the document that they are about.
func parseInstance(text []byte) (*instance, error) {
	var d wfDocument
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, locate(text, err)
	}
	if d.SchemaVersion == nil || d.Workflow == nil {
		return nil, hint.With(errors.New("no schemaVersion, or no workflow: not a WfCommons instance"), "name a file in WfFormat, "+strings.Join(wfVersions, ", "))
	}
	if !slices.Contains(wfVersions, *d.SchemaVersion) {
		return nil, hint.With(fmt.Errorf("schemaVersion: %q is none of %s", *d.SchemaVersion, strings.Join(wfVersions, ", ")),
			"convert it with wfcommons-migrate-instance.py of WfFormat")
	}
	r := wfReader{index: map[string]int{}, sizes: map[string]float64{}, writer: map[string]int{}, seen: map[[2]int]bool{}}
	var err error
	if *d.SchemaVersion == "1.4" {
		err = r.readFlat(d.Workflow.Tasks)
	} else {
		spec, run := d.Workflow.Specification, d.Workflow.Execution
		switch {
		case spec == nil:
			err = errors.New("workflow.specification: missing")
		case run == nil:
			err = hint.With(errors.New("workflow.execution: missing, so that nothing tells how long tasks take"), "use an instance that was executed")
		default:
			err = r.readSplit(spec.Tasks, spec.Files, run.Tasks)
		}
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	tasks, err := r.sorted()
	return &instance{digest: hex.EncodeToString(sum[:])[:12], tasks: tasks}, err
}

// locate adds the line to an error of the JSON reader.
func locate(text []byte, err error) error {
	line := func(offset int64) int {
		return bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte{'\n'}) + 1
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("line %d: %s: %s instead of %s", line(wrong.Offset), wrong.Field, wrong.Value, plainType(wrong.Type.Kind().String()))
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: %w", line(wrong.Offset), err)
	}
	return err
}

func plainType(kind string) string {
	switch kind {
	case "float64":
		return "a number"
	case "string":
		return "a text"
	case "slice":
		return "a list"
	}
	return "an object"
}

// wfReader collects the tasks of a document in its order.
type wfReader struct {
	at     string // where the tasks are in the document
	tasks  []wfTask
	nodes  []wfNode
	index  map[string]int     // by id, and by name where that is no id
	sizes  map[string]float64 // by file
	writer map[string]int     // by file
	seen   map[[2]int]bool    // edges
}

func (r *wfReader) place(i int, rest string) string {
	return fmt.Sprintf("%s[%d]%s", r.at, i, rest)
}

// readFlat reads a workflow of version 1.4: tasks have their times and files,
// and refer to one another by name.
func (r *wfReader) readFlat(tasks []wfTask) error {
	r.at = "workflow.tasks"
	for i := range tasks {
		t := &tasks[i]
		for k, f := range t.Files {
			name := f.Path + f.Name
			if name == "" {
				return fmt.Errorf("%s: no name", r.place(i, fmt.Sprintf(".files[%d]", k)))
			}
			if err := r.size(name, f.Size, r.place(i, fmt.Sprintf(".files[%d]", k))); err != nil {
				return err
			}
			if strings.EqualFold(f.Link, "output") {
				t.Output = append(t.Output, name)
			} else {
				t.Input = append(t.Input, name)
			}
		}
		if t.ID == "" {
			t.ID = t.Name
		}
	}
	if err := r.readTasks(tasks); err != nil {
		return err
	}
	for i, t := range tasks {
		if err := r.time(i, t.Runtime, r.place(i, "")); err != nil {
			return err
		}
	}
	return r.connect()
}

// readSplit reads a workflow since version 1.5: what is to be done and what
// was done are two lists, joined by the tasks' ids.
func (r *wfReader) readSplit(tasks []wfTask, files []wfFile, done []wfTask) error {
	const spec, run = "workflow.specification", "workflow.execution.tasks"
	for i, f := range files {
		if err := r.size(f.ID, f.Size, fmt.Sprintf("%s.files[%d]", spec, i)); err != nil {
			return err
		}
	}
	r.at = spec + ".tasks"
	if err := r.readTasks(tasks); err != nil {
		return err
	}
	timed := make([]bool, len(tasks))
	for k, t := range done {
		place := fmt.Sprintf("%s[%d]", run, k)
		i, known := r.index[t.ID]
		if !known || tasks[i].ID != t.ID {
			return fmt.Errorf("%s: no task %q in %s", place, t.ID, r.at)
		}
		if timed[i] {
			return fmt.Errorf("%s: task %q a second time", place, t.ID)
		}
		timed[i] = true
		if err := r.time(i, t.Runtime, place); err != nil {
			return err
		}
	}
	if i := slices.Index(timed, false); i >= 0 {
		return fmt.Errorf("%s: task %q is not in %s", r.place(i, ""), tasks[i].ID, run)
	}
	return r.connect()
}

func (r *wfReader) size(file string, bytes *float64, place string) error {
	if bytes == nil || *bytes < 0 {
		return fmt.Errorf("%s: sizeInBytes is missing or negative", place)
	}
	r.sizes[file] = *bytes
	return nil
}

func (r *wfReader) time(i int, seconds *float64, place string) error {
	if seconds == nil || *seconds < 0 {
		return fmt.Errorf("%s: runtimeInSeconds is missing or negative", place)
	}
	r.nodes[i].seconds = *seconds
	return nil
}

// serial is what tells the tasks of a kind apart at the end of their names.
var serial = regexp.MustCompile(`([_.:#/-]?(ID)?[0-9]+)+$`)

// kindOf returns what tasks like this one have in common, in characters that
// Dask's keys keep together.
func kindOf(t wfTask) string {
	kind := t.Category
	if kind == "" {
		kind = serial.ReplaceAllString(t.Name, "")
	}
	kind = strings.Map(func(c rune) rune {
		if c < 128 && (c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return c
		}
		return '_'
	}, kind)
	if kind = strings.Trim(kind, "_"); kind == "" || kind[0] >= '0' && kind[0] <= '9' {
		kind = "task_" + kind
	}
	return strings.TrimSuffix(kind, "_")
}

// readTasks makes a node of each task and learns how others call it, and which
// files it writes.
func (r *wfReader) readTasks(tasks []wfTask) error {
	if len(tasks) == 0 || len(tasks) > maxNodes {
		return fmt.Errorf("%s: %d tasks, not 1 to %d", r.at, len(tasks), maxNodes)
	}
	r.tasks, r.nodes = tasks, make([]wfNode, len(tasks))
	for i, t := range tasks {
		first, twice := r.index[t.ID]
		switch {
		case t.ID == "":
			return fmt.Errorf("%s: no id", r.place(i, ""))
		case twice:
			return fmt.Errorf("%s: id %q is that of task %d, too", r.place(i, ""), t.ID, first)
		}
		r.index[t.ID] = i
		r.nodes[i].kind = kindOf(t)
		for _, f := range t.Output {
			r.writer[f] = i
		}
	}
	for i, t := range tasks {
		if _, known := r.index[t.Name]; !known && t.Name != "" {
			r.index[t.Name] = i // 1.4 refers to names
		}
	}
	return nil
}

// connect adds the inputs that parents and children tell, and that files do
// where neither does, and the sizes of files that others read.
func (r *wfReader) connect() error {
	for i, t := range r.tasks {
		for k, name := range t.Parents {
			if err := r.edge(name, i, false, r.place(i, fmt.Sprintf(".parents[%d]", k))); err != nil {
				return err
			}
		}
		for k, name := range t.Children {
			if err := r.edge(name, i, true, r.place(i, fmt.Sprintf(".children[%d]", k))); err != nil {
				return err
			}
		}
	}
	read := map[string]bool{}
	for i, t := range r.tasks {
		alone := len(r.nodes[i].inputs) == 0
		for _, f := range t.Input {
			writer, written := r.writer[f]
			if !written || writer == i || read[f] && !alone {
				continue
			}
			if alone {
				r.join(writer, i)
			}
			if !read[f] {
				read[f] = true
				r.nodes[writer].bytes += r.sizes[f]
			}
		}
	}
	if len(r.seen) > maxEdges {
		return fmt.Errorf("%s: %d dependencies, more than %d", r.at, len(r.seen), maxEdges)
	}
	return nil
}

// edge adds a dependency on a parent, or of a child.
func (r *wfReader) edge(name string, i int, child bool, place string) error {
	j, known := r.index[name]
	switch {
	case !known:
		return hint.With(fmt.Errorf("%s: no task %q", place, name), "use an instance whose tasks are all there")
	case j == i:
		return fmt.Errorf("%s: task %q needs itself", place, name)
	case child:
		i, j = j, i
	}
	r.join(j, i)
	return nil
}

func (r *wfReader) join(from, to int) {
	if edge := [2]int{from, to}; !r.seen[edge] {
		r.seen[edge] = true
		r.nodes[to].inputs = append(r.nodes[to].inputs, from)
	}
}

// sorted returns the tasks, each behind its inputs, otherwise in the order of
// the document.
func (r *wfReader) sorted() ([]wfNode, error) {
	missing := make([]int, len(r.nodes))
	readers := make([][]int, len(r.nodes))
	var order []int
	for i, n := range r.nodes {
		missing[i] = len(n.inputs)
		for _, j := range n.inputs {
			readers[j] = append(readers[j], i)
		}
		if missing[i] == 0 {
			order = append(order, i)
		}
	}
	place := make([]int, len(r.nodes))
	for k := 0; k < len(order); k++ {
		place[order[k]] = k
		for _, i := range readers[order[k]] {
			if missing[i]--; missing[i] == 0 {
				order = append(order, i)
			}
		}
	}
	if len(order) < len(r.nodes) {
		i := slices.IndexFunc(missing, func(n int) bool { return n > 0 })
		return nil, fmt.Errorf("%s: task %q is in a circle of dependencies, or behind one", r.place(i, ""), r.tasks[i].ID)
	}
	sorted := make([]wfNode, len(order))
	for k, i := range order {
		n := r.nodes[i]
		for x, j := range n.inputs {
			n.inputs[x] = place[j]
		}
		slices.Sort(n.inputs)
		sorted[k] = n
	}
	return sorted, nil
}
