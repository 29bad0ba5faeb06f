package workloads

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
)

const (
	// maxInstance bounds the file of an instance; the largest published ones
	// have some 30 MB.
	maxInstance = 512 << 20
	// maxResult bounds what a task returns, in bytes, and maxTaskSeconds how long
	// it takes: twelve days.
	maxResult      = 1e9
	maxTaskSeconds = 1e6
)

func wfCommons() Workload {
	files := &instances{known: map[string]knownInstance{}}
	return Workload{
		Name:    "wfcommons",
		Doc:     "a scientific workflow that was executed once, replayed from its WfCommons instance",
		About:   wfCommonsAbout,
		Instant: true,
		Params: []Param{
			{Name: "instance", Type: String, File: true, Required: true, Doc: "JSON file in WfFormat 1.4, 1.5 or 1.6, relative to the experiment file"},
			{Name: "time_scale", Type: Float, Max: 1e6, Doc: "what the tasks' times are multiplied by; default 1"},
			{Name: "work_s", Type: Float, Min: 0.001, Max: 1e7, Doc: "seconds of all tasks together, instead of time_scale"},
			{Name: "size_scale", Type: Float, Max: 1e6, Default: 1.0, Doc: "what the sizes of results are multiplied by"},
			modeParam(),
		},
		Sizes: []NamedSize{
			{"minute", "a minute of work, a hundredth of the bytes", map[string]any{"instance": "FILE.json", "work_s": 60.0, "size_scale": 0.01}},
			{"full", "as it was executed", map[string]any{"instance": "FILE.json"}},
		},
		Result: "a digest of which results each task read, through the whole graph, which is known",
		References: []string{
			"Coleman, Casanova, Pottier, Kaushik, Deelman, Ferreira da Silva: WfCommons: A Framework for Enabling Scientific Workflow Research and Development, Future Generation Computer Systems 128, 2022",
			"WfFormat: https://github.com/wfcommons/WfFormat; instances: https://github.com/wfcommons/WfInstances",
		},
		Size:         files.label,
		Check:        func(params map[string]any) error { _, err := files.graph(params); return err },
		Warmup:       warmReplay,
		RoughSeconds: files.roughSeconds,
		Graph:        func(params map[string]any, _ int64) (*Graph, error) { return files.graph(params) },
		Text:         files.digest,
	}
}

const wfCommonsAbout = `An instance is the record of a workflow's execution: tasks, how they need one
another, how long they took, and the sizes of their files. A replay has the
same tasks with the same times, multiplied by time_scale, in Dask. Each
returns as many bytes as it wrote into files that other tasks read.

What an instance says of cores, memory and machines is not replayed: each task
takes one thread. Neither are the workflow's own inputs, which no task writes.
A task that reads one of several files of another gets them all.

Instances are no part of esched: download some, or write your own.`

// warmReplay asks for the same tasks in a moment.
func warmReplay(params map[string]any) map[string]any {
	small := maps.Clone(params)
	delete(small, "time_scale")
	small["work_s"], small["size_scale"] = 0.1, 0.0
	return small
}

// instances reads files of instances, each once as long as it does not change.
type instances struct {
	mu    sync.Mutex
	known map[string]knownInstance
}

type knownInstance struct {
	changed  time.Time
	bytes    int64
	instance *instance
	err      error
}

// read returns the instance in a file.
func (s *instances) read(file string) (*instance, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint.With(fmt.Errorf("instance %s: no such file", file), "name a JSON file in WfFormat, relative to the experiment file")
	case err != nil:
		return nil, fmt.Errorf("instance: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxInstance:
		return nil, hint.With(fmt.Errorf("instance %s: no file, or larger than %d bytes", file, maxInstance), "name a JSON file in WfFormat")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[file]
	if !ok || !k.changed.Equal(info.ModTime()) || k.bytes != info.Size() {
		k = knownInstance{changed: info.ModTime(), bytes: info.Size()}
		var content []byte
		if content, k.err = os.ReadFile(file); k.err == nil {
			k.instance, k.err = parseInstance(content)
		}
		s.known[file] = k
	}
	if k.err != nil {
		return nil, fmt.Errorf("instance %s: %w", file, k.err)
	}
	return k.instance, nil
}

// graph returns the tasks that a trial with these parameters executes.
func (s *instances) graph(params map[string]any) (*Graph, error) {
	times, timed, err := number(params, "time_scale", 1)
	if err != nil {
		return nil, err
	}
	work, total, err := number(params, "work_s", 0)
	if err != nil {
		return nil, err
	}
	sizes, _, err := number(params, "size_scale", 1)
	if err != nil {
		return nil, err
	}
	if timed && total {
		return nil, hint.With(errors.New("time_scale and work_s both say how long tasks take"), "remove one of the two")
	}
	x, err := s.read(text(params, "instance"))
	if err != nil {
		return nil, err
	}
	if total && x.work() > 0 {
		times = work / x.work()
	}
	g, err := x.scaled(times, sizes)
	if err != nil {
		return nil, fmt.Errorf("instance %s: %w", text(params, "instance"), err)
	}
	g.Sleep = text(params, "mode") == modeSleep
	return g, nil
}

func (s *instances) roughSeconds(params map[string]any, workers int) float64 {
	g, err := s.graph(params)
	if err != nil {
		return 0
	}
	f := g.Facts()
	return max(f.Path.Seconds(), f.Work.Seconds()/float64(max(workers, 1))) + float64(f.Tasks)*secondsPerTask
}

// digest identifies the text of the file.
func (s *instances) digest(params map[string]any) string {
	x, err := s.read(text(params, "instance"))
	if err != nil {
		return ""
	}
	return x.digest
}

// label is the name of the file and the number of its tasks.
func (s *instances) label(params map[string]any) string {
	name := strings.TrimSuffix(filepath.Base(text(params, "instance")), ".json")
	x, err := s.read(text(params, "instance"))
	if err != nil {
		return name
	}
	return name + ", " + tasksOf(len(x.tasks))
}

// scaled returns the graph of the instance with times and sizes multiplied.
func (x *instance) scaled(times, sizes float64) (*Graph, error) {
	g := &Graph{Nodes: make([]Node, len(x.tasks))}
	for i, t := range x.tasks {
		bytes, seconds := t.bytes*sizes, t.seconds*times
		if seconds > maxTaskSeconds {
			err := fmt.Errorf("a task of %s takes %.3g s, more than %.0g", t.kind, seconds, float64(maxTaskSeconds))
			return nil, hint.With(err, "lower time_scale or work_s")
		}
		if bytes > maxResult {
			err := fmt.Errorf("a result of %s has %.3g bytes, more than %.0g", t.kind, bytes, float64(maxResult))
			return nil, hint.With(err, fmt.Sprintf("lower size_scale to at most %.2g", maxResult/x.largest()))
		}
		g.Nodes[i] = Node{Name: t.kind, Inputs: t.inputs, Time: wholeMicros(seconds), Bytes: int64(math.Round(bytes))}
	}
	return g, nil
}

// largest is the size of the largest result.
func (x *instance) largest() float64 {
	largest := 0.0
	for _, t := range x.tasks {
		largest = max(largest, t.bytes)
	}
	return largest
}

// work is the sum of the tasks' times in seconds.
func (x *instance) work() float64 {
	sum := 0.0
	for _, t := range x.tasks {
		sum += t.seconds
	}
	return sum
}
