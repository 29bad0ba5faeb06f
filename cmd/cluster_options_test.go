package cmd

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
)

// onCluster is an experiment of few lines with a cluster.
func onCluster(lines string) []byte {
	return []byte(`name = "x"
schedulers = ["dask"]
cluster = "c"

[[workload]]
name = "montecarlo"
simulations = 1000
chunk = 100

[clusters.c]
` + lines)
}

func TestClusterOptions(t *testing.T) {
	t.Parallel()
	p := Process{Dir: "/work", Home: "/home/alice", LookupEnv: func(name string) (string, bool) {
		value, set := map[string]string{"USER": "alice", "SBATCH_PARTITION": "night"}[name]
		return value, set
	}}
	g := &globals{Process: p, programs: builtin()}
	remote := clusterOptions{Name: "c", Launcher: "ssh", Scratch: "/tmp", EnvironmentOn: "shared",
		SchedulerNode: "shared", BadNodes: "exclude", Claims: 1, QueueWait: 12 * time.Hour, Silence: 30 * time.Second}
	with := func(change func(o *clusterOptions)) clusterOptions {
		o := remote
		change(&o)
		return o
	}
	for _, c := range []struct {
		name, lines string
		want        clusterOptions
	}{
		{"local", `kind = "local"`, clusterOptions{Name: "c", Kind: "local", Claims: 1}},
		{"slurm", `kind = "slurm"`, with(func(o *clusterOptions) { o.Kind, o.Partition = "slurm", "night" })},
		{"das", `kind = "das"`, with(func(o *clusterOptions) {
			o.Kind, o.Partition, o.MaxClaim, o.WorkingHours = "das", "night", 15*time.Minute, clockWindow{8 * time.Hour, 20 * time.Hour}
		})},
		{"static", "kind = \"static\"\nhosts = [\"n[1-3]\", \"head\"]", with(func(o *clusterOptions) {
			o.Kind, o.Hosts = "static", []string{"n1", "n2", "n3", "head"}
		})},
		{"one host", "kind = \"static\"\nhosts = \"n1\"", with(func(o *clusterOptions) { o.Kind, o.Hosts = "static", []string{"n1"} })},
		{"all of slurm", `kind = "slurm"
partition = "defq"
account = "project"
constraint = "cpunode&ib"
native = ["--mem=0", "-C gpu"]
launcher = "srun"
user = "bob"
ssh_config = "~/.ssh/nodes"
interface = "10.149.0.0/16"
scratch = "/local/$USER/x"
environment_on = "node"
scheduler_node = "own"
bad_nodes = "stop"
max_nodes = 4
max_claim = 900
working_hours = "00:30-24:00"
claims = 3
queue_wait = "1h"
silence = "00:01:00"
`, clusterOptions{Name: "c", Kind: "slurm", Partition: "defq", Account: "project", Constraint: "cpunode&ib",
			Native: []string{"--mem=0", "-C gpu"}, Launcher: "srun", User: "bob", SSHConfig: "/home/alice/.ssh/nodes",
			Interface: "10.149.0.0/16", Scratch: "/local/bob/x", EnvironmentOn: "node", SchedulerNode: "own", BadNodes: "stop",
			MaxNodes: 4, MaxClaim: 15 * time.Minute, WorkingHours: clockWindow{30 * time.Minute, 24 * time.Hour},
			Claims: 3, QueueWait: time.Hour, Silence: time.Minute}},
		{"own configuration beside the experiment", "kind = \"slurm\"\nssh_config = \"nodes.conf\"\nscratch = \"/local/$USER\"",
			with(func(o *clusterOptions) {
				o.Kind, o.Partition, o.SSHConfig, o.Scratch = "slurm", "night", "/work/mine/nodes.conf", "/local/alice"
			})},
	} {
		e, err := runners.Load("mine/experiments.toml", onCluster(c.lines), g.catalog(""))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if have := p.clusterOptions(e.Cluster); !reflect.DeepEqual(have, c.want) {
			t.Errorf("%s:\nwant %+v\nhave %+v", c.name, c.want, have)
		}
	}
}

