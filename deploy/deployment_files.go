package deploy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/esched/esched/internal/hint"
)

// Names of files in a deployment's directory on the nodes.
const (
	socketFile    = "s"              // short: the path of a socket is limited
	preloadModule = "esched_preload" // without .py; imported by name, because Dask runs a preload given as a path twice
	settingsFile  = "dask.yaml"
	addressFile   = "scheduler.json"
)

// socketLimit is the longest path of a unix socket, in bytes, without the
// final zero.
const socketLimit = 107

// ownDirLength is the number of random characters in the name of a
// deployment's own directory.
const ownDirLength = 6

func (s Spec) ownDir() string {
	return filepath.Join(s.Dir, "d"+strings.ToLower(rand.Text()[:ownDirLength]))
}

func (s Spec) check(hosts []Host) error {
	usage := func(err error, mend string) error {
		return hint.WithExit(hint.With(fmt.Errorf("deployment: %w", err), mend), hint.ExitUsage)
	}
	names := map[string]bool{}
	for _, h := range hosts {
		if names[h.Name()] {
			return usage(fmt.Errorf("host %s is there twice", h.Name()), "name every host once")
		}
		names[h.Name()] = true
	}
	if n := len(s.ownDir()) + 1 + len(socketFile); n > socketLimit {
		return usage(fmt.Errorf("scratch directory %s: socket paths in it have %d bytes, %d is the limit", s.Dir, n, socketLimit),
			"choose a scratch directory with a shorter path, like /tmp")
	}
	switch {
	case len(hosts) == 0:
		return errors.New("deployment: no hosts")
	case s.Python == "":
		return errors.New("deployment: no Python interpreter")
	case !filepath.IsAbs(s.Dir):
		return usage(fmt.Errorf("scratch directory %q: not an absolute path", s.Dir), "give the scratch directory as an absolute path")
	case s.Logs == "":
		return errors.New("deployment: no directory for logs")
	case s.WorkersPerNode < 1:
		return usage(fmt.Errorf("%d workers per node", s.WorkersPerNode), "ask for at least one worker per node")
	case s.Threads < 1:
		return usage(fmt.Errorf("%d threads per worker", s.Threads), "ask for at least one thread per worker")
	case s.Ready <= 0:
		return errors.New("deployment: no bound for the wait for the workers")
	case len(s.Service) > 0 && len(s.Preload) == 0:
		return errors.New("deployment: a service without a preload module for Dask's scheduler")
	}
	return nil
}

// prepare puts the deployment's files on every host.
func (d *Deployment) prepare(ctx context.Context) error {
	settings, err := settingsText(d.spec.Settings)
	if err != nil {
		return fmt.Errorf("settings for Dask: %w", err)
	}
	files := map[string][]byte{settingsFile: settings}
	if len(d.spec.Preload) > 0 {
		files[preloadModule+".py"] = d.spec.Preload
	}
	return d.put(ctx, files, d.hosts)
}

// put writes private files into the deployment's directory on some hosts.
func (d *Deployment) put(ctx context.Context, files map[string][]byte, hosts []Host) error {
	tmp, err := os.MkdirTemp("", "esched-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(tmp, name), content, 0o600); err != nil {
			return err
		}
	}
	return each(hosts, func(h Host) error { return h.Put(ctx, os.DirFS(tmp), d.dir) })
}

// sweep removes the deployment's directory from every host.
func (d *Deployment) sweep(ctx context.Context) error {
	return each(d.hosts, func(h Host) error {
		_, err := h.Run(ctx, Command{Name: "sweep", Argv: []string{"rm", "-rf", "--", d.dir}})
		return err
	})
}

