package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/runners"
	"github.com/esched/esched/runners/record"
	"github.com/esched/esched/workloads/presets"
)

// presetMark begins the name of a preset where a file is named: "@NAME".
const presetMark = "@"

// selection says which trials of which experiment a command is about.
type selection struct {
	File    string
	Cluster string
	Only    string
	Env     string
	Seed    int64

	// given are the flags of the command line, text is the experiment when its
	// file is gone and only a run still has it.
	given *pflag.FlagSet
	text  string
}

func (s *selection) addFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Cluster, "cluster", "", "cluster to use, instead of the experiment's")
	f.StringVar(&s.Only, "only", "", "only the trials that meet these conditions: 'workload=montecarlo,workers>=2'")
	f.StringVar(&s.Env, "env", "", "Python environment, a name or a path, instead of the experiment's")
	f.Int64Var(&s.Seed, "seed", 0, "seed, instead of the experiment's")
}

// load reads the experiment and lays out its plan.
func (s *selection) load(g *globals) (*runners.Experiment, *runners.Plan, error) {
	file := s.File
	if file == "" {
		file = defaultFile
	}
	text := []byte(s.text)
	if name, isPreset := strings.CutPrefix(file, presetMark); isPreset && s.text == "" {
		var err error
		if text, err = presets.Get(name); err != nil {
			return nil, nil, err
		}
	} else if s.text == "" {
		var err error
		text, err = g.readFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			mend := "esched init, or name another file"
			if s.File != "" {
				mend = "name an experiment file; esched init writes one"
			}
			return nil, nil, usageError(mend, "experiment %s: no such file", file)
		case err != nil:
			return nil, nil, usageError("name an experiment file that you can read", "experiment: %w", err)
		}
	}
	catalog := g.catalog(file)
	catalog.FindProgram = g.findProgram(file)
	catalog.Cluster = s.Cluster
	e, err := runners.Load(file, text, catalog)
	if err != nil {
		return nil, nil, err
	}
	if e, err = s.override(g, e); err != nil {
		return nil, nil, err
	}
	plan := runners.BuildPlan(e)
	if s.Only == "" {
		return e, plan, nil
	}
	plan, err = plan.Only(s.Only)
	return e, plan, err
}

// override puts the choices of the command line in the place of the file's.
func (s *selection) override(g *globals, e *runners.Experiment) (*runners.Experiment, error) {
	if s.Cluster != "" {
		var err error
		if e, err = e.OnCluster(s.Cluster); err != nil {
			return nil, err
		}
	}
	if s.Env != "" {
		if err := g.checkEnvironment(s.Env); err != nil {
			return nil, err
		}
		e.Environment = s.Env
		if strings.ContainsRune(s.Env, '/') {
			e.Environment = g.path(s.Env)
		}
	}
	if s.Seed != 0 {
		if s.Seed < 0 {
			return nil, usageError("--seed 1", "seed %d is negative", s.Seed)
		}
		e.Seed = s.Seed
	}
	return e, nil
}

// inherit takes over what the first session of a run was given, where this
// command line says nothing else.
func (o *runOptions) inherit(g *globals, first record.Manifest) {
	before := runOptions{globals: g}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true // of another version
	before.addFlags(flags)
	if len(first.Command) > 2 {
		_ = flags.Parse(first.Command[2:]) // what cannot be understood is not taken over
	}
	ownEnv, ownTrace := o.given.Changed("env"), o.given.Changed("trace")
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "resume" && f.Name != "detach" && f.Name != "conductor" && f.Name != "json" && !o.given.Changed(f.Name) {
			_ = o.given.Set(f.Name, f.Value.String()) // it is one of the same flags
		}
	})
	if !ownTrace && first.Trace > 0 { // it may be of a later session than the first command line
		o.Trace = first.Trace
	}
	if strings.ContainsRune(o.Env, '/') && !ownEnv && len(first.Plan) > 0 {
		o.Env = first.Plan[0].Environment // absolute: the directory may be another one now
	}
	if o.File != "" {
		return
	}
	o.File = first.ExperimentPath
	if _, err := g.stat(o.File); err != nil {
		o.text = first.Experiment
	}
}

// checkEnvironment refuses a name that no environment has. A path is looked
// at when it is used.
func (g *globals) checkEnvironment(name string) error {
	names := pyenv.Names()
	if strings.ContainsRune(name, '/') || slices.Contains(names, name) {
		return nil
	}
	return hint.WithExit(hint.With(fmt.Errorf("unknown environment %q", name),
		"choose one of: "+strings.Join(names, ", ")+", or give a path with a slash in it"), hint.ExitUsage)
}
