package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/runners/record"
)

// squeueLog is a file beside the records of a run with a line for each call of
// squeue, the time in seconds.
const squeueLog = "squeue.log"

// memoryLog is one with a line for each look at Dask's workers: time, number,
// memory of all of them in KiB.
const memoryLog = "memory.log"

// rungs are the states of nodes whose times are told, in their order.
var rungs = []string{"ssh", "environment", "files", "process", "registered", firstTask}

// firstTask is the state of a node that has executed a task.
const firstTask = "first-task"

// claim is what the events of a run tell of its reservation.
type claim struct {
	granted, released time.Time
	nodes             int
	reached           map[string]time.Time // by rung: when the last node was there
	submits, results  time.Time            // start and end of the first trial, warm-ups included
	climbers          map[string]int       // by rung: nodes that reached it
}

// readClaim reads the first claim of a run.
func readClaim(events []record.Event) (claim, error) {
	c := claim{reached: map[string]time.Time{}, climbers: map[string]int{}}
	seen := map[string]bool{}
	for _, e := range events {
		switch {
		case e.Kind == record.EventReservation && e.State == "running" && c.granted.IsZero():
			c.granted = e.Time
		case e.Kind == record.EventReservation && e.State == "released" && c.released.IsZero():
			c.released = e.Time
		case e.Kind == record.EventTrialStarted && c.submits.IsZero():
			c.submits = e.Time
		case e.Kind == record.EventTrialEnded && c.results.IsZero():
			c.results = e.Time
		case e.Kind != record.EventNode || strings.Contains(e.Node, "/") || seen[e.Node+" "+e.State]:
		default:
			seen[e.Node+" "+e.State] = true
			c.climbers[e.State]++
			if e.Time.After(c.reached[e.State]) {
				c.reached[e.State] = e.Time
			}
			if e.State == "granted" {
				c.nodes++
			}
		}
	}
	if c.granted.IsZero() || c.released.IsZero() {
		return c, errors.New("no reservation was granted and released")
	}
	return c, nil
}

// calls counts the calls of squeue in the log of a run.
func calls(dir string) (n int, err error) {
	text, err := os.ReadFile(filepath.Join(dir, squeueLog))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s: no %s: was it run by bench/run.sh cluster?", dir, squeueLog)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err != nil {
			return 0, fmt.Errorf("%s: %w", squeueLog, err)
		}
		n++
	}
	return n, err
}

// workerMemory is what one worker had when all of them had most, in megabytes; a
// dash when none was seen.
func workerMemory(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, memoryLog))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	most, each := 0.0, 0.0
	for line := range strings.Lines(string(text)) {
		var at int64
		var workers, kib float64
		if _, err := fmt.Sscan(line, &at, &workers, &kib); err != nil || workers < 1 {
			return "", fmt.Errorf("%s: line %q", memoryLog, strings.TrimSpace(line))
		}
		if kib > most {
			most, each = kib, kib*1024/1e6/workers
		}
	}
	if most == 0 {
		return "-", nil
	}
	return fmt.Sprintf("%.0f", each), nil
}

// use is what a run did with its claims.
type use struct {
	inside  float64 // node-seconds of measured trials that are ok
	beside  float64 // of warm-ups, and of attempts that are not ok
	ok      int
	trials  int    // measured ones
	workers string // their kind
}

func useOf(run *record.Run) use {
	u := use{workers: "Dask's"}
	for _, rec := range slices.Concat(run.Records, run.Superseded) {
		if rec.Worker == record.WorkerInstant {
			u.workers = "instant"
		}
		spent := rec.RunS * float64(rec.Nodes)
		if rec.Warmup || rec.Status != record.StatusOK {
			u.beside += spent
		} else {
			u.inside += spent
		}
	}
	for _, rec := range measured(run) {
		u.trials++
		if rec.Status == record.StatusOK {
			u.ok++
		}
	}
	return u
}

// clusterTables writes what there is to say of runs on clusters.
func clusterTables(dirs []string) (string, error) {
	figures := newTable(2, "nodes", "workers", "memory of each, MB", "grant to first trial, s", "to its result, s", "claim, s", "inside trials, %", "inside warm-ups and failed trials, %", "squeue calls", "a minute", "trials ok")
	ladder := newTable(1, append([]string{"nodes"}, rungs...)...)
	var made []record.Manifest
	for _, dir := range dirs {
		run, err := record.Read(dir)
		if err != nil {
			return "", err
		}
		made = append(made, run.Manifest)
		c, err := readClaim(run.Events)
		if err != nil {
			return "", fmt.Errorf("%s: %w", dir, err)
		}
		asked, err := calls(dir)
		if err != nil {
			return "", err
		}
		length := c.released.Sub(c.granted)
		u := useOf(run)
		share := func(nodeSeconds float64) string {
			return fmt.Sprintf("%.1f", 100*nodeSeconds/(length.Seconds()*float64(c.nodes)))
		}
		// squeue is also asked while the run waits for its nodes.
		minutes := c.released.Sub(run.Manifest.Started).Minutes()
		memory, err := workerMemory(dir)
		if err != nil {
			return "", err
		}
		figures.add(fmt.Sprint(c.nodes), u.workers, memory, since(c.granted, c.submits), since(c.granted, c.results), fmt.Sprintf("%.0f", length.Seconds()),
			share(u.inside), share(u.beside), fmt.Sprint(asked), fmt.Sprintf("%.1f", float64(asked)/minutes), fmt.Sprintf("%d of %d", u.ok, u.trials))
		row := []string{fmt.Sprint(c.nodes)}
		for _, rung := range rungs {
			row = append(row, c.since(rung))
		}
		ladder.add(row...)
	}
	return "## Clusters\n\n" + origin(made...) + "\n\nThe first task of a run is executed between the start of its first trial and that trial's result.\n\n" + figures.String() +
		"\nSeconds after the grant when the last node was there (workers that execute nothing tell no first task):\n\n" + ladder.String() + "\n", nil
}

// since is when the last node reached a rung; a dash when not all did.
func (c claim) since(rung string) string {
	if c.climbers[rung] < c.nodes {
		return "-"
	}
	return since(c.granted, c.reached[rung])
}

func since(from, to time.Time) string {
	if to.IsZero() {
		return "-"
	}
	return strconv.FormatFloat(math.Round(to.Sub(from).Seconds()*10)/10, 'f', 1, 64)
}
