package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/tlsca"
	"github.com/esched/esched/internal/need"
)

// ladder collects steps.
type ladder struct {
	mu    sync.Mutex
	steps []deploy.Step
}

func (l *ladder) add(s deploy.Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, s)
}

// of lists the states of a node, in order.
func (l *ladder) of(node string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var states []string
	for _, s := range l.steps {
		if s.Node == node {
			states = append(states, strings.TrimSpace(s.State+" "+s.Message))
		}
	}
	return strings.Join(states, ", ")
}

// spoiled is a host that does not do something.
type spoiled struct {
	deploy.Host
	put   error
	start func(c deploy.Command) (deploy.Command, error)
}

func (s *spoiled) Addr() string { return s.Host.(deploy.Addresser).Addr() }

func (s *spoiled) Put(ctx context.Context, src fs.FS, dir string) error {
	if s.put != nil {
		return s.put
	}
	return s.Host.Put(ctx, src, dir)
}

func (s *spoiled) Start(ctx context.Context, c deploy.Command) (deploy.Process, error) {
	if s.start != nil {
		var err error
		if c, err = s.start(c); err != nil {
			return nil, err
		}
	}
	return s.Host.Start(ctx, c)
}

// TestBadHosts has the second of three hosts fail on each rung. The others
// must not be blamed, and nothing may be left.
func TestBadHosts(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	full := errors.New("no space left on device")
	for _, c := range []struct {
		name  string
		rung  deploy.Rung
		want  string // in the error
		spoil func(h *spoiled)
	}{
		{"files", deploy.RungFiles, full.Error(), func(h *spoiled) { h.put = full }},
		{"process", deploy.RungProcess, full.Error(), func(h *spoiled) {
			h.start = func(c deploy.Command) (deploy.Command, error) { return c, full }
		}},
		{"registered", deploy.RungRegistered, "the end of the log", func(h *spoiled) {
			h.start = func(c deploy.Command) (deploy.Command, error) {
				c.Argv = []string{"sh", "-c", "echo the end of the log; exit 7"}
				return c, nil
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := short(t)
			var l ladder
			spec := plain(dir, python)
			spec.WorkersPerNode, spec.Apart, spec.Observe = 1, true, l.add
			all := nodes(t, dir, "127.0.0.4", "127.0.0.5", "127.0.0.6")
			bad := &spoiled{Host: all[1]}
			c.spoil(bad)
			all[1] = bad
			_, err := deploy.Start(t.Context(), all, spec)
			found := deploy.BadHosts(fmt.Errorf("wrapped: %w", err))
			if len(found) != 1 || found[0].Host != "node002" || found[0].Rung != c.rung || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want node002 not to reach %s with %q, have %v", c.rung, c.want, err)
			}
			if have := l.of("node002"); !strings.Contains(have, "failed "+string(c.rung)+": ") {
				t.Errorf("ladder of node002: %s", have)
			}
			if have := l.of("node003"); strings.Contains(have, "failed") {
				t.Errorf("ladder of node003: %s", have)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, deploy.ProcessesDir, "*")); len(left) > 0 {
				t.Errorf("records of processes are left: %v", left)
			}
		})
	}
}

// TestLateHost has one host whose worker never registers.
func TestLateHost(t *testing.T) {
	t.Parallel()
	dir := short(t)
	spec := plain(dir, need.Python(t))
	spec.WorkersPerNode, spec.Ready = 1, time.Hour
	expireAt(&spec, "node001")
	all := nodes(t, dir, "127.0.0.7", "127.0.0.8")
	all[1] = &spoiled{Host: all[1], start: func(c deploy.Command) (deploy.Command, error) {
		c.Argv = []string{"sh", "-c", "echo the end of the log; sleep 1000"}
		return c, nil
	}}
	_, err := deploy.Start(t.Context(), all, spec)
	found := deploy.BadHosts(err)
	if len(found) != 1 || found[0].Host != "node002" {
		t.Fatalf("want node002 to be bad, have %v", err)
	}
	for _, want := range []string{"node002-w0 not registered within 1h0m0s", "the end of the log"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in the error, have %v", want, err)
		}
	}
}

// TestWhatFailsEverywhereIsNoHostsFault has workers that end on all hosts.
func TestWhatFailsEverywhereIsNoHostsFault(t *testing.T) {
	t.Parallel()
	dir := short(t)
	spec := plain(dir, need.Python(t))
	spec.WorkersPerNode = 1
	spec.Settings = map[string]any{"distributed.worker.preload": []any{"no_such_module"}}
	_, err := deploy.Start(t.Context(), nodes(t, dir, "127.0.0.9", "127.0.0.10"), spec)
	if err == nil || len(deploy.BadHosts(err)) > 0 || !strings.Contains(err.Error(), "alike on all 2 hosts") || !strings.Contains(err.Error(), "no_such_module") {
		t.Errorf("want an error about all hosts, have %v", err)
	}
}

// TestApart keeps workers off the scheduler's host and puts all at the chosen
// addresses.
func TestApart(t *testing.T) {
	t.Parallel()
	dir := short(t)
	var l ladder
	spec := plain(dir, need.Python(t))
	spec.PythonPath, spec.Apart, spec.WorkersPerNode, spec.Observe = modules(t), true, 1, l.add
	spec.Addresses = map[string]string{"node001": "127.0.1.1", "node002": "127.0.1.2"}
	spec.TLS = &deploy.TLS{Authority: authority(t), Life: time.Hour}
	d, err := deploy.Start(t.Context(), nodes(t, dir, "127.0.0.11", "127.0.0.12", "127.0.0.13"), spec)
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, m := range append(d.Workers(), d.Scheduler()) {
		for _, address := range listening(t, m.PID()) {
			host, _, _ := strings.Cut(address, ":")
			at = append(at, m.Host+" "+m.Name+" "+host)
		}
	}
	slices.Sort(at)
	want := []string{"node001 scheduler 127.0.1.1", "node002 node002-w0 127.0.1.2", "node003 node003-w0 127.0.0.13"}
	if !slices.Equal(at, want) {
		t.Errorf("want %v, have %v", want, at)
	}
	sumOn(t, dir, spec, d)
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for node, want := range map[string]string{
		"node001": "files, process, registered " + d.Addr(),
		"node002": "files, process, registered",
	} {
		if have := l.of(node); have != want {
			t.Errorf("ladder of %s: want %q, have %q", node, want, have)
		}
	}
}

func TestSpecRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		spoil      func(s *deploy.Spec)
	}{
		{"apart alone", "one host", func(s *deploy.Spec) { s.Apart = true }},
		{"no authority", "TLS", func(s *deploy.Spec) { s.TLS = &deploy.TLS{Life: time.Hour} }},
		{"no life", "TLS", func(s *deploy.Spec) { s.TLS = &deploy.TLS{Authority: &tlsca.Authority{}} }},
	} {
		dir := short(t)
		spec := plain(dir, "python3")
		c.spoil(&spec)
		if _, err := deploy.Start(t.Context(), hosts(t, dir, "a"), spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, have %v", c.name, c.want, err)
		}
	}
}
