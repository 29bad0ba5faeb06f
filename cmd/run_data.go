package cmd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
	"github.com/esched/esched/workloads"
)

// needed is a data set that trials of a plan read.
type needed struct {
	workloads.Provider
	dir     string
	options map[string]any
	status  workloads.DataStatus
}

// dataKey names what a trial reads: trials of equal keys read the same.
func dataKey(t record.Trial) string { return t.Workload + " " + t.ParamString() }

// neededData looks at the data that a plan's trials read; by [dataKey].
func (g *globals) neededData(ctx context.Context, e *runners.Experiment, plan *runners.Plan) (map[string]needed, error) {
	all := map[string]needed{}
	looked := map[string]workloads.DataStatus{} // by data set and options
	for _, t := range plan.Planned() {
		w, ok := g.workload(t.Workload)
		if _, known := all[dataKey(t.Trial)]; known || !ok || w.Data == "" {
			continue
		}
		i := slices.IndexFunc(g.data, func(p workloads.Provider) bool { return p.Name == w.Data })
		if i < 0 {
			return nil, fmt.Errorf("workload %s: data set %s has no provider", w.Name, w.Data)
		}
		n := needed{Provider: g.data[i], dir: filepath.Join(g.dataRoot(e.Data), w.Data), options: g.data[i].Defaults()}
		if w.DataOptions != nil {
			maps.Copy(n.options, w.DataOptions(maps.Clone(t.Params)))
		}
		key := n.command("")
		if _, known := looked[key]; !known {
			status, err := n.Status(ctx, n.dir, n.options)
			if err != nil {
				return nil, fmt.Errorf("data set %s: %w", n.Name, err)
			}
			looked[key] = status
		}
		n.status = looked[key]
		all[dataKey(t.Trial)] = n
	}
	return all, nil
}

// command is the command line that obtains the data set.
func (n needed) command(root string) string {
	words := []string{"esched", "data", n.Name}
	fallbacks := n.Defaults()
	for _, p := range n.Params {
		value, given := n.options[p.Name]
		if fallback, ok := fallbacks[p.Name]; given && (!ok || fallback != value) {
			words = append(words, "--"+flagName(p), fmt.Sprint(value))
		}
	}
	if root != "" {
		words = append(words, "--dir", root)
	}
	return strings.Join(words, " ")
}

// lookAtData refuses an experiment whose data are missing, before its run has
// a directory. What can be made quickly is made later, as part of the run.
func (s *session) lookAtData(ctx context.Context) error {
	ctx, stop := s.interruptible(ctx)
	defer stop()
	all, err := s.neededData(ctx, s.experiment, s.plan)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if n := all[key]; !n.status.Present && !n.status.Quick {
			return hint.WithExit(n.missing(s.experiment.Data), hint.ExitUsage)
		}
	}
	return nil
}

func (n needed) missing(root string) error {
	return hint.With(fmt.Errorf("data set %s is not complete in %s: %s", n.Name, n.dir, n.status.Detail), n.command(root))
}

// prepareData makes what is missing and notes where each trial finds its data.
func (s *session) prepareData(ctx context.Context) error {
	all, err := s.neededData(ctx, s.experiment, s.plan)
	if err != nil {
		return err
	}
	s.paths = map[string]string{}
	made := map[string]workloads.DataStatus{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		n := all[key]
		command := n.command(s.experiment.Data)
		if status, again := made[command]; again {
			n.status = status
		} else if !n.status.Present {
			if n.status, err = s.makeData(ctx, n); err != nil {
				return err
			}
			made[command] = n.status
		}
		s.paths[key] = n.status.Path
	}
	return nil
}

// makeData obtains one data set and tells of it as part of the run.
func (s *session) makeData(ctx context.Context, n needed) (workloads.DataStatus, error) {
	if !n.status.Quick {
		return n.status, n.missing(s.experiment.Data)
	}
	s.runner.Tell(record.Event{Kind: record.EventEnvironment, Message: fmt.Sprintf("data set %s: making what is missing (%s)", n.Name, n.status.Detail)})
	lines := &progressLines{w: eventLines(func(text string) {
		s.runner.Tell(record.Event{Kind: record.EventEnvironment, Message: text})
	})}
	if err := s.obtain(ctx, n.Provider, n.dir, n.options, s.experiment.Environment, lines.show); err != nil {
		return n.status, err
	}
	status, err := n.Status(ctx, n.dir, n.options)
	if err != nil {
		return status, fmt.Errorf("data set %s: %w", n.Name, err)
	}
	if !status.Present {
		n.status = status
		return status, n.missing(s.experiment.Data)
	}
	return status, nil
}

// eventLines tells each line that is written to it. Every write is one line.
type eventLines func(text string)

func (tell eventLines) Write(p []byte) (int, error) {
	tell(strings.TrimSpace(string(p)))
	return len(p), nil
}