func each(hosts []Host, f func(Host) error) error {
	errs := make([]error, len(hosts))
	var wait sync.WaitGroup
	for i, h := range hosts {
		wait.Go(func() { errs[i] = f(h) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (d *Deployment) path(name string) string { return filepath.Join(d.dir, name) }

// env is the environment of all Python processes of the deployment.
func (d *Deployment) env() []string {
	env := []string{
		"PYTHONPATH=" + d.spec.PythonPath,
		"DASK_CONFIG=" + d.path(settingsFile),
		// A numerical library with threads of its own would compete with the
		// worker's threads, and make tasks' durations depend on one another.
		"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
	}
	if len(d.spec.Service) > 0 {
		env = append(env, "ESCHED_SOCKET="+d.path(socketFile))
	}
	return env
}

func (d *Deployment) serviceCommand() Command {
	argv := slices.Clone(d.spec.Service)
	for i, a := range argv {
		argv[i] = strings.ReplaceAll(a, "{socket}", d.path(socketFile))
	}
	return Command{Name: "service", Argv: argv, Log: filepath.Join(d.spec.Logs, "service.log")}
}

func (d *Deployment) schedulerCommand() Command {
	first := d.hosts[0]
	argv := []string{
		d.spec.Python, "-m", "distributed.cli.dask_scheduler",
		"--host", address(first), "--port", "0",
		// Dask serves facts over HTTP also without its dashboard, by default on
		// a fixed port.
		"--no-dashboard", "--dashboard-address", httpHost(first) + ":0",
		"--scheduler-file", d.path(addressFile),
	}
	env := d.env()
	if len(d.spec.Preload) > 0 {
		argv = append(argv, "--preload", preloadModule)
		env = append(env, "PYTHONPATH="+d.dir+string(os.PathListSeparator)+d.spec.PythonPath)
	}
	return Command{Name: "scheduler", Argv: argv, Env: env, Log: filepath.Join(d.spec.Logs, "scheduler.log")}
}

func (d *Deployment) workerCommand(h Host, name string) Command {
	if d.spec.Instant {
		return d.instantCommand(h, name)
	}
	memory := "auto"
	if d.spec.MemoryLimit > 0 {
		memory = strconv.FormatInt(d.spec.MemoryLimit, 10)
	}
	argv := []string{
		d.spec.Python, "-m", "distributed.cli.dask_worker",
		"--scheduler-file", d.path(addressFile), "--host", address(h),
		"--name", name, "--nthreads", strconv.Itoa(d.spec.Threads), "--nworkers", "1",
		"--no-nanny", "--no-dashboard", "--dashboard-address", "127.0.0.1:0",
		"--memory-limit", memory, "--local-directory", d.path(name),
		"--death-timeout", strconv.Itoa(int(math.Ceil(d.spec.Ready.Seconds()))),
	}
	return Command{
		Name: "worker-" + name, Argv: argv, Env: d.env(),
		Log: filepath.Join(d.spec.Logs, "worker-"+name+".log"),
	}
}

// instantCommand starts the process that stands for all workers of a host.
func (d *Deployment) instantCommand(h Host, name string) Command {
	argv := []string{
		d.spec.Python, "-m", "esched_client.instant_worker",
		"--scheduler-file", d.path(addressFile), "--host", address(h),
		"--workers", strconv.Itoa(d.spec.WorkersPerNode), "--nthreads", strconv.Itoa(d.spec.Threads),
		"--name", strings.TrimSuffix(WorkerName(h.Name(), 0), "0"), // the process adds the numbers
		"--wait", strconv.Itoa(int(math.Ceil(d.spec.Ready.Seconds()))),
	}
	if d.spec.MemoryLimit > 0 {
		argv = append(argv, "--memory-limit", strconv.FormatInt(d.spec.MemoryLimit, 10))
	}
	return Command{
		Name: "worker-" + name, Argv: argv, Env: d.env(),
		Log: filepath.Join(d.spec.Logs, "worker-"+name+".log"),
	}
}

func address(h Host) string {
	if a, ok := h.(Addresser); ok {
		return a.Addr()
	}
	return h.Name()
}

// httpHost is where the scheduler serves its facts: only to its own machine
// when esched can connect from there.
func httpHost(h Host) string {
	if _, ok := h.(Dialer); ok {
		return "127.0.0.1"
	}
	return address(h)
}

// settingsText turns dotted Dask settings into a configuration file: JSON,
// which is a part of YAML.
func settingsText(settings map[string]any) ([]byte, error) {
	tree := map[string]any{}
	for _, key := range sortedKeys(settings) {
		branch := tree
		parts := strings.Split(key, ".")
		for _, part := range parts[:len(parts)-1] {
			next, ok := branch[part].(map[string]any)
			if !ok {
				if branch[part] != nil {
					return nil, fmt.Errorf("%s: a value is set for %s, which is a part of it", key, part)
				}
				next = map[string]any{}
				branch[part] = next
			}
			branch = next
		}
		leaf := parts[len(parts)-1]
		if _, taken := branch[leaf]; taken {
			return nil, fmt.Errorf("%s: values are set for parts of it", key)
		}
		branch[leaf] = plainNumbers(settings[key])
	}
	return json.Marshal(tree)
}

// plainNumbers rewrites floating point numbers without an exponent: to YAML,
// 1e-07 is a word.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsInf(v, 1) {
			return "inf" // the word that Dask's settings use
		}
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return json.Number(text)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plainNumbers(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			m[k] = plainNumbers(v[k])
		}
		return m
	}
	return v
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
