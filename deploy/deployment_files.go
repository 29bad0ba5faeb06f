package deploy

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
)

// Names of files in a deployment's directory on the nodes.
const (
	socketFile    = "s"              // short: the path of a socket is limited
	preloadModule = "esched_preload" // without .py; imported by name, because Dask runs a preload given as a path twice
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
	case s.Apart && len(hosts) == 1:
		return usage(errors.New("one host, and the scheduler is to have one of its own"), "reserve one node more, or let the scheduler share a node")
	case s.TLS != nil && (s.TLS.Authority == nil || s.TLS.Life <= 0):
		return errors.New("deployment: TLS without an authority, or without a life of its certificates")
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
	if err := d.secure(time.Now()); err != nil {
		return err
	}
	all := make(map[string]map[string][]byte, len(d.hosts))
	for _, h := range d.hosts {
		files, err := d.hostFiles(h)
		if err != nil {
			return err
		}
		files[mendsModule+".py"], files[closingModule+".py"], files[progressModule+".py"] = mendsSource, closingSource, progressSource
		if len(d.spec.Preload) > 0 {
			files[preloadModule+".py"] = d.spec.Preload
		}
		all[h.Name()] = files
	}
	return d.climb(d.hosts, RungFiles, func(h Host) error { return d.put(ctx, h, all[h.Name()]) })
}

// put writes private files into the deployment's directory on a host. They
// are never on this machine's disk on their way.
func (d *Deployment) put(ctx context.Context, h Host, files map[string][]byte) error {
	src, err := inMemory(files)
	if err != nil {
		return err
	}
	return h.Put(ctx, src, d.dir)
}

// inMemory is a file system of private files: an archive is one.
func inMemory(files map[string][]byte) (fs.FS, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, content := range files {
		header := &zip.FileHeader{Name: name, Method: zip.Store}
		header.SetMode(0o600)
		f, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
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

// env is the environment of all Python processes of the deployment on a host.
func (d *Deployment) env(h Host) []string {
	env := []string{
		"PYTHONPATH=" + d.dir + string(os.PathListSeparator) + d.spec.PythonPath,
		"DASK_CONFIG=" + d.path(settingsFile(h.Name())),
		// A numerical library with threads of its own would compete with the
		// worker's threads, and make tasks' durations depend on one another.
		"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
	}
	if len(d.spec.Service) > 0 {
		env = append(env, "ESCHED_SOCKET="+d.path(socketFile))
	}
	return env
}

func (d *Deployment) serviceCommand(ctx context.Context) (Command, error) {
	argv := slices.Clone(d.spec.Service)
	for i, a := range argv {
		if strings.Contains(a, "{esched}") {
			binary, err := binaryOn(ctx, d.hosts[0])
			if err != nil {
				return Command{}, err
			}
			a = strings.ReplaceAll(a, "{esched}", binary)
		}
		argv[i] = strings.ReplaceAll(a, "{socket}", d.path(socketFile))
	}
	return Command{Name: "service", Argv: argv, Log: filepath.Join(d.spec.Logs, "service.log")}, nil
}

func binaryOn(ctx context.Context, h Host) (string, error) {
	c, ok := h.(Carrier)
	if !ok {
		return "", fmt.Errorf("service on %s: esched's binary is not on that host", h.Name())
	}
	return c.Binary(ctx)
}

func (d *Deployment) schedulerCommand() Command {
	first := d.hosts[0]
	argv := []string{
		d.spec.Python, "-m", "distributed.cli.dask_scheduler",
		"--host", d.address(first), "--port", "0", "--protocol", d.spec.protocol(),
		// Dask opens an HTTP port also without its dashboard, by default a fixed
		// one to everybody, until the closing module closes it.
		"--no-dashboard", "--dashboard-address", "127.0.0.1:0",
		"--scheduler-file", d.path(addressFile),
	}
	return Command{Name: "scheduler", Argv: argv, Env: d.env(first), Log: filepath.Join(d.spec.Logs, "scheduler.log")}
}

func (d *Deployment) workerCommand(h Host, name string) Command {
	if d.spec.Instant {
		return d.instantCommand(h, name)
	}
	argv := []string{
		d.spec.Python, "-m", "distributed.cli.dask_worker",
		"--scheduler-file", d.path(addressFile), "--host", d.address(h), "--protocol", d.spec.protocol(),
		"--name", name, "--nthreads", strconv.Itoa(d.spec.Threads), "--nworkers", "1",
		"--no-nanny", "--no-dashboard", "--dashboard-address", "127.0.0.1:0",
		"--memory-limit", d.spec.memoryLimit(), "--local-directory", d.path(name),
		"--death-timeout", strconv.Itoa(int(math.Ceil(d.spec.Ready.Seconds()))),
	}
	return Command{
		Name: "worker-" + name, Argv: argv, Env: d.env(h),
		Log: filepath.Join(d.spec.Logs, "worker-"+name+".log"),
	}
}

// memoryLimit is the limit of a worker's memory as Dask takes it: bytes, a
// fraction of what the node has, or "auto".
func (s Spec) memoryLimit() string {
	switch {
	case s.MemoryLimit > 0:
		return strconv.FormatInt(s.MemoryLimit, 10)
	case s.MemoryLimit < 0:
		return "auto"
	}
	return strconv.FormatFloat(1/float64(s.WorkersPerNode), 'f', 9, 64)
}

// instantCommand starts the process that stands for all workers of a host.
func (d *Deployment) instantCommand(h Host, name string) Command {
	argv := []string{
		d.spec.Python, "-m", "esched_client.instant_worker",
		"--scheduler-file", d.path(addressFile), "--host", d.address(h),
		"--workers", strconv.Itoa(d.spec.WorkersPerNode), "--nthreads", strconv.Itoa(d.spec.Threads),
		"--name", strings.TrimSuffix(WorkerName(h.Name(), 0), "0"), // the process adds the numbers
		"--wait", strconv.Itoa(int(math.Ceil(d.spec.Ready.Seconds()))),
	}
	if d.spec.MemoryLimit > 0 {
		argv = append(argv, "--memory-limit", strconv.FormatInt(d.spec.MemoryLimit, 10))
	}
	return Command{
		Name: "worker-" + name, Argv: argv, Env: d.env(h),
		Log: filepath.Join(d.spec.Logs, "worker-"+name+".log"),
	}
}

// address is where processes on a host listen.
func (d *Deployment) address(h Host) string {
	if a := d.spec.Addresses[h.Name()]; a != "" {
		return a
	}
	if a, ok := h.(Addresser); ok {
		return a.Addr()
	}
	return h.Name()
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
