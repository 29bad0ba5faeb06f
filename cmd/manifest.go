package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
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
	path := o.path(e.Path)
	return record.Manifest{
		Name:             e.Name,
		Command:          append([]string{"esched"}, o.Args...),
		Esched:           readVersion().String(),
		Experiment:       string(e.Source),
		ExperimentPath:   path,
		ExperimentSHA256: hex.EncodeToString(sum[:]),
		Git:              o.gitState(ctx, path),
		Seed:             plan.Seed,
		Cluster:          e.Cluster.Name,
		ClusterKind:      e.Cluster.Kind,
		Started:          o.Now(),
		Sessions:         1,
		Plan:             plan.Planned(),
		Notes:            notes(plan),
	}
}

// notes are facts about deployments that a methods section must tell.
func notes(plan *runners.Plan) []string {
	all := []string{
		"workers run without nannies, and Dask's dashboards are off",
		"numerical libraries use one thread in each task",
	}
	if len(plan.Blocks) > 0 && plan.Blocks[0].Worker == record.WorkerInstant {
		all = []string{"workers are stand-ins in one process for each node, which execute nothing and report every task as finished at once",
			"Dask's dashboards are off"}
	}
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
