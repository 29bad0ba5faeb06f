package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
)

// gitLimit bounds questions to git, which may sit on a slow file system.
const gitLimit = 5 * time.Second

// manifest describes the run that is about to begin.
func (o *runOptions) manifest(ctx context.Context, e *runners.Experiment, plan *runners.Plan) record.Manifest {
	sum := sha256.Sum256(e.Source)
	path, git := o.pathOf(e), ""
	if filepath.IsAbs(path) {
		git = o.gitState(ctx, path)
	}
	return record.Manifest{
		Name:             e.Name,
		Command:          append([]string{"esched"}, slices.DeleteFunc(slices.Clone(o.Args), func(a string) bool { return a == "--conductor" })...),
		Esched:           readVersion().String(),
		Experiment:       string(e.Source),
		ExperimentPath:   path,
		ExperimentSHA256: hex.EncodeToString(sum[:]),
		Git:              git,
		Seed:             plan.Seed,
		Cluster:          e.Cluster.Name,
		ClusterKind:      e.Cluster.Kind,
		Started:          o.Now(),
		Sessions:         1,
		Plan:             plan.Planned(),
		Notes:            notes(plan),
		Stopping:         stoppingOf(e),
		Trace:            o.Trace,
	}
}

// pathOf is the absolute path of an experiment's file, or the name of a preset,
// which is no file.
func (p Process) pathOf(e *runners.Experiment) string {
	if strings.HasPrefix(e.Path, presetMark) {
		return e.Path
	}
	return p.path(e.Path)
}

// notes are facts about deployments that a methods section must tell.
func notes(plan *runners.Plan) []string {
	all := []string{
		"workers run without nannies, and Dask's dashboards are off",
		"numerical libraries use one thread in each task",
	}
	memory := []string{"each worker may hold an equal share of its node's memory, at parts of which Dask spills and pauses"}
	if len(plan.Blocks) > 0 && plan.Blocks[0].Worker == record.WorkerInstant {
		memory = nil
		all = []string{"workers are stand-ins in one process for each node, which execute nothing and report every task as finished at once",
			"Dask's dashboards are off"}
	} else if len(plan.Blocks) > 0 {
		switch n := plan.Blocks[0].WorkerMemoryB; {
		case n > 0:
			memory[0] = fmt.Sprintf("each worker may hold %.1f MB of memory, at parts of which Dask spills and pauses", float64(n)/1e6)
		case n < 0:
			memory[0] = "the limits of workers' memory are those that Dask chooses"
		}
	}
	all = append(all, memory...)
	all = append(all, "faults of Python before 3.11.9 and of Dask before 2024.6 that freeze or end Dask's servers are mended")
	for _, b := range plan.Blocks {
		if b.Scheduler.Kind == kindSidekick {
			return append(all, "work stealing is off under sidekick schedulers, on under Dask's own")
		}
	}
	return all
}

// gitState names the commit that the experiment file is part of, with
// "-dirty" when the file is not as committed; "" outside of a repository.
func (p Process) gitState(ctx context.Context, file string) string {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	dir := filepath.Dir(file)
	commit, err := p.output(ctx, dir, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return ""
	}
	changes, err := p.output(ctx, dir, "git", "status", "--porcelain", "--", file)
	if err != nil || strings.TrimSpace(changes) != "" {
		return strings.TrimSpace(commit) + "-dirty"
	}
	return strings.TrimSpace(commit)
}

var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// runName is the name of a run's directory: sorted by time, safe in a shell.
func runName(now time.Time, experiment string) string {
	name := strings.Trim(unsafeName.ReplaceAllString(experiment, "-"), "-.")
	if name == "" {
		name = "experiment"
	}
	return now.Format("2006-01-02T15-04-05") + "-" + name
}
