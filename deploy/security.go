package deploy

import (
	"context"
	"crypto/tls"
	_ "embed" // for the modules that Dask loads
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/deploy/daskrpc"
	"github.com/esched/esched/deploy/tlsca"
)

// closingSource is the module with which Dask's servers close their HTTP port:
// it has neither tokens nor a check of its visitors' certificates.
//
//go:embed esched_no_http.py
var closingSource []byte

const closingModule = "esched_no_http" // without .py

// progressSource is the module with which Dask's scheduler answers
// [Deployment.Progress].
//
//go:embed esched_progress.py
var progressSource []byte

const progressModule = "esched_progress" // without .py

// mendsSource is the module with which Dask's servers survive two known faults
// of some versions of Python and Dask.
//
//go:embed esched_mends.py
var mendsSource []byte

const mendsModule = "esched_mends" // without .py

// TLS says who vouches for the processes of a deployment. Every connection
// between them is then encrypted, and both ends show a certificate.
type TLS struct {
	Authority *tlsca.Authority
	// Life is how long the certificates are valid: not much longer than the
	// deployment may live. Required.
	Life time.Duration
}

// Names of secret files in a deployment's directory. They contain the host's
// name, because the directory may be the same one for all hosts.
func identityFile(host string) string { return fileName(host) + ".pem" }
func settingsFile(host string) string { return fileName(host) + ".yaml" }

const authorityFile = "authority.pem"

// fileName makes a host's name a part of a file's name.
func fileName(host string) string { return strings.ReplaceAll(host, "/", "-") }

// secure makes the identities of all hosts and that of esched itself.
func (d *Deployment) secure(now time.Time) error {
	if d.spec.TLS == nil {
		return nil
	}
	d.identities = map[string]tlsca.Identity{}
	for _, h := range d.hosts {
		id, err := d.spec.TLS.Authority.Issue(h.Name(), []string{d.address(h)}, now, d.spec.TLS.Life)
		if err != nil {
			return err
		}
		d.identities[h.Name()] = id
	}
	own, err := d.spec.TLS.Authority.Issue("esched", nil, now, d.spec.TLS.Life)
	if err != nil {
		return err
	}
	d.client, err = d.spec.TLS.Authority.Client(own)
	return err
}

// hostFiles are the files of a host's processes that differ from those of
// others.
func (d *Deployment) hostFiles(h Host) (map[string][]byte, error) {
	settings, err := settingsText(d.settings(h))
	if err != nil {
		return nil, fmt.Errorf("settings for Dask: %w", err)
	}
	files := map[string][]byte{settingsFile(h.Name()): settings}
	if d.spec.TLS != nil {
		files[authorityFile] = d.spec.TLS.Authority.PEM()
		files[identityFile(h.Name())] = d.identities[h.Name()].PEM
	}
	return files, nil
}

// settings are the Dask settings of a host's processes: those of the Spec, and
// what esched does not leave to it.
func (d *Deployment) settings(h Host) map[string]any {
	all := maps.Clone(d.spec.Settings)
	if all == nil {
		all = map[string]any{}
	}
	first := []any{mendsModule}
	if len(d.spec.Preload) > 0 {
		first = append(first, preloadModule)
	}
	all[schedulerPreload] = slices.Concat(first, list(all[schedulerPreload]), []any{progressModule, closingModule})
	all[workerPreload] = slices.Concat([]any{mendsModule}, list(all[workerPreload]), []any{closingModule})
	if _, given := all[temporaryDirectory]; !given { // where others cannot look, and nothing stays
		all[temporaryDirectory] = d.dir
	}
	// Until the port is closed, nobody gets more than "not found" from it.
	all["distributed.scheduler.http.routes"] = []any{}
	all["distributed.worker.http.routes"] = []any{}
	if d.spec.TLS == nil {
		return all
	}
	all["distributed.comm.require-encryption"] = true
	all["distributed.comm.default-scheme"] = "tls"
	all["distributed.comm.tls.min-version"] = 1.3
	all["distributed.comm.tls.ca-file"] = d.path(authorityFile)
	// A task on a worker may be a client, and each of them both connects and
	// listens: to Dask, all certificates of one authority are equal.
	for _, role := range []string{"scheduler", "worker", "client"} {
		all["distributed.comm.tls."+role+".cert"] = d.path(identityFile(h.Name()))
	}
	return all
}

// Settings of Dask that name the modules a server loads.
const (
	schedulerPreload = "distributed.scheduler.preload"
	workerPreload    = "distributed.worker.preload"
)

// temporaryDirectory is the setting of Dask for where its processes have files
// of their own, by default in /tmp.
const temporaryDirectory = "temporary-directory"

// list makes a setting that may be one text a list.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return append([]any{}, v...)
	default:
		return []any{v}
	}
}

// protocol is the scheme of all addresses in the deployment.
func (s Spec) protocol() string {
	if s.TLS != nil {
		return "tls"
	}
	return "tcp"
}

// dialScheduler connects to Dask's scheduler.
func (d *Deployment) dialScheduler(ctx context.Context, address string) (*daskrpc.Client, error) {
	ctx, release := context.WithTimeoutCause(ctx, endBound, fmt.Errorf("no answer within %v", endBound))
	defer release()
	_, hostport, found := strings.Cut(address, "://")
	if !found {
		return nil, fmt.Errorf("scheduler's address %q: no scheme", address)
	}
	dial := (&net.Dialer{}).DialContext
	if dialer, ok := d.hosts[0].(Dialer); ok {
		dial = dialer.Dial
	}
	conn, err := dial(ctx, "tcp", hostport)
	if err != nil {
		return nil, err
	}
	if d.client != nil {
		config := d.client.Clone()
		config.ServerName = d.address(d.hosts[0])
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		conn = abrupt{secured, conn}
	}
	return daskrpc.Connect(ctx, conn)
}

// abrupt is an encrypted connection that is closed without taking leave, which
// would wait for a peer that does not listen.
type abrupt struct {
	net.Conn
	under net.Conn
}

func (a abrupt) Close() error { return a.under.Close() }
