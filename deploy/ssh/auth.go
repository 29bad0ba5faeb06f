package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/melbahja/goph"
	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/esched/esched/internal/hint"
)

// agentLimit bounds each exchange with the agent. It is long because an agent
// may ask the user to touch a token.
const agentLimit = 15 * time.Second

// identity is what one login can be made with, and why other keys could not be
// used.
type identity struct {
	signers []xssh.Signer
	notes   []string
	locked  string // a key file that has a passphrase and is in no agent
	close   func()
}

// auth returns the methods for goph's and ssh's configurations.
func (i identity) auth() goph.Auth {
	return goph.Auth{xssh.PublicKeys(i.signers...)}
}

// identify collects keys: those of the agent and of the identity files, each
// one once.
func identify(ctx context.Context, s settings) identity {
	i := identity{close: func() {}}
	var held []xssh.Signer
	if s.agent != "" {
		var err error
		if held, i.close, err = agentKeys(ctx, s.agent); err != nil {
			i.notes = append(i.notes, fmt.Sprintf("agent %s: %v", s.agent, err))
		}
	}
	var named []xssh.Signer
	for _, path := range s.identities {
		signer, err := i.fromFile(path, held)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			i.notes = append(i.notes, fmt.Sprintf("%s: %v", path, err))
		default:
			named = append(named, withCertificates(signer, append(s.certs, path+"-cert.pub"))...)
		}
	}
	if s.only {
		held = nil
	}
	// Servers accept few attempts, so what the user named comes first.
	for _, signer := range append(named, held...) {
		if !holds(i.signers, signer.PublicKey()) {
			i.signers = append(i.signers, signer)
		}
	}
	return i
}

func agentKeys(ctx context.Context, socket string) ([]xssh.Signer, func(), error) {
	dialer := net.Dialer{Timeout: agentLimit}
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, func() {}, err
	}
	_ = conn.SetDeadline(time.Now().Add(agentLimit))
	signers, err := agent.NewClient(conn).Signers()
	_ = conn.SetDeadline(time.Time{})
	return signers, func() { conn.Close() }, err
}

// fromFile returns the key in a file; when it has a passphrase, the one of the
// agent that belongs to it.
func (i *identity) fromFile(path string, held []xssh.Signer) (xssh.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		// The public half may be all there is, with the key in the agent.
		if public := readPublic(path); public != nil {
			return signerOf(held, public, err)
		}
		return nil, err
	}
	signer, err := xssh.ParsePrivateKey(text)
	missing, ok := errors.AsType[*xssh.PassphraseMissingError](err)
	if !ok {
		return signer, err
	}
	public := missing.PublicKey
	if public == nil {
		public = readPublic(path)
	}
	signer, err = signerOf(held, public, errors.New("has a passphrase, and the agent does not hold it"))
	if err != nil && i.locked == "" {
		i.locked = path
	}
	return signer, err
}

func readPublic(path string) xssh.PublicKey {
	text, err := os.ReadFile(path + ".pub")
	if err != nil {
		return nil
	}
	key, _, _, _, err := xssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return key
}

// signerOf finds the signer of a public key, or returns otherwise.
func signerOf(signers []xssh.Signer, key xssh.PublicKey, otherwise error) (xssh.Signer, error) {
	if key != nil {
		for _, s := range signers {
			if bytes.Equal(s.PublicKey().Marshal(), key.Marshal()) {
				return s, nil
			}
		}
	}
	return nil, otherwise
}

func holds(signers []xssh.Signer, key xssh.PublicKey) bool {
	_, err := signerOf(signers, key, fs.ErrNotExist)
	return err == nil
}

// withCertificates puts the certificates for a key, if there are any, before
// the key itself.
func withCertificates(signer xssh.Signer, paths []string) []xssh.Signer {
	all := []xssh.Signer{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		key, _, _, _, err := xssh.ParseAuthorizedKey(text)
		if err != nil {
			continue
		}
		if cert, ok := key.(*xssh.Certificate); ok && bytes.Equal(cert.Key.Marshal(), signer.PublicKey().Marshal()) {
			if certified, err := xssh.NewCertSigner(cert, signer); err == nil {
				all = append(all, certified)
			}
		}
	}
	return append(all, signer)
}

// explain puts a refused login into words.
func (i identity) explain(s settings, err error) error {
	if !strings.Contains(err.Error(), "unable to authenticate") {
		return err
	}
	tried := "no key was found to log in with"
	if n := len(i.signers); n > 0 {
		tried = fmt.Sprintf("none of %d keys was accepted", n)
	}
	if len(i.notes) > 0 {
		tried += " (" + strings.Join(i.notes, "; ") + ")"
	}
	err = fmt.Errorf("login as %s refused: %s", s.user, tried)
	if i.locked != "" {
		return hint.With(err, "let an agent hold the key: eval $(ssh-agent); ssh-add "+quote(i.locked))
	}
	return hint.With(err, fmt.Sprintf("make this work without a question: ssh %s true; where the site asks for a second factor, "+
		"set ControlMaster and ControlPath for it in ~/.ssh/config and log in once", s.name))
}
