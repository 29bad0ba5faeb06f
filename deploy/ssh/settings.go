package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
)

// settingsLimit bounds asking ssh for its configuration, which may run a
// program of the user's (Match exec).
const settingsLimit = time.Minute

// settings is what ssh_config says of a host.
type settings struct {
	name       string // as the user or the reservation calls it
	host       string // what is connected to
	port       string
	user       string
	alias      string // under which name known hosts list it; "" for host
	identities []string
	certs      []string
	only       bool // no keys of the agent but these
	agent      string
	known      []string // files of known hosts, those of the user first
	jump       string   // comma-separated chain, "" for none
	control    string   // socket of a ControlMaster, "" for none
	connect    time.Duration
}

// address is what is dialled; known hosts are looked up under key.
func (s settings) address() string { return joinPort(s.host, s.port) }

func (s settings) key() string {
	if s.alias != "" {
		return joinPort(s.alias, "22")
	}
	return s.address()
}

func joinPort(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// resolve asks ssh what the user's configuration says of a host. user and port
// are those of a jump specification, "" without.
func (c *Client) resolve(ctx context.Context, name, user, port string) (settings, error) {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n\x00") {
		return settings{}, fmt.Errorf("host %q: not a host name", name)
	}
	args := []string{"-G"}
	if c.config.File != "" {
		args = append(args, "-F", c.config.File)
	}
	for _, o := range c.config.Options {
		args = append(args, "-o", o)
	}
	if user != "" {
		args = append(args, "-l", user)
	}
	if port != "" {
		args = append(args, "-p", port)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, settingsLimit, fmt.Errorf("no answer within %v", settingsLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, c.config.Program, append(args, "--", name)...)
	cmd.Env = c.config.Env
	cmd.WaitDelay = time.Second
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return c.defaults(name, user, port), nil
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		text := strings.TrimSpace(complaint.String())
		err = fmt.Errorf("ssh configuration of %s: %w: %s", name, err, text)
		return settings{}, hint.With(err, fmt.Sprintf("mend what this prints: ssh -G %s", name))
	}
	return c.parse(name, string(out))
}

// defaults are OpenSSH's without any configuration.
func (c *Client) defaults(name, user, port string) settings {
	s := settings{name: name, host: name, port: port, user: user, agent: c.config.AgentSocket}
	if s.port == "" {
		s.port = "22"
	}
	if s.user == "" {
		s.user = c.config.User
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		s.identities = append(s.identities, filepath.Join(c.config.Home, ".ssh", "id_"+kind))
	}
	s.known = []string{filepath.Join(c.config.Home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts"}
	return s
}

// parse reads the output of ssh -G.
func (c *Client) parse(name, text string) (settings, error) {
	s := settings{name: name, host: name, port: "22", user: c.config.User, agent: c.config.AgentSocket}
	var global []string
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if value == "" || value == "none" && key != "identityagent" {
			continue
		}
		switch key {
		case "hostname":
			s.host = value
		case "port":
			s.port = value
		case "user":
			s.user = value
		case "hostkeyalias":
			s.alias = value
		case "identityfile":
			s.identities = append(s.identities, value)
		case "certificatefile":
			s.certs = append(s.certs, value)
		case "identitiesonly":
			s.only = value == "yes"
		case "identityagent":
			s.agent = value
		case "userknownhostsfile":
			s.known = strings.Fields(value)
		case "globalknownhostsfile":
			global = strings.Fields(value)
		case "proxyjump":
			s.jump = value
		case "controlpath":
			s.control = c.expand(s, value)
		case "connecttimeout":
			if n, err := strconv.Atoi(value); err == nil {
				s.connect = time.Duration(n) * time.Second
			}
		case "proxycommand":
			err := fmt.Errorf("host %s: its ssh configuration has a ProxyCommand, which esched does not run: %s", name, value)
			return s, hint.WithExit(hint.With(err, "use ProxyJump for this host in ~/.ssh/config"), hint.ExitUsage)
		}
	}
	for i, path := range s.identities {
		s.identities[i] = c.expand(s, path)
	}
	for i, path := range s.certs {
		s.certs[i] = c.expand(s, path)
	}
	s.known = append(s.known, global...)
	for i, path := range s.known {
		s.known[i] = c.expand(s, path)
	}
	switch s.agent {
	case "none":
		s.agent = ""
	case "SSH_AUTH_SOCK", "$SSH_AUTH_SOCK":
		s.agent = c.config.AgentSocket
	default:
		s.agent = c.expand(s, s.agent)
	}
	return s, nil
}

// expand replaces the home directory and the tokens that ssh -G leaves in the
// names of files.
func (c *Client) expand(s settings, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(c.config.Home, rest)
	}
	return strings.NewReplacer(
		"%%", "%", "%d", c.config.Home, "%h", s.host, "%n", s.name, "%p", s.port, "%r", s.user, "%u", c.config.User,
	).Replace(path)
}
