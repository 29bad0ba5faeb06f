package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/deploy/ssh"
	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/internal/hint"
)

const (
	// nodeLimit bounds looking at one node, a copy of esched included.
	nodeLimit = 3 * time.Minute
	// largeSkew is from when on a node's clock makes its log hard to read
	// beside others. Certificates bear a day.
	largeSkew = 2 * time.Second
	// scratchSpace is what sockets and logs of processes need on a node,
	// copySpace what a copy of an environment does.
	scratchSpace = 200 << 20
	copySpace    = 2 << 30
)

// visit looks at nodes and knows what this machine has.
type visit struct {
	*checkup
	way way
	dir string // on the nodes, may be made and is removed

	here    platform
	python  *pyenv.Environment // nil when it cannot be looked at, as absence says
	absence finding
}

// platform is what programs are compiled for.
type platform struct{ machine, libc string }

const platformScript = "uname -m; getconf GNU_LIBC_VERSION 2>/dev/null"

func parsePlatform(text string) platform {
	machine, libc, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return platform{strings.TrimSpace(machine), strings.TrimSpace(libc)}
}

// prepare looks at this machine, to compare nodes with it.
func (v *visit) prepare(ctx context.Context) {
	if text, err := v.output(ctx, "/", "/bin/sh", "-c", platformScript); err == nil {
		v.here = parsePlatform(text)
	}
	v.python, v.absence = v.presentEnvironment(ctx)
}

// presentEnvironment is the experiment's environment if it is there: a checkup
// makes none.
func (c *checkup) presentEnvironment(ctx context.Context) (*pyenv.Environment, finding) {
	const check = "python"
	name := c.experiment.Environment
	if !strings.ContainsRune(name, '/') {
		states, err := c.manager(nil).Status(ctx)
		if err != nil {
			return nil, wrong(check, err, "esched env "+name)
		}
		for _, s := range states {
			if s.Name == name && s.State != pyenv.StateOK {
				return nil, noted(check, "esched env "+name+", then this again", "not looked at: environment %s is not made yet", name)
			}
		}
	}
	e, err := c.environment(ctx, name, func(string) {})
	if err != nil {
		return nil, wrong(check, err, "esched env "+name)
	}
	return &e, finding{}
}

// node looks at one node. Checks do not need one another, so that one visit
// tells all there is to mend; only without a login there is nothing more.
func (v *visit) node(ctx context.Context, name string) []finding {
	ctx, cancel := context.WithTimeoutCause(ctx, nodeLimit, fmt.Errorf("no end within %v", nodeLimit))
	defer cancel()
	h, err := v.way.host(ctx, name)
	if err != nil {
		return []finding{wrong("login", err, "ssh "+name)}
	}
	all := []finding{fine("login", "by %s", v.cluster.Launcher)}
	if node, ok := h.(*ssh.Host); ok {
		all = append(all, judgeStartup("start-up files", "the login shell", node.Noise()+startupMark, nil))
	}
	all = append(all, checkBinary(ctx, h))
	there, found := v.checkPlatform(ctx, h)
	all = append(all, found, v.checkScratch(ctx, h))
	all = append(all, v.checkPythonOn(ctx, h, there)...)
	all = append(all, v.checkClock(ctx, h))
	if err := errors.Join(deploy.Remove(ctx, h, v.dir), h.Close()); err != nil {
		all = append(all, noted("files", "rm -r "+v.dir+" there", "%v", err))
	}
	return all
}

// checkBinary executes esched there.
func checkBinary(ctx context.Context, h deploy.Host) finding {
	const check = "esched"
	carrier, ok := h.(deploy.Carrier)
	if !ok {
		return fine(check, "guards run")
	}
	binary, err := carrier.Binary(ctx)
	if err != nil {
		return wrong(check, err, "choose a scratch directory on the nodes from which programs can be executed")
	}
	if _, err := h.Run(ctx, deploy.Command{Name: "version", Argv: []string{binary, "version"}}); err != nil {
		return wrong(check, err, "build esched for the nodes' machine type")
	}
	return fine(check, "%s runs", binary)
}