func TestClusterMistakes(t *testing.T) {
	t.Parallel()
	g := &globals{programs: builtin()}
	for _, c := range []struct {
		lines string
		want  string // the place and reason
		try   string
	}{
		{"kind = \"slrum\"", `:11: [clusters.c]: unknown kind "slrum"`, `did you mean "slurm"?`},
		{"kind = \"slurm\"\nlauncher = \"shs\"", `:12: [clusters.c]: unknown launcher "shs"`, `did you mean "ssh"?`},
		{"kind = \"das\"\nlauncher = \"srun\"", `:12: [clusters.c]: unknown launcher "srun"`, `"prun"`},
		{"kind = \"slurm\"\nhosts = \"n1\"", `:12: [clusters.c]: unknown key "hosts"`, ""},
		{"kind = \"slurm\"\nqueue_wiat = 5", `:12: [clusters.c]: unknown key "queue_wiat"`, `did you mean "queue_wait"?`},
		{"kind = \"local\"\nuser = \"bob\"", `:12: [clusters.c]: unknown key "user"`, ""},
		{"kind = \"static\"", `:10: [clusters.c]: hosts is missing`, "hosts = "},
		{"kind = \"static\"\nhosts = []", `:12: [clusters.c]: hosts is an empty list`, ""},
		{"kind = \"static\"\nhosts = [\"n1\", \"n[3-1]\"]", `:12: [clusters.c]: hosts: host expression "n[3-1]"`, "node[001-004,007]"},
		{"kind = \"static\"\nhosts = [\"n1\", \"n[1-2]\"]", `:12: [clusters.c]: hosts: n1 is there twice`, "once"},
		{"kind = \"static\"\nhosts = [\"n1\"]\nscheduler_node = \"own\"", `:13: [clusters.c]: scheduler_node = "own" needs a second node`, "shared"},
		{"kind = \"slurm\"\nnative = [\"mem=0\"]", `:12: [clusters.c]: native: "mem=0" is no option`, "--exclusive"},
		{"kind = \"slurm\"\nnative = [true]", `:12: [clusters.c]: native is true or false, not text`, ""},
		{"kind = \"slurm\"\npartition = \"-x\"", `:12: [clusters.c]: partition: "-x" is not one word`, "'-'"},
		{"kind = \"slurm\"\ninterface = \"ib 0\"", `:12: [clusters.c]: interface: "ib 0" is neither`, "ib0"},
		{"kind = \"slurm\"\nscratch = \"$HOME/x\"", `:12: [clusters.c]: scratch: "$HOME/x" is no absolute directory`, "$USER"},
		{"kind = \"slurm\"\nmax_claim = \"15:00\"", `:12: [clusters.c]: max_claim = "15:00" is not of the form HH:MM:SS`, "00:01:30"},
		{"kind = \"slurm\"\nmax_claim = 0", `:12: [clusters.c]: max_claim = 0 is less`, "1s"},
		{"kind = \"slurm\"\nworking_hours = \"20:00-08:00\"", `:12: [clusters.c]: working_hours: "20:00-08:00" is no part of a day`, "08:00-20:00"},
		{"kind = \"slurm\"\nworking_hours = \"08:00-20:00\"", `:12: [clusters.c]: working_hours without max_claim`, "max_claim"},
		{"kind = \"slurm\"\nclaims = 0", `:12: [clusters.c]: claims = 0 is less`, "from 1"},
		{"kind = \"slurm\"\nmax_nodes = 2.5", `:12: [clusters.c]: max_nodes is a number with a fraction`, "whole"},
		{"kind = \"local\"\n[clusters.d]\nkind = \"slurm\"\nbad_nodes = \"no\"", `:14: [clusters.d]: unknown bad_nodes "no"`, "exclude"},
	} {
		_, err := runners.Load("experiments.toml", onCluster(c.lines), g.catalog(""))
		if err == nil {
			t.Errorf("%q: want a mistake", c.lines)
			continue
		}
		if !strings.HasPrefix(err.Error(), "experiments.toml"+c.want) || !strings.Contains(hint.Of(err), c.try) || hint.Exit(err) != hint.ExitUsage {
			t.Errorf("%q:\nhave %v\nTry: %s (exit %d)", c.lines, err, hint.Of(err), hint.Exit(err))
		}
	}
}

func TestClusterTooSmall(t *testing.T) {
	t.Parallel()
	g := &globals{programs: builtin()}
	for _, c := range []struct{ lines, want string }{
		{"kind = \"static\"\nhosts = \"n[1-2]\"", "has at most 2, not 3"},
		{"kind = \"static\"\nhosts = \"n[1-3]\"\nscheduler_node = \"own\"", "has at most 2, not 3"},
		{"kind = \"static\"\nhosts = \"n[1-4]\"\nmax_nodes = 2", "has at most 2, not 3"},
		{"kind = \"slurm\"\nmax_nodes = 2", "has at most 2, not 3"},
		{"kind = \"slurm\"", ""},
	} {
		text := append([]byte("nodes = 3\n"), onCluster(c.lines)...)
		_, err := runners.Load("experiments.toml", text, g.catalog(""))
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: want %q, have %v", c.lines, c.want, err)
		}
	}
}
