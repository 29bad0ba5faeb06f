package cmd

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
	queue "github.com/esched/esched/reserve/local"
	"github.com/esched/esched/runners"
)

// Defaults of clusters.
const (
	// defaultQueueWait is long: a queue that grants nothing for half a day is a
	// matter for people.
	defaultQueueWait = 12 * time.Hour
	// dasClaim is the usage policy of DAS clusters in working hours.
	dasClaim     = 15 * time.Minute
	workingHours = "08:00-20:00"
	maxClaims    = 1000
	// usualSilence outlasts a busy node's pauses; leastSilence, in seconds, is
	// what sparse signs of life on a slow link still allow.
	usualSilence = 30 * time.Second
	leastSilence = 5
)

// clusterKinds tells the experiment file's reader which clusters there are.
func clusterKinds() []runners.ClusterEntry {
	claims := runners.Parameter{Name: "claims", Type: runners.Int, Min: 1, Max: maxClaims, Default: int64(1)}
	return []runners.ClusterEntry{
		{Name: clusterLocal, MaxNodes: queue.Nodes, Options: []runners.Parameter{claims,
			{Name: "tls", Type: runners.Bool, Default: false}}},
		{Name: clusterStatic, Limit: limitNodes, Check: checkCluster, Options: slices.Concat(
			[]runners.Parameter{{Name: "hosts", Type: runners.Texts, Check: checkHosts, Required: true}},
			nodeOptions(launcherSSH), claimOptions(nil, nil), []runners.Parameter{claims})},
		{Name: clusterSLURM, Limit: limitNodes, Check: checkCluster, Options: slices.Concat(
			queueOptions(), nodeOptions(launcherSSH, launcherSrun), claimOptions(nil, nil), []runners.Parameter{claims})},
		{Name: clusterDAS, Limit: limitNodes, Check: checkCluster, Options: slices.Concat(
			queueOptions(), nodeOptions(launcherSSH, launcherPrun), claimOptions(dasClaim, workingHours), []runners.Parameter{claims})},
	}
}

// queueOptions are handed to a queue.
func queueOptions() []runners.Parameter {
	return []runners.Parameter{
		{Name: "partition", Type: runners.String, Check: checkWord},
		{Name: "account", Type: runners.String, Check: checkWord},
		{Name: "constraint", Type: runners.String, Check: checkWord},
		{Name: "native", Type: runners.Texts, Check: checkNative},
	}
}

// nodeOptions say how nodes are used.
func nodeOptions(launchers ...string) []runners.Parameter {
	return []runners.Parameter{
		{Name: "launcher", Type: runners.String, Choices: launchers, Default: launchers[0]},
		{Name: "user", Type: runners.String, Check: checkWord},
		{Name: "ssh_config", Type: runners.String},
		{Name: "interface", Type: runners.String, Check: checkInterface},
		{Name: "scratch", Type: runners.String, Check: checkScratch, Default: "/tmp"},
		{Name: "environment_on", Type: runners.String, Choices: []string{onShared, onNode}, Default: onShared},
		{Name: "scheduler_node", Type: runners.String, Choices: []string{schedulerShared, schedulerOwn}, Default: schedulerShared},
		{Name: "bad_nodes", Type: runners.String, Choices: []string{badExclude, badStop}, Default: badExclude},
		{Name: "max_nodes", Type: runners.Int, Min: 1, Max: 10_000},
		{Name: "silence", Type: runners.Duration, Min: leastSilence, Default: usualSilence},
	}
}

// claimOptions bound claims and the wait for them.
func claimOptions(claim, hours any) []runners.Parameter {
	return []runners.Parameter{
		{Name: "max_claim", Type: runners.Duration, Min: 1, Default: claim},
		{Name: "working_hours", Type: runners.String, Check: checkClockWindow, Default: hours},
		{Name: "queue_wait", Type: runners.Duration, Min: 1, Default: defaultQueueWait},
	}
}

// limitNodes is how many nodes of a cluster may execute tasks.
func limitNodes(options map[string]any) int {
	o := Process{}.clusterOptionsOf(options)
	most := o.MaxNodes
	if n := len(o.Hosts); n > 0 && (most == 0 || n < most) {
		most = n
	}
	if most == 0 {
		return 0
	}
	// One node whose scheduler wants it alone executes nothing; the file's
	// check tells so, and 0 would mean no limit.
	return max(o.executing(most), 1)
}

