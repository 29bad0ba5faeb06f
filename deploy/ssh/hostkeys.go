package ssh

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	xssh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/esched/esched/internal/hint"
)

// hostKeys is what the files of known hosts say of one host.
type hostKeys struct {
	s     settings
	db    *knownhosts.HostKeyDB
	files []string // those that exist
}

func readHostKeys(s settings) (hostKeys, error) {
	k := hostKeys{s: s}
	for _, path := range s.known {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			k.files = append(k.files, path)
		}
	}
	db, err := knownhosts.NewDB(k.files...)
	if err != nil {
		return k, hint.With(fmt.Errorf("known hosts: %w", err), "mend or remove that line of the file")
	}
	k.db = db
	return k, nil
}

// algorithms are the key types to ask the server for: those that are known of
// it. Otherwise it could present another one of its keys, and be refused.
func (k hostKeys) algorithms() []string {
	algorithms := k.db.HostKeyAlgorithms(k.s.key())
	// ssh-rsa signs with SHA-1, which current servers no longer do.
	return slices.DeleteFunc(algorithms, func(a string) bool { return a == xssh.KeyAlgoRSA })
}

// verify is the ssh.HostKeyCallback.
func (k hostKeys) verify(_ string, remote net.Addr, key xssh.PublicKey) error {
	if _, _, err := net.SplitHostPort(remote.String()); err != nil {
		remote = &net.TCPAddr{IP: net.IPv4zero} // behind a jump host; only the name counts
	}
	err := k.db.HostKeyCallback()(k.s.key(), remote, key)
	if err == nil {
		return nil
	}
	offered := key.Type() + " " + xssh.FingerprintSHA256(key)
	if revoked, ok := errors.AsType[*xknownhosts.RevokedError](err); ok {
		err := fmt.Errorf("host key revoked: %s:%d revokes %s", revoked.Revoked.Filename, revoked.Revoked.Line, offered)
		return hint.With(err, "ask the administrators of the host; nothing was sent to it")
	}
	known, ok := errors.AsType[*xknownhosts.KeyError](err)
	switch {
	case !ok:
		return fmt.Errorf("host key %s: %w", offered, err)
	case len(known.Want) == 0:
		return k.unknown(offered)
	}
	var lines []string
	for _, w := range known.Want {
		lines = append(lines, fmt.Sprintf("%s:%d has %s %s", w.Filename, w.Line, w.Key.Type(), xssh.FingerprintSHA256(w.Key)))
	}
	err = fmt.Errorf("host key changed: the host has %s, but %s", offered, strings.Join(lines, ", "))
	return hint.With(err, fmt.Sprintf("ask whether the host was reinstalled, then remove the old key with: ssh-keygen -R %s -f %s",
		quote(knownhosts.Normalize(k.s.key())), quote(known.Want[0].Filename)))
}

func (k hostKeys) unknown(offered string) error {
	where := "no file of known hosts exists (looked for " + strings.Join(k.s.known, ", ") + ")"
	if len(k.files) > 0 {
		where = "it is not in " + strings.Join(k.files, ", ")
	}
	err := fmt.Errorf("host key unknown: the host has %s, and %s", offered, where)
	return hint.With(err, fmt.Sprintf("connect once with: ssh %s, and compare the fingerprint with what the site publishes", k.s.name))
}

// explain puts a failed negotiation of host keys into words.
func (k hostKeys) explain(err error) error {
	n, ok := errors.AsType[*xssh.AlgorithmNegotiationError](err)
	if !ok || !strings.Contains(n.What, "host key") {
		return err
	}
	var lines []string
	callback := k.db.HostKeyCallback()
	var known *xknownhosts.KeyError
	if errors.As(callback(k.s.key(), &net.TCPAddr{IP: net.IPv4zero}, noKey{}), &known) {
		for _, w := range known.Want {
			lines = append(lines, fmt.Sprintf("%s:%d has %s", w.Filename, w.Line, w.Key.Type()))
		}
	}
	err = fmt.Errorf("host key of another type: the host offers %s, but %s",
		strings.Join(n.RequestedAlgorithms, ", "), strings.Join(lines, ", "))
	return hint.With(err, fmt.Sprintf("ask whether the host was reinstalled, then connect once with: ssh %s", k.s.name))
}

// noKey is a key that no host has: asking for it tells what is known.
type noKey struct{}

func (noKey) Type() string                         { return "none" }
func (noKey) Marshal() []byte                      { return []byte("none") }
func (noKey) Verify([]byte, *xssh.Signature) error { return errors.New("no key") }
