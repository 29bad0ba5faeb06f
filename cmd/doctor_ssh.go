package cmd

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/deploy/ssh"
)

// maxOutlooks bounds for how many nodes ssh is asked for its configuration,
// each time by a process of its own.
const maxOutlooks = 256

// checkSSH looks at what logins to nodes of these names would use. Nothing is
// connected to.
func (c *checkup) checkSSH(ctx context.Context, names []string) []finding {
	if len(names) == 0 {
		return []finding{noted("ssh", "esched doctor --cluster "+c.cluster.Name+" --reserve", "the nodes' names are not known before a reservation: configuration and known hosts were not checked")}
	}
	names = names[:min(len(names), maxOutlooks)]
	client, err := c.newClient(c.cluster, "", nil)
	if err != nil {
		return []finding{wrong("ssh", err, "set HOME")}
	}
	defer client.Close()
	outlooks, err := look(ctx, client, names)
	if err != nil {
		return []finding{wrong("ssh configuration", err, "ssh -G "+names[0])}
	}
	first := outlooks[0]
	way := fmt.Sprintf("%s is %s@%s", names[0], first.User, first.Address)
	if len(first.Jumps) > 0 {
		way += " by way of " + strings.Join(first.Jumps, ", ")
	}
	if first.Shared {
		way += ", over the connection of a ControlMaster"
	}
	all := []finding{fine("ssh configuration", "%s (%d node(s) looked up)", way, len(names))}
	return append(append(all, c.checkKeys(first)...), checkKnownHosts(names, outlooks))
}

// look asks for several nodes at a time.
func look(ctx context.Context, client *ssh.Client, names []string) ([]ssh.Outlook, error) {
	outlooks := make([]ssh.Outlook, len(names))
	errs := make([]error, len(names))
	places := make(chan struct{}, maxContacts)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			outlooks[i], errs[i] = client.Outlook(ctx, name)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err // one mistake of a configuration is found for all its hosts
		}
	}
	return outlooks, nil
}

// checkKeys says which keys a login can offer, and whether this machine's own
// sshd would take them, as nodes with the same home directory do.
func (c *checkup) checkKeys(o ssh.Outlook) []finding {
	const check = "ssh keys"
	notes := strings.Join(o.Notes, "; ")
	if len(o.Keys) == 0 {
		switch {
		case o.Shared:
			return []finding{fine(check, "none, and none is needed as long as the ControlMaster runs")}
		case o.Locked != "":
			return []finding{broken(check, "eval $(ssh-agent); ssh-add "+o.Locked, "none that can be used: %s", notes)}
		case notes != "":
			return []finding{broken(check, "mend that, or name another key with IdentityFile in ~/.ssh/config", "none that can be used: %s", notes)}
		}
		return []finding{broken(check, "ssh-keygen -t ed25519, then: cat ~/.ssh/id_ed25519.pub >> ~/.ssh/authorized_keys", "there is none to log in with")}
	}
	text := fmt.Sprintf("%d key(s) to log in with", len(o.Keys))
	if notes != "" {
		text += "; not used: " + notes
	}
	all := []finding{fine(check, "%s", text)}
	if c.cluster.Kind == clusterStatic {
		return all // such machines seldom share a home
	}
	accepted := c.keptText(".ssh", "authorized_keys") + c.keptText(".ssh", "authorized_keys2")
	known := slices.ContainsFunc(o.Keys, func(line string) bool {
		_, key, _ := strings.Cut(line, " ")
		return strings.Contains(accepted, key)
	})
	if !known && !o.Shared {
		all = append(all, noted("authorized keys", "cat ~/.ssh/id_ed25519.pub >> ~/.ssh/authorized_keys (or the key that you use)",
			"none of these keys is in ~/.ssh/authorized_keys; nodes that share this home directory accept no other, unless the site keeps keys elsewhere"))
	}
	for _, name := range []string{"", ".ssh", ".ssh/authorized_keys"} {
		path := filepath.Join(c.Home, name)
		if info, err := c.stat(path); err == nil && info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			all = append(all, noted("authorized keys", "chmod go-w "+path, "%s can be changed by others, so sshd does not trust the keys in it", path))
		}
	}
	return all
}

// checkKnownHosts finds nodes, and hosts on the way to them, whose keys are
// not known.
func checkKnownHosts(names []string, outlooks []ssh.Outlook) finding {
	const check = "known hosts"
	var unknown []string
	strangers := 0 // nodes that cannot be logged in to
	for _, o := range outlooks {
		if len(o.Unknown) > 0 {
			strangers++
		}
		for _, name := range o.Unknown {
			if !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
		}
	}
	files := strings.Join(outlooks[0].KnownFiles, ", ")
	if files == "" {
		files = "no file of known hosts exists"
	} else {
		files = "looked in " + files
	}
	if len(unknown) == 0 {
		return fine(check, "the keys of all %d node(s) are known; %s", len(names), files)
	}
	mend := fmt.Sprintf("in a reservation of yours connect once with: ssh %s, and compare the fingerprint with what the site publishes", unknown[0])
	state := broken
	if strangers < len(names) {
		state = noted // others may be granted
	}
	return state(check, mend, "no key of %s, so %d of %d node(s) would be refused; %s", shortened(unknown), strangers, len(names), files)
}

// shortened names the first few of many.
func shortened(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
}

// startupLimit bounds the start of a shell, whose files may ask a slow file
// system or load modules.
const startupLimit = 30 * time.Second

// startupMark is what a shell prints that executes a command.
const startupMark = "=esched-shell="

// checkStartup starts the user's shell as sshd does and looks at what else it
// prints. Nodes mostly have the same home directory.
func (c *checkup) checkStartup(ctx context.Context) []finding {
	const check = "start-up files"
	shell := c.env("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startupLimit, fmt.Errorf("no end within %v", startupLimit))
	defer cancel()
	out, err := c.remoteShell(ctx, shell, "echo "+startupMark)
	return []finding{judgeStartup(check, shell, out, err)}
}

// mendNoise is what makes a start-up file silent.
const mendNoise = "begin ~/.bashrc with: case $- in *i*) ;; *) return ;; esac (for other shells print only when there is a terminal)"

func judgeStartup(check, shell, out string, err error) finding {
	before, _, executed := strings.Cut(out, startupMark)
	noise := oneLine(before)
	const most = 200 // bytes of it shown
	if len(noise) > most {
		noise = noise[:most] + " ..."
	}
	switch {
	case !executed && err != nil:
		return broken(check, mendNoise, "%s executes no command: %v; it printed %q", shell, err, noise)
	case !executed:
		return broken(check, mendNoise, "%s executes no command; it printed %q", shell, noise)
	case noise != "":
		return noted(check, mendNoise, "%s prints %q before each command; esched copes, but scp, sftp and others do not", shell, noise)
	}
	return fine(check, "%s prints nothing of its own before a command", shell)
}
