package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/deploy/daskrpc"
)

// pollInterval is how often the scheduler is asked who has registered, unless
// its answers take long.
const pollInterval = 50 * time.Millisecond

// verdictDelay is how long a lost worker's deployment goes on starting, to see
// whether others do better: only then its host is to blame.
const verdictDelay = 30 * time.Second

// logLines is how many lines of a log an error shows.
const logLines = 8

// schedulerInfo is what counts of what Dask's scheduler writes into its
// scheduler file.
type schedulerInfo struct {
	Address string `json:"address"`
}

// schedulerFile waits for the scheduler file on the first host and gives it to
// the others, where the workers wait for it.
func (d *Deployment) schedulerFile(ctx context.Context) (schedulerInfo, error) {
	// One command that waits costs a slow connection less than questions do. It
	// also ends with the scheduler, and when the start is given up.
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	scheduler := d.Scheduler()
	go func() {
		select {
		case <-scheduler.Done():
			cancel(d.early(scheduler))
		case <-waiting.Done():
		}
	}()
	const script = `until [ -s "$1" ]; do sleep 0.05; done; cat "$1"`
	for {
		text, err := d.hosts[0].Run(waiting, Command{
			Name: "scheduler-file", Argv: []string{"sh", "-c", script, "sh", d.path(addressFile)},
		})
		if err != nil {
			if errors.Is(err, errNotReady) {
				err = fmt.Errorf("scheduler on %s: did not listen within %v: %w%s", scheduler.Host, d.spec.Ready, errNotReady, quoteLog(scheduler.Log))
			}
			return schedulerInfo{}, err
		}
		var info schedulerInfo
		// Dask does not write the file atomically: a part of it is no error.
		if json.Unmarshal(text, &info) == nil && info.Address != "" {
			return info, each(d.hosts[1:], func(h Host) error {
				if err := d.put(ctx, h, map[string][]byte{addressFile: text}); err != nil {
					bad := &BadHost{h.Name(), RungFiles, err}
					d.tell(bad.Step())
					return bad
				}
				return nil
			})
		}
	}
}

// roll is who must register and who has not.
type roll struct {
	missing map[string]*Member // by the worker's name
	lost    map[*Member]error
	all     int
	last    error // of the latest question to the scheduler
}

// awaitWorkers asks the scheduler until every worker has registered.
func (d *Deployment) awaitWorkers(ctx context.Context) error {
	ask := &asker{d: d}
	defer ask.close()
	r := &roll{missing: d.expected(), lost: map[*Member]error{}}
	r.all = len(r.missing)
	wait := time.NewTimer(0)
	defer wait.Stop()
	var verdict <-chan time.Time
	for {
		select {
		case loss := <-d.lost:
			if loss.Fatal() {
				return d.early(loss.Member)
			}
			r.lost[loss.Member] = d.early(loss.Member)
			if verdict == nil {
				verdict = time.After(verdictDelay)
			}
		case <-verdict:
			return d.judge(r)
		case <-ctx.Done():
			return d.unready(ctx, r)
		case <-wait.C:
			begin := time.Now()
			var registered []string
			registered, r.last = ask.workers(ctx)
			d.tick(r, registered)
			// A scheduler with thousands of workers has better to do.
			wait.Reset(max(pollInterval, 4*time.Since(begin)))
		}
		switch {
		case len(r.missing) == 0:
			d.observe(d.Scheduler(), string(RungRegistered), d.addr)
			if d.spec.Apart {
				d.reach(d.hosts[0], RungRegistered, d.addr)
			}
			return nil
		case len(r.lost) > 0 && (len(d.workerHosts()) == 1 || d.decided(r)):
			return d.judge(r)
		}
	}
}

// tick takes workers off the roll and tells of processes and hosts that are
// complete.
func (d *Deployment) tick(r *roll, registered []string) {
	for _, name := range registered {
		m := r.missing[name]
		if m == nil {
			continue
		}
		delete(r.missing, name)
		process, host := true, true
		for _, other := range r.missing {
			process = process && other != m
			host = host && other.Host != m.Host
		}
		if process {
			d.observe(m, string(RungRegistered), "")
		}
		if host {
			d.tell(Step{Node: m.Host, State: string(RungRegistered)})
		}
	}
}

// decided tells whether every worker has either registered or been lost.
func (d *Deployment) decided(r *roll) bool {
	for _, m := range r.missing {
		if r.lost[m] == nil {
			return false
		}
	}
	return true
}

// judge is the error of a deployment that lost workers while it started.
func (d *Deployment) judge(r *roll) error {
	byHost := map[string]error{}
	for _, m := range d.Workers() {
		if err := r.lost[m]; err != nil && byHost[m.Host] == nil { // others of the host will say the same
			byHost[m.Host] = err
		}
	}
	return d.blame(byHost)
}