// checkCluster says what is wrong with options together.
func checkCluster(options map[string]any) (string, error) {
	o := Process{}.clusterOptionsOf(options)
	texts, _ := options["hosts"].([]string)
	hosts, _ := expandAll(texts)
	for i, h := range hosts {
		if slices.Contains(hosts[:i], h) {
			return "hosts", hint.With(fmt.Errorf("hosts: %s is there twice", h), "name each host once")
		}
	}
	if o.SchedulerNode == schedulerOwn && (o.MaxNodes == 1 || len(hosts) == 1) {
		return "scheduler_node", hint.With(errors.New(`scheduler_node = "own" needs a second node, and there is only one`),
			`allow more nodes, or set scheduler_node = "shared"`)
	}
	if _, given := options["working_hours"]; given && o.MaxClaim == 0 {
		return "working_hours", hint.With(errors.New("working_hours without max_claim bound nothing"),
			`add a line such as: max_claim = "00:15:00"`)
	}
	return "", nil
}

// clusterOptionsOf reads options whose cluster is not known yet.
func (p Process) clusterOptionsOf(options map[string]any) clusterOptions {
	p.LookupEnv = func(string) (string, bool) { return "", false }
	return p.clusterOptions(runners.Cluster{Options: options})
}

func checkHosts(text string) error {
	_, err := reserve.ExpandHosts(text)
	return hint.With(err, `write hosts like "node001" or "node[001-004,007]"`)
}

func expandAll(expressions []string) ([]string, error) {
	var hosts []string
	for _, e := range expressions {
		more, err := reserve.ExpandHosts(e)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, more...)
	}
	return hosts, nil
}

// checkWord accepts what can be one value on a queue's or ssh's command line.
func checkWord(text string) error {
	if strings.HasPrefix(text, "-") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return hint.With(fmt.Errorf("%q is not one word", text), "write it without spaces and without a leading '-'")
	}
	return nil
}

func checkNative(text string) error {
	if !strings.HasPrefix(text, "-") || strings.ContainsAny(text, "\n\r\x00") {
		return hint.With(fmt.Errorf("%q is no option", text), `write one option in each text, as in ["--exclusive", "--mem=0"]`)
	}
	return nil
}

var interfaceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@:-]{0,14}$`)

func checkInterface(text string) error {
	if _, err := netip.ParsePrefix(text); err == nil || interfaceName.MatchString(text) {
		return nil
	}
	return hint.With(fmt.Errorf("%q is neither an interface nor a network", text),
		`write a name such as "ib0", or a network such as "10.149.0.0/16"`)
}

func checkScratch(text string) error {
	plain := strings.ReplaceAll(text, "$USER", "user")
	if path.IsAbs(plain) && path.Clean(plain) != "/" && !strings.ContainsAny(plain, "$~\n\r\x00'\"") {
		return nil
	}
	return hint.With(fmt.Errorf("%q is no absolute directory", text), `write a path such as "/local/$USER"; only $USER is replaced`)
}

func checkClockWindow(text string) error {
	_, err := parseClockWindow(text)
	return err
}

var clockWindowForm = regexp.MustCompile(`^\d\d:\d\d-\d\d:\d\d$`)

// parseClockWindow reads "08:00-20:00". Such a part of a day does not go past
// midnight; its end may be 24:00.
func parseClockWindow(text string) (clockWindow, error) {
	var from, fromMinute, to, toMinute int
	good := clockWindowForm.MatchString(text)
	if good {
		_, err := fmt.Sscanf(text, "%d:%d-%d:%d", &from, &fromMinute, &to, &toMinute)
		good = err == nil && fromMinute < 60 && toMinute < 60
	}
	w := clockWindow{
		From: time.Duration(from)*time.Hour + time.Duration(fromMinute)*time.Minute,
		To:   time.Duration(to)*time.Hour + time.Duration(toMinute)*time.Minute,
	}
	if !good || w.From >= w.To || w.To > 24*time.Hour {
		return clockWindow{}, hint.With(fmt.Errorf("%q is no part of a day", text), `write it as "08:00-20:00", the earlier time first`)
	}
	return w, nil
}
