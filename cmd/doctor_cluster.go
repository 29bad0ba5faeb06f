package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/runners"
)

// checkup is the examination of a cluster for one experiment.
type checkup struct {
	doctorOptions
	experiment *runners.Experiment
	plan       *runners.Plan
	cluster    clusterOptions
	chosen     []string // hosts of --nodes
	implied    bool     // nobody named the experiment: it is the one that a run would take
}

// clusterToCheck reads the experiment whose cluster is to be checked; nil when
// only this machine is.
func (o doctorOptions) clusterToCheck() (*checkup, error) {
	implied := o.File == "" && o.Cluster == ""
	if _, err := o.stat(defaultFile); implied && err != nil {
		return nil, o.needsNoCluster()
	}
	e, plan, err := o.selection.load(o.globals)
	if err != nil {
		return nil, err
	}
	c := &checkup{doctorOptions: o, experiment: e, plan: plan, cluster: o.clusterOptions(e.Cluster), implied: implied}
	if implied && !c.cluster.remote() {
		return nil, o.needsNoCluster()
	}
	if o.Nodes == "" {
		return c, nil
	}
	if c.cluster.Kind != clusterStatic {
		return nil, usageError("--reserve", "--nodes is for clusters of kind static: of others a queue chooses the nodes")
	}
	return c, c.chooseHosts()
}

// needsNoCluster refuses options that are about clusters.
func (o doctorOptions) needsNoCluster() error {
	if o.Reserve || o.Nodes != "" {
		return usageError("name a cluster with --cluster", "--reserve and --nodes are about clusters")
	}
	return nil
}

// queueLimit bounds one question to a queue. SLURM's own commands give up after
// about ten seconds.
const queueLimit = 30 * time.Second

// check looks at the cluster from here, and then at nodes of it.
func (c *checkup) check(ctx context.Context) []finding {
	o := c.cluster
	if !o.remote() {
		return []finding{fine("cluster", "%s is this machine", o.Name)}
	}
	how := o.Launcher
	if how == launcherSSH && o.SSHConfig != "" {
		how += " -F " + o.SSHConfig
	}
	all := []finding{fine("cluster", "%s of kind %s, processes start by %s", o.Name, o.Kind, how)}
	commands, complete := c.checkCommands()
	all = append(all, commands...)
	if complete {
		all = append(all, c.checkQueue(ctx)...)
	}
	all = append(all, c.checkHours())
	if complete {
		all = append(all, c.checkReservation(ctx))
	}
	var names []string
	if complete {
		names = c.nodeNames(ctx)
	}
	if o.Launcher == launcherSSH {
		all = append(all, c.checkSSH(ctx, names)...)
		all = append(all, c.checkStartup(ctx)...)
	}
	if !complete && o.Launcher != launcherSSH {
		return all
	}
	return append(all, c.checkNodes(ctx)...)
}

// needed are the programs without which the cluster cannot be used.
func (o clusterOptions) needed() []string {
	var all []string
	switch o.Kind {
	case clusterSLURM:
		all = []string{"sbatch", "squeue", "scancel", "sinfo"}
	case clusterDAS:
		all = []string{"preserve"}
	}
	if o.Launcher == launcherSrun || o.Launcher == launcherPrun {
		all = append(all, o.Launcher)
	}
	return all
}

