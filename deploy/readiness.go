package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// pollInterval is how often the scheduler is asked who has registered.
const pollInterval = 50 * time.Millisecond

// logLines is how many lines of a log an error shows.
const logLines = 8

// schedulerInfo is what Dask's scheduler writes into its scheduler file, and
// what it answers when asked for its identity.
type schedulerInfo struct {
	Address  string `json:"address"`
	Services struct {
		Dashboard int `json:"dashboard"`
	} `json:"services"`
	Workers map[string]struct {
		Name any `json:"name"`
	} `json:"workers"`

	text []byte
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
		info := schedulerInfo{text: text}
		// Dask does not write the file atomically: a part of it is no error.
		if json.Unmarshal(text, &info) == nil && info.Address != "" {
			if info.Services.Dashboard == 0 {
				return info, fmt.Errorf("scheduler on %s: no HTTP port in %s", scheduler.Host, text)
			}
			return info, d.put(ctx, map[string][]byte{addressFile: text}, d.hosts[1:])
		}
	}
}

// awaitWorkers asks the scheduler until every worker has registered.
func (d *Deployment) awaitWorkers(ctx context.Context, file schedulerInfo) error {
	client := d.httpClient()
	defer client.CloseIdleConnections()
	first := d.hosts[0]
	url := fmt.Sprintf("http://%s/json/identity.json", net.JoinHostPort(httpHost(first), fmt.Sprint(file.Services.Dashboard)))
	missing := d.expected()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		info, err := identity(ctx, client, url)
		last = err
		for _, w := range info.Workers {
			name := fmt.Sprint(w.Name)
			if m := missing[name]; m != nil {
				delete(missing, name)
				if !slices.Contains(slices.Collect(maps.Values(missing)), m) { // the last of its process
					d.observe(m, "registered", "")
				}
			}
		}
		if len(missing) == 0 {
			d.observe(d.Scheduler(), "registered", file.Address)
			return nil
		}
		select {
		case loss := <-d.lost:
			return d.early(loss.Member)
		case <-ctx.Done():
			return d.unready(ctx, missing, last)
		case <-ticker.C:
		}
	}
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

func identity(ctx context.Context, client *http.Client, url string) (schedulerInfo, error) {
	var info schedulerInfo
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return info, err
	}
	response, err := client.Do(request)
	if err != nil {
		return info, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return info, fmt.Errorf("%s: %s", url, response.Status)
	}
	return info, json.NewDecoder(response.Body).Decode(&info)
}

func (d *Deployment) httpClient() *http.Client {
	transport := &http.Transport{} // no proxy: the scheduler is never behind one
	if dialer, ok := d.hosts[0].(Dialer); ok {
		transport.DialContext = dialer.Dial
	}
	return &http.Client{Transport: transport, Timeout: endBound}
}

// unready says which workers did not register, and what they say themselves.
func (d *Deployment) unready(ctx context.Context, missing map[string]*Member, last error) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errNotReady) {
		return cause // given up, nothing is wrong with the workers
	}
	var logs []string
	for _, m := range d.Workers() {
		if slices.Contains(slices.Collect(maps.Values(missing)), m) {
			logs = append(logs, quoteLog(m.Log))
		}
	}
	names := slices.Sorted(maps.Keys(missing))
	const shown = 3 // logs of workers that fail alike say the same
	text := strings.Join(logs[:min(len(logs), shown)], "")
	if last != nil && !errors.Is(last, errNotReady) && !errors.Is(last, context.DeadlineExceeded) {
		text = fmt.Sprintf("; the scheduler's answer was: %v%s", last, text)
	}
	return fmt.Errorf("%d of %d workers not registered within %v: %s: %w%s",
		len(names), len(d.expected()), d.spec.Ready, strings.Join(names, ", "), errNotReady, text)
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
