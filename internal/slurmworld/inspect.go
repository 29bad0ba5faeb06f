package slurmworld

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Exec is a command on a node by root, not over the network but through the
// node's namespaces. It works on a node that is unplugged.
func (w *World) Exec(ctx context.Context, t testing.TB, node string, argv ...string) *exec.Cmd {
	t.Helper()
	w.known(t, node)
	return exec.CommandContext(ctx, "nsenter", append([]string{
		"--target", w.act(t, "pid", node), "--mount", "--uts", "--ipc", "--net", "--pid", "--wd=/", "--",
	}, argv...)...)
}

// OnNode runs a command on a node like [World.Exec] and returns its standard
// output.
func (w *World) OnNode(t testing.TB, node string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), commandLimit)
	defer cancel()
	out, err := w.Exec(ctx, t, node, argv...).Output()
	if err != nil {
		t.Fatalf("%s: %q: %v", node, argv, err)
	}
	return strings.TrimSpace(string(out))
}

// Process is a process on a node.
type Process struct {
	PID  int // as the head sees it
	UID  int
	Name string   // the kernel's short name of the program
	Args []string // empty for a process that is ending
}

// machinery are the programs that make a node a node.
var machinery = []string{"sshd", "slurmd", "slurmstepd"}

// Processes lists what users run on a node that is on, over ssh or as jobs. The
// node's own daemons are left out, and so are zombies.
func (w *World) Processes(t testing.TB, node string) []Process {
	t.Helper()
	w.known(t, node)
	root, err := strconv.Atoi(w.act(t, "pid", node))
	if err != nil {
		t.Fatal(err)
	}
	space, err := os.Readlink(namespace(root))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var all []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == root {
			continue
		}
		if in, err := os.Readlink(namespace(pid)); err != nil || in != space {
			continue
		}
		if p, ok := describe(pid); ok && !slices.Contains(machinery, p.Name) {
			all = append(all, p)
		}
	}
	return all
}

func namespace(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid), "ns", "pid") }

// describe reads what /proc tells of a process that has not ended.
func describe(pid int) (p Process, ok bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return p, false
	}
	p.PID = pid
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch key {
		case "Name":
			p.Name = value
		case "State":
			if strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X") {
				return p, false
			}
		case "Uid":
			first, _, _ := strings.Cut(value, "\t")
			p.UID, _ = strconv.Atoi(first)
		}
	}
	if args, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(args) > 0 {
		p.Args = strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")
	}
	return p, true
}

// Socket is a socket that something listens on.
type Socket struct {
	Protocol string // "tcp" or "udp"
	Address  string // "0.0.0.0:8786"
	Owner    string // ss's words for the process
}

// Listening lists the TCP and UDP sockets that users' processes on a node
// listen on. Those of the node's own daemons are left out.
func (w *World) Listening(t testing.TB, node string) []Socket {
	t.Helper()
	var all []Socket
	for line := range strings.Lines(w.OnNode(t, node, "ss", "-Hltunp")) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		s := Socket{Protocol: f[0], Address: f[4]}
		if len(f) > 6 {
			s.Owner = f[6]
		}
		if !slices.ContainsFunc(machinery, func(name string) bool { return strings.Contains(s.Owner, `"`+name+`"`) }) {
			all = append(all, s)
		}
	}
	return all
}
