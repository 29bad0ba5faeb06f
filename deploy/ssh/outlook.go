package ssh

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	xssh "golang.org/x/crypto/ssh"
)

// Outlook is what can be said of the way to a node without connecting to it.
type Outlook struct {
	// User and Address ("host:port") are those of the login, Jumps the hosts on
	// the way to it in their order.
	User, Address string
	Jumps         []string
	// Shared tells that a ControlMaster answers, over which logins go without a
	// key.
	Shared bool
	// Keys are the public keys that can be offered, each as a line of
	// authorized_keys without a comment.
	Keys []string
	// Notes say why other keys cannot be offered. Locked is the file of one that
	// has a passphrase and is in no agent, "" when there is none.
	Notes  []string
	Locked string
	// Unknown are the hosts of the way, the node included, whose key is in no
	// file of known hosts; KnownFiles are the files that were looked at.
	Unknown    []string
	KnownFiles []string
}

// controlLimit bounds connecting to the socket of a ControlMaster, which is a
// process on this machine.
const controlLimit = 2 * time.Second

// Outlook reads the user's configuration, keys and known hosts for a node. It
// does not connect to the node or to a jump host, so Permit is not asked.
func (c *Client) Outlook(ctx context.Context, name string) (Outlook, error) {
	s, err := c.resolve(ctx, name, "", "")
	if err != nil {
		return Outlook{}, err
	}
	chain, err := c.route(ctx, s, 0)
	if err != nil {
		return Outlook{}, fmt.Errorf("ssh to %s: %w", name, err)
	}
	o := Outlook{User: s.user, Address: s.address(), Shared: answers(ctx, s.control)}
	for i, hop := range chain {
		if i < len(chain)-1 {
			o.Jumps = append(o.Jumps, hop.name)
		}
		keys, err := readHostKeys(hop)
		if err != nil {
			return o, err
		}
		if len(keys.db.HostKeyAlgorithms(hop.key())) == 0 {
			o.Unknown = append(o.Unknown, hop.name)
		}
		o.KnownFiles = keys.files // those of the node, which is the last one
	}
	who := identify(ctx, s)
	defer who.close()
	for _, signer := range who.signers {
		line := string(xssh.MarshalAuthorizedKey(signer.PublicKey()))
		o.Keys = append(o.Keys, strings.TrimSpace(line))
	}
	o.Notes, o.Locked = who.notes, who.locked
	return o, nil
}

// answers tells whether a process listens on a socket.
func answers(ctx context.Context, socket string) bool {
	if socket == "" {
		return false
	}
	if _, err := os.Stat(socket); err != nil {
		return false
	}
	dialer := net.Dialer{Timeout: controlLimit}
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