// checkCommands looks for the queue's commands, and tells whether they are all
// there.
func (c *checkup) checkCommands() (all []finding, complete bool) {
	var found, missing []string
	for _, name := range c.cluster.needed() {
		if path, err := c.LookPath(name); err == nil {
			found = append(found, path)
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		module := "slurm"
		if c.cluster.Kind == clusterDAS {
			module = "prun"
		}
		mend := "run esched on the head node of the cluster, after: module load " + module
		if c.env("MODULESHOME") == "" && c.env("LMOD_CMD") == "" {
			mend += " (where the shell knows no module: . /etc/profile first)"
		}
		text := strings.Join(missing, ", ") + " not on PATH"
		if loaded := c.env("LOADEDMODULES"); loaded != "" {
			text += "; modules loaded: " + strings.ReplaceAll(loaded, ":", ", ")
		}
		return []finding{broken("queue commands", mend, "%s", text)}, false
	}
	if len(found) == 0 {
		return nil, true // a host list has no queue
	}
	return []finding{fine("queue commands", "%s", strings.Join(found, ", "))}, true
}

// ask asks a program of the queue and returns what it printed.
func (c *checkup) ask(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, queueLimit, fmt.Errorf("no answer within %v", queueLimit))
	defer cancel()
	out, complaint, err := c.exec(ctx, argv)
	if err == nil {
		return string(out), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if said := oneLine(string(complaint)); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return string(out), fmt.Errorf("%s: %w", argv[0], err)
}

// checkQueue finds out whether the queue answers.
func (c *checkup) checkQueue(ctx context.Context) []finding {
	question := []string{"squeue", "--noheader", "--user=" + c.login(""), "--format=%i"}
	switch c.cluster.Kind {
	case clusterStatic:
		return nil
	case clusterDAS:
		question = []string{"preserve", "-llist"}
	}
	began := c.Now()
	out, err := c.ask(ctx, question...)
	if err != nil {
		return []finding{broken("queue", "see what this says: "+strings.Join(question, " "), "%v", err)}
	}
	text := fmt.Sprintf("answers in %.1f s", c.Now().Sub(began).Seconds())
	if c.cluster.Kind == clusterSLURM {
		text += fmt.Sprintf(", %d job(s) of yours", len(strings.Fields(out)))
	}
	return []finding{fine("queue", "%s", text)}
}

// checkHours compares the experiment's claim with the site's hours.
func (c *checkup) checkHours() finding {
	const check = "time policy"
	policy, claim, now := c.cluster.timePolicy(), c.experiment.ClaimTime, c.Now()
	if policy.MaxClaim <= 0 {
		return fine(check, "the profile sets no limit to claims (max_claim)")
	}
	rule := fmt.Sprintf("up to %v in working hours", policy.MaxClaim)
	begin, reason := c.cluster.mayBegin(now, claim)
	switch {
	case reason == nil:
		return fine(check, "a claim of %v may begin now; %s", claim, rule)
	case !begin.IsZero():
		return noted(check, hint.Of(reason), "a claim of %v waits until %s (claims = %d); %s", claim, begin.Format("Mon 2006-01-02 15:04"), c.cluster.Claims, rule)
	}
	return wrong(check, reason, "set a shorter claim_time")
}

// rehearser is a queue that tells whether it would accept a request.
type rehearser interface {
	Rehearse(ctx context.Context, q reserve.Request) (start time.Time, err error)
}

// rehearse asks a queue as much as can be asked without a reservation.
func rehearse(ctx context.Context, r reserve.Reserver, q reserve.Request) (start time.Time, err error) {
	if able, ok := r.(rehearser); ok {
		return able.Rehearse(ctx, q)
	}
	return start, r.Check(ctx, q)
}

// checkReservation finds out whether the experiment's reservation is possible.
// The site's hours are another check.
func (c *checkup) checkReservation(ctx context.Context) finding {
	const check = "reservation"
	o := c.cluster
	o.MaxClaim = 0
	reserver, err := c.newReserver(o)
	if err != nil {
		return wrong(check, err, "")
	}
	q := o.request(c.experiment, c.plan, c.path(c.Output))
	what := fmt.Sprintf("%d node(s) for %v", q.Nodes, q.Claim)
	start, err := rehearse(ctx, reserver, q)
	if err != nil {
		return wrong(check, err, "ask for fewer nodes")
	}
	if _, rehearses := reserver.(rehearser); !rehearses {
		return fine(check, "nothing speaks against %s", what)
	}
	if wait := start.Sub(c.Now()); wait > time.Minute {
		what += ", which would begin at " + start.Format("Mon 15:04")
	}
	return fine(check, "the queue would accept %s", what)
}

// nodeNames are the nodes that may be granted, as far as that can be known
// without a reservation.
func (c *checkup) nodeNames(ctx context.Context) []string {
	if c.cluster.Kind == clusterStatic {
		return c.cluster.Hosts
	}
	question := []string{"sinfo", "--noheader", "--Node", "--format=%N"}
	if c.cluster.Partition != "" {
		question = append(question, "--partition="+c.cluster.Partition)
	}
	out, err := c.ask(ctx, question...)
	if err != nil && !notFound(err) {
		return nil // the checks of the queue tell why
	}
	var names []string
	seen := map[string]bool{}
	for name := range strings.FieldsSeq(out) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// keptText is a file of the user's, "" when it cannot be read.
func (p Process) keptText(elements ...string) string {
	text, _ := p.readFile(filepath.Join(append([]string{p.Home}, elements...)...))
	return string(text)
}