// checkPlatform compares the node with this machine.
func (v *visit) checkPlatform(ctx context.Context, h deploy.Host) (platform, finding) {
	const check = "machine"
	out, err := h.Run(ctx, deploy.Command{Name: "platform", Argv: []string{"/bin/sh", "-c", platformScript}})
	if err != nil {
		return platform{}, wrong(check, err, "see what this says there: "+platformScript)
	}
	p := parsePlatform(string(out))
	text := p.machine + ", " + cmp.Or(p.libc, "not glibc")
	if facts, err := describeHost(ctx, h); err == nil {
		text = fmt.Sprintf("%d cores, %.0f GB, %s, %s", facts.Cores, float64(facts.MemoryB)/1e9, cmp.Or(facts.OS, facts.Kernel), text)
	}
	if p.older(v.here) {
		return p, noted(check, "make Python environments on a node, whose C library is older: esched env",
			"%s; this machine has %s", text, v.here.libc)
	}
	return p, fine(check, "%s", text)
}

// older tells whether programs made for another platform may not run on p.
func (p platform) older(than platform) bool {
	mine, theirs := glibc(p.libc), glibc(than.libc)
	return mine > 0 && theirs > 0 && mine < theirs
}

// glibc is the minor version in "glibc 2.36", 0 for anything else.
func glibc(text string) int {
	minor, found := strings.CutPrefix(text, "glibc 2.")
	if !found {
		return 0
	}
	minor, _, _ = strings.Cut(minor, ".")
	n, _ := strconv.Atoi(minor)
	return n
}

// scratchCheck makes a file in the directory $1, executes it, and tells the
// free space in KiB and the kind of file system.
const scratchCheck = `f="$1/.check"; printf '#!/bin/sh\n' > "$f" && chmod 700 "$f" || exit 1; ` +
	`if "$f"; then x=executes; else x=forbids; fi; rm -f "$f"; ` +
	`df -Pk "$1" | tail -n 1 | while read -r _ _ _ free _; do echo "$free $x $(stat -f -c %T "$1" 2>/dev/null)"; done`

// checkScratch makes the directory that a run would make.
func (v *visit) checkScratch(ctx context.Context, h deploy.Host) finding {
	const check, mend = "scratch", "set scratch of the cluster's profile to a directory on each node that you may write to"
	for _, dir := range []string{path.Dir(v.dir), v.dir} {
		if err := deploy.MakePrivate(ctx, h, dir); err != nil {
			return wrong(check, err, mend)
		}
	}
	v.Failpoints.Reach(failpoint.Visit)
	out, err := h.Run(ctx, deploy.Command{Name: "scratch", Argv: []string{"/bin/sh", "-c", scratchCheck, "sh", v.dir}})
	if err != nil {
		return wrong(check, fmt.Errorf("%s: %w", v.cluster.Scratch, err), mend)
	}
	var free int64
	var executes, kind string
	if n, _ := fmt.Sscan(string(out), &free, &executes, &kind); n < 2 {
		return broken(check, mend, "%s: answer %q", v.cluster.Scratch, out)
	}
	needed := int64(scratchSpace)
	if v.cluster.EnvironmentOn == onNode {
		needed = copySpace
	}
	free <<= 10
	text := fmt.Sprintf("%s: writable, %.1f GB free", v.cluster.Scratch, float64(free)/1e9)
	switch {
	case free < needed:
		return broken(check, fmt.Sprintf("free %.1f GB there, or %s", float64(needed)/1e9, mend), "%s", text)
	case executes == "forbids" && v.cluster.EnvironmentOn == onNode:
		return broken(check, mend+" and execute programs from", "%s, but no program in it can be executed", text)
	case kind == "nfs":
		return noted(check, mend+", best a local disk", "%s, but on a network file system", text)
	}
	return fine(check, "%s", text)
}

