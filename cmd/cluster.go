package cmd

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/deploy"
	queue "github.com/esched/esched/reserve/local"
	"github.com/esched/esched/reserve/slurm"
	"github.com/esched/esched/runners"
)

// The kinds of clusters.
const (
	clusterLocal  = queue.Kind
	clusterStatic = "static"
	clusterSLURM  = "slurm"
	clusterDAS    = "das"
)

// Values of the options of clusters.
const (
	launcherSSH  = "ssh"
	launcherSrun = "srun"
	launcherPrun = "prun"

	onShared = "shared" // environment_on: one path that all nodes see
	onNode   = "node"   // environment_on: a copy on each node

	schedulerShared = "shared" // scheduler_node: the first node has workers, too
	schedulerOwn    = "own"    // scheduler_node: the first node has none

	badExclude = "exclude" // bad_nodes: go on without them
	badStop    = "stop"    // bad_nodes: end the run
)

// clusterOptions are the options of a table [clusters.NAME], complete with
// defaults. It is read-only.
type clusterOptions struct {
	// Name is the profile's, Kind one of the clusters' kinds.
	Name, Kind string
	// Hosts are the nodes of a static cluster, expanded.
	Hosts []string
	// Partition, Account and Constraint are the queue's words, "" for its
	// defaults; a default partition of the user's is filled in. Native are further options, handed to it as they are.
	Partition, Account, Constraint string
	Native                         []string
	// Launcher starts processes on nodes: "ssh", "srun" or "prun"; "" on the
	// local cluster. User is the login name on the nodes, SSHConfig the absolute
	// path of a configuration file for ssh; "" for ssh's defaults.
	Launcher, User, SSHConfig string
	// Interface is the network of the experiment's traffic: an interface's name
	// or a CIDR; "" for the one that the node's name belongs to.
	Interface string
	// Scratch is an absolute directory on each node, "$USER" replaced.
	Scratch string
	// EnvironmentOn, SchedulerNode and BadNodes are each one of two constants
	// above.
	EnvironmentOn, SchedulerNode, BadNodes string
	// TLS asks for encryption on the local cluster; on others there always is.
	TLS bool
	// MaxNodes bounds what may be reserved at once, 0 for no bound.
	MaxNodes int
	// MaxClaim is the longest claim in working hours (Monday to Friday), 0 for
	// no bound.
	MaxClaim     time.Duration
	WorkingHours clockWindow
	// Claims is how many claims in a row the run may make.
	Claims int
	// QueueWait bounds the wait for the nodes of one claim.
	QueueWait time.Duration
	// Silence is how long a node may say nothing until it is given up, and how
	// long processes on it outlive a silent esched.
	Silence time.Duration
}

// clockWindow is a part of the day, both ends as time since midnight.
type clockWindow struct{ From, To time.Duration }

// clusterOptions gives the options of a cluster names and types.
func (p Process) clusterOptions(c runners.Cluster) clusterOptions {
	text := func(name string) string { s, _ := c.Options[name].(string); return s }
	texts := func(name string) []string { s, _ := c.Options[name].([]string); return s }
	whole := func(name string) int { n, _ := c.Options[name].(int64); return int(n) }
	length := func(name string) time.Duration { d, _ := c.Options[name].(time.Duration); return d }
	o := clusterOptions{
		Name: c.Name, Kind: c.Kind, Native: texts("native"),
		Partition: text("partition"), Account: text("account"), Constraint: text("constraint"),
		Launcher: text("launcher"), User: text("user"), Interface: text("interface"),
		EnvironmentOn: text("environment_on"), SchedulerNode: text("scheduler_node"), BadNodes: text("bad_nodes"),
		MaxNodes: whole("max_nodes"), MaxClaim: length("max_claim"),
		Claims: max(whole("claims"), 1), QueueWait: length("queue_wait"), Silence: length("silence"),
	}
	o.TLS, _ = c.Options["tls"].(bool)
	o.Hosts, _ = expandAll(texts("hosts"))                      // checked when the file was read
	o.WorkingHours, _ = parseClockWindow(text("working_hours")) // likewise
	if path := text("ssh_config"); path != "" {
		o.SSHConfig = p.beside(filepath.Dir(p.path(c.File)), path)
	}
	if o.Partition == "" && (o.Kind == clusterSLURM || o.Kind == clusterDAS) {
		o.Partition = p.env(slurm.Partition)
	}
	o.Scratch = strings.ReplaceAll(text("scratch"), "$USER", p.login(o.User))
	return o
}

// login is the user's name on the nodes.
func (p Process) login(given string) string {
	for _, name := range []string{given, p.env("USER"), p.env("LOGNAME")} {
		if name != "" {
			return name
		}
	}
	return strconv.Itoa(p.UID)
}

// nativeArguments are the native options as arguments of a command: a short
// option and its value, "-C cpunode", are two.
func (o clusterOptions) nativeArguments() []string {
	var argv []string
	for _, text := range o.Native {
		if option, value, ok := strings.Cut(text, " "); ok && !strings.HasPrefix(text, "--") {
			argv = append(argv, option, strings.TrimSpace(value))
			continue
		}
		argv = append(argv, text)
	}
	return argv
}

// remote tells whether the nodes are other machines than this one.
func (o clusterOptions) remote() bool { return o.Kind != clusterLocal }

// contact is the rung of the ladder that a node reaches when it answers: it has
// the name of the launcher by which it did.
func (o clusterOptions) contact() deploy.Rung {
	if o.Launcher == "" {
		return deploy.RungSSH
	}
	return deploy.Rung(o.Launcher)
}

// reserved is the number of nodes to reserve so that so many execute tasks.
func (o clusterOptions) reserved(nodes int) int {
	if o.SchedulerNode == schedulerOwn {
		nodes++
	}
	return nodes
}

// executing is the number of nodes that execute tasks when so many are
// reserved: the inverse of reserved.
func (o clusterOptions) executing(nodes int) int {
	return max(nodes-(o.reserved(1)-1), 0)
}