// blame puts together what went wrong on hosts with workers. What went wrong on
// all of them is not the fault of any, and told once.
func (d *Deployment) blame(byHost map[string]error) error {
	var errs []error
	for _, h := range d.workerHosts() {
		err := byHost[h.Name()]
		if err == nil {
			continue
		}
		bad := &BadHost{h.Name(), RungRegistered, err}
		d.tell(bad.Step())
		if len(byHost) == len(d.workerHosts()) {
			if len(byHost) > 1 {
				err = fmt.Errorf("alike on all %d hosts: %w", len(byHost), err)
			}
			return err
		}
		errs = append(errs, bad)
	}
	return errors.Join(errs...)
}

// expected are the workers that must register, by name, with their processes.
func (d *Deployment) expected() map[string]*Member {
	all := map[string]*Member{}
	for _, m := range d.Workers() {
		all[m.Name] = m
		if d.spec.Instant {
			delete(all, m.Name)
			for _, name := range d.spec.workerNames(m.Host) {
				all[name] = m
			}
		}
	}
	return all
}

// asker asks the scheduler, over one connection as long as that holds.
type asker struct {
	d      *Deployment
	client *daskrpc.Client
}

// workers names the workers that have registered.
func (a *asker) workers(ctx context.Context) ([]string, error) {
	var id daskrpc.Identity
	err := a.ask(ctx, endBound, func(ctx context.Context) (err error) {
		id, err = a.client.Identity(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(id.Workers))
	for i, w := range id.Workers {
		names[i] = w.Name
	}
	return names, nil
}

// ask asks a question within a bound, over a new connection if there is none.
func (a *asker) ask(ctx context.Context, bound time.Duration, question func(context.Context) error) error {
	var err error
	if a.client == nil {
		if a.client, err = a.d.dialScheduler(ctx, a.d.addr); err != nil {
			return err
		}
	}
	bounded, release := context.WithTimeoutCause(ctx, bound, fmt.Errorf("no answer within %v", bound))
	defer release()
	if err = question(bounded); err != nil {
		a.close()
	}
	return err
}

func (a *asker) close() {
	if a.client != nil {
		a.client.Close()
		a.client = nil
	}
}

// unready says which workers did not register, and what they say themselves.
func (d *Deployment) unready(ctx context.Context, r *roll) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errNotReady) {
		return cause // given up, nothing is wrong with the workers
	}
	byHost := map[string]error{}
	var logs []string
	for _, h := range d.workerHosts() {
		var names []string
		log := ""
		for _, m := range d.Workers() {
			for name, of := range r.missing {
				if of == m && m.Host == h.Name() {
					names = append(names, name)
					log = quoteLog(m.Log)
				}
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			byHost[h.Name()] = fmt.Errorf("%s not registered within %v: %w%s", strings.Join(names, ", "), d.spec.Ready, errNotReady, log)
			logs = append(logs, log)
		}
	}
	if len(byHost) < len(d.workerHosts()) {
		return d.blame(byHost)
	}
	names := slices.Sorted(maps.Keys(r.missing))
	const shown = 3 // logs of workers that fail alike say the same
	text := strings.Join(logs[:min(len(logs), shown)], "")
	if r.last != nil && !errors.Is(r.last, errNotReady) {
		text = fmt.Sprintf("; the scheduler's answer was: %v%s", r.last, text)
	}
	return fmt.Errorf("%d of %d workers not registered within %v: %s: %w%s",
		len(names), r.all, d.spec.Ready, strings.Join(names, ", "), errNotReady, text)
}

// early is the error of a member that ended while the deployment started.
func (d *Deployment) early(m *Member) error {
	err := m.Err()
	if err == nil {
		err = fmt.Errorf("%s on %s: ended by itself", m.Name, m.Host)
	}
	return fmt.Errorf("%w before it was ready%s", err, quoteLog(m.Log))
}

// quoteLog is the end of a log as an appendix to an error.
func quoteLog(path string) string {
	text := logTail(path, logLines)
	if text == "" {
		return fmt.Sprintf("\n%s is empty", path)
	}
	return fmt.Sprintf("\nend of %s:\n%s", path, indent(text))
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// readyLine begins the line by which the decision service tells that it
// listens.
const readyLine = "ready "

// readyWriter watches a program's standard output for its ready line, and
// copies everything to its log.
type readyWriter struct {
	ready chan struct{} // closed at the ready line

	mu   sync.Mutex
	log  *os.File
	line []byte
	seen bool
}

func newReadyWriter(log string) (*readyWriter, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("service log: %w", err)
	}
	return &readyWriter{ready: make(chan struct{}), log: f}, nil
}

func (w *readyWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen {
		w.line = append(w.line, p...)
		for !w.seen {
			line, rest, whole := bytes.Cut(w.line, []byte("\n"))
			if !whole {
				break
			}
			w.seen = bytes.HasPrefix(line, []byte(readyLine))
			w.line = rest
		}
		if w.seen {
			w.line = nil
			close(w.ready)
		}
	}
	return w.log.Write(p)
}

func (w *readyWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Close()
}
