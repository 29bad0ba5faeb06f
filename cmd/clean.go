package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners/record"
)

type cleanOptions struct {
	*globals
	Output string
	DryRun bool
	Copies bool
	JSON   bool
}

func newClean(g *globals) *cobra.Command {
	o := cleanOptions{globals: g}
	c := &cobra.Command{
		Use:   "clean",
		Short: "end processes and release nodes that earlier runs left",
		Long: withExits(`
End the processes, remove the scratch directories, and release the reservations
that earlier runs recorded and left behind. Only what a run wrote down itself is
touched, recognised by its recorded identity and never by its name. Runs that
are going on are left alone, and so are records and reports.

Nodes of a cluster are only visited while a reservation that is recorded still
runs; hosts of a static cluster at any time. What a run left elsewhere, as on a
node that crashed, is named: the next run of yours on that node removes it. The
copies of esched and of environments that later runs use again stay on nodes
unless --copies is given.

Normally there is nothing to do: a run ends all it started, even when it is
killed.`, hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched clean --dry-run\n  esched clean\n  esched clean --copies\n  esched clean --output /scratch/runs --json",
		Args:    atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := o.stat(o.Output); err != nil && c.Flags().Changed("output") { // else there were no runs yet
				return usageError("name the directory with the runs with --output", "runs: %w", err)
			}
			return runClean(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Output, "output", "runs", "directory with the runs")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "say what would be done, do nothing")
	f.BoolVar(&o.Copies, "copies", false, "remove copies for later runs from nodes, too")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	return c
}

// leftover is something that a run left.
type leftover struct {
	Run  string `json:"run"`
	Kind string `json:"kind"` // "process", "scratch", "reservation", "files", "copies"
	What string `json:"what"`
	// Done tells whether it was removed; Error why it could not be, Stays why it
	// was not tried.
	Done  bool   `json:"done"`
	Stays string `json:"stays,omitempty"`
	Error string `json:"error,omitempty"`

	hosts []string // to be added to What
}

func runClean(ctx context.Context, o cleanOptions) error {
	runs, err := o.runDirs(o.Output)
	if err != nil {
		return err
	}
	found := []leftover{}
	for _, run := range runs {
		found = append(found, o.cleanRun(run, o.DryRun)...)
	}
	more, err := o.cleanLedger(ctx)
	if err != nil {
		return err
	}
	found = append(found, more...)
	if more, err = o.cleanRemains(ctx); err != nil {
		return err
	}
	found = append(found, more...)
	if !o.DryRun {
		if err := o.dropCheckups(); err != nil {
			return err
		}
	}
	bad := 0
	for _, l := range found {
		if l.Error != "" {
			bad++
		}
	}
	if o.JSON {
		if err := printJSON(o.Stdout, found); err != nil {
			return err
		}
	} else if err := o.printLeftovers(found, len(runs)); err != nil {
		return err
	}
	if bad > 0 {
		return hint.With(fmt.Errorf("%d of %d leftovers could not be removed", bad, len(found)),
			"run esched clean on the machine and as the user of the run")
	}
	return nil
}

// releaseLimit bounds giving one reservation back.
const releaseLimit = time.Minute

// cleanLedger releases reservations of runs that nobody works on.
func (o cleanOptions) cleanLedger(ctx context.Context) ([]leftover, error) {
	entries, err := o.ledger().Entries()
	if err != nil {
		return nil, err
	}
	notes, err := o.allRemains()
	if err != nil {
		return nil, err
	}
	left := over(notes, entries)
	var found []leftover
	for _, e := range entries {
		store, err := record.Open(e.Run)
		if errors.Is(err, record.ErrInUse) {
			continue
		}
		l := leftover{Run: e.Run, Kind: "reservation", What: e.Kind + " " + e.ID}
		if !o.DryRun {
			found = append(found, o.cleanNodes(ctx, e, left, o.Copies)...)
			l.note(o.release(ctx, e))
		}
		if err == nil {
			_ = store.Close() // nothing was written
		}
		found = append(found, l)
	}
	return found, nil
}

func (p Process) release(ctx context.Context, e reserve.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	reserver, err := p.newReserver(clusterOptions{Kind: e.Kind, Name: e.Cluster})
	if err != nil {
		return err
	}
	r, err := reserver.Attach(e)
	if err != nil {
		return err
	}
	return r.Release(ctx)
}

func (o cleanOptions) printLeftovers(found []leftover, runs int) error {
	for _, l := range found {
		done := "removed"
		switch {
		case l.Error != "":
			done = "not removed (" + l.Error + ")"
		case l.Stays != "":
			done = "stays (" + l.Stays + ")"
		case !l.Done:
			done = "would be removed"
		}
		whose := l.Run + ": "
		if l.Run == "" {
			whose = ""
		}
		if _, err := fmt.Fprintf(o.Stdout, "%s%s %s: %s\n", whose, l.Kind, l.What, done); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(found, func(l leftover) bool { return l.Kind != kindCopies || l.Stays == "" }) {
		return nil
	}
	_, err := fmt.Fprintf(o.Stdout, "nothing left behind by %d run(s) in %s\n", runs, o.Output)
	return err
}

// runDirs lists the run directories in dir, oldest first. A dir that does not
// exist has none.
func (p Process) runDirs(dir string) ([]string, error) {
	entries, err := p.readDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, hint.With(fmt.Errorf("runs: %w", err), "name the directory with the runs with --output")
	}
	var runs []string
	for _, e := range entries {
		run := filepath.Join(dir, e.Name())
		if _, err := p.stat(filepath.Join(run, record.ManifestFile)); err == nil {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// cleanRun removes what a run left, unless it is going on.
func (p Process) cleanRun(run string, dryRun bool) []leftover {
	found := p.leftProcesses(run)
	scratch := p.scratchOf(run)
	if len(found) == 0 && scratch == "" {
		return nil
	}
	store, err := record.Open(p.path(run)) // holds the lock: nobody resumes it meanwhile
	if errors.Is(err, record.ErrInUse) {
		return nil
	}
	if err != nil {
		return []leftover{{Run: run, Kind: "process", What: "records", Error: err.Error()}}
	}
	defer store.Close() // nothing was written
	if scratch != "" {
		found = append(found, leftover{Run: run, Kind: "scratch", What: scratch})
	}
	if dryRun {
		return found
	}
	_, cleanErr := deploy.Clean(p.path(run))
	left := p.leftProcesses(run)
	for i := range found {
		l := &found[i]
		switch {
		case l.Kind == "scratch":
			l.note(p.removeScratch(run))
		case !slices.ContainsFunc(left, func(other leftover) bool { return other.What == l.What }):
			l.Done = true
		case cleanErr != nil:
			l.Error = cleanErr.Error()
		default:
			l.Error = "it is on another machine"
		}
	}
	return found
}

func (l *leftover) note(err error) {
	if l.Done = err == nil; err != nil {
		l.Error = err.Error()
	}
}

// leftProcesses reads the process records of a run.
func (p Process) leftProcesses(run string) []leftover {
	dir := filepath.Join(run, deploy.ProcessesDir)
	entries, err := p.readDir(dir)
	if err != nil {
		return nil // most runs have none
	}
	var found []leftover
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		var r deploy.ProcessRecord
		text, err := p.readFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // its guard is done
		}
		what := e.Name()
		if err == nil && json.Unmarshal(text, &r) == nil {
			what = fmt.Sprintf("%s on %s (process %d)", r.Name, r.Host, r.PID)
		}
		found = append(found, leftover{Run: run, Kind: "process", What: what})
	}
	return found
}