// checkPythonOn starts the environment's Python there and looks for the chosen
// network with it.
func (v *visit) checkPythonOn(ctx context.Context, h deploy.Host, there platform) []finding {
	const check = "python"
	if v.python == nil {
		return []finding{v.absence, v.checkInterface(ctx, h, nil)}
	}
	if v.cluster.EnvironmentOn == onNode {
		found := fine(check, "a copy of %s is made when a run begins", v.python.Name)
		switch {
		case there.machine != v.here.machine:
			found = broken(check, "reserve nodes of this machine's type, or start esched on a machine of theirs",
				"a copy of %s cannot run there: it is for %s", v.python.Name, v.here.machine)
		case there.older(v.here):
			found = noted(check, "should the copy not run: make the environment on a machine like the nodes",
				"a copy of %s is made when a run begins, from a machine with a newer C library (%s there, %s here)", v.python.Name, there.libc, v.here.libc)
		}
		return []finding{found, v.checkInterface(ctx, h, nil)}
	}
	facts, err := deploy.Examine(ctx, h, v.python.Interpreter)
	if err != nil {
		return []finding{wrong(check, err, v.mendPython(ctx, h, there)), v.checkInterface(ctx, h, nil)}
	}
	found := fine(check, "%s: Python %s, Dask %s", v.python.Interpreter, facts.Python, facts.Packages["dask"])
	for name, have := range facts.Packages {
		if want := v.python.Packages[name]; want != "" && have != want {
			found = broken(check, `put one environment where all nodes see it, or set environment_on = "node"`,
				"%s: %s %s there, %s here", v.python.Interpreter, name, have, want)
		}
	}
	return []finding{found, v.checkInterface(ctx, h, &facts)}
}

// mendPython is what can be done about a Python that does not start.
func (v *visit) mendPython(ctx context.Context, h deploy.Host, there platform) string {
	_, err := h.Run(ctx, deploy.Command{Name: "python", Argv: []string{"test", "-e", v.python.Interpreter}})
	switch {
	case err != nil:
		return `put the environment where all nodes see it (XDG_CACHE_HOME, or environment = "/shared/..."), or set environment_on = "node"`
	case there.machine != v.here.machine:
		return "reserve nodes of this machine's type, or make the environment on a node: esched env"
	case there.older(v.here):
		return "make the environment on a node, whose C library is older: esched env"
	}
	return v.python.Interpreter + " -c 'import distributed'"
}

// checkInterface looks for the network of the profile. Without facts of a
// Python the node is asked otherwise.
func (v *visit) checkInterface(ctx context.Context, h deploy.Host, facts *deploy.Facts) finding {
	const check = "network"
	if v.cluster.Interface == "" {
		return fine(check, "that of the name %s (the profile chooses no interface)", h.Name())
	}
	if facts == nil {
		out, err := h.Run(ctx, deploy.Command{Name: "addresses", Argv: []string{"ip", "-o", "address", "show", "up"}})
		if err != nil {
			return noted(check, "mend Python there, or install ip (iproute2) on the nodes", "%s not looked for: neither Python nor ip tell the addresses (%v)", v.cluster.Interface, err)
		}
		facts = &deploy.Facts{Interfaces: parseAddresses(string(out))}
	}
	address, name, err := facts.Address(v.cluster.Interface)
	if err != nil {
		return wrong(check, err, "set interface to one that all nodes have")
	}
	return fine(check, "%s (%s)", address, name)
}

// parseAddresses reads lines like "2: eth0    inet 10.77.1.1/16 scope global".
func parseAddresses(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[2], "inet") {
			continue
		}
		name, _, _ := strings.Cut(f[1], "@")
		address, _, _ := strings.Cut(f[3], "/")
		all[name] = append(all[name], address)
	}
	return all
}

// checkClock compares the clocks.
func (v *visit) checkClock(ctx context.Context, h deploy.Host) finding {
	const check = "clock"
	skew, err := deploy.MeasureSkew(ctx, h, v.Now)
	if err != nil {
		return noted(check, cmp.Or(hint.Of(err), "see what this says there: date"), "%v", err)
	}
	text := fmt.Sprintf("%+.3f s from ours, at most %.3f s more or less", skew.Ahead.Seconds(), skew.Error.Seconds())
	if skew.Ahead.Abs()-skew.Error > largeSkew {
		return noted(check, "ask the administrators for a time service (NTP) on both machines", "%s", text)
	}
	return fine(check, "%s", text)
}
