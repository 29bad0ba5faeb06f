package cmd

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/esched/esched/scheduler/sidekick"
)

// allCommands walks the tree, hidden ones left out.
func allCommands(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			allCommands(sub, visit)
		}
	}
}

func TestHelpTexts(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	allCommands(newRoot(&globals{Process: s.p}), func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(c.CommandPath())[1:], "--help")
			s := newShell(t)
			r := s.esched(args...)
			r.wants(t, 0, nil, nil)
			golden := filepath.Join("testdata", "help", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(r.stdout), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v (go test ./cmd -update writes it)", err)
			}
			if string(want) != r.stdout {
				t.Errorf("help changed (go test ./cmd -update accepts it); want\n%s\nhave\n%s", want, r.stdout)
			}
		})
	})
}

// TestEveryCommandSaysEnough holds what every command promises in its help.
func TestEveryCommandSaysEnough(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	allCommands(newRoot(&globals{Process: s.p}), func(c *cobra.Command) {
		name := c.CommandPath()
		if c.Short == "" || c.Short[0] >= 'A' && c.Short[0] <= 'Z' && !strings.HasPrefix(c.Short, "HTML") || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short text %q: want a lower-case phrase without a full stop", name, c.Short)
		}
		for _, code := range []string{"EXIT STATUS\n    0  ", "\n    1  ", "\n    2  "} { // any may be mistyped, or meet a full disk
			if !strings.Contains(c.Long, code) {
				t.Errorf("%s: no %q in its help", name, code)
			}
		}
		for line := range strings.Lines(c.Example) {
			if !strings.Contains(line, "esched") && !strings.Contains(line, "ESCHED") {
				t.Errorf("%s: example %q is no call of esched", name, strings.TrimSpace(line))
			}
		}
		if c.Example == "" || c.GroupID == "" && c.HasParent() {
			t.Errorf("%s: want an example and a group", name)
		}
		for line := range strings.Lines(c.Long) {
			if len(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%s: line longer than 80: %q", name, line)
			}
		}
	})
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want []string
	}{
		{"polices", []string{`esched: unknown command "polices"`, "\nTry: esched policies\n"}},
		{"frobnicate", []string{`unknown command "frobnicate"`, "Try: esched --help"}},
		{"version --jsno", []string{"unknown flag: --jsno", "Try: esched version --json"}},
		{"version --frobnicate", []string{"unknown flag: --frobnicate", "Try: esched version --help"}},
		{"version now", []string{`unexpected argument "now"`, "Try: esched version --help"}},
		{"serve", []string{"no socket", "Try: esched serve --socket"}},
		{"serve --socket s --slots deep", []string{`slots "deep" are neither adaptive nor stock`, "Try: --slots adaptive"}},
		{"serve --socket s --policy earlist-start", []string{`unknown policy "earlist-start"`, "Try: --policy earliest-start"}},
		{"serve --socket s --seed x", []string{"invalid argument", "Try: esched serve --help"}},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			t.Parallel()
			newShell(t).esched(strings.Fields(test.line)...).wants(t, 2, nil, test.want)
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("version").wants(t, 0, []string{"esched ", " go1."}, nil)
	var v version
	s.esched("version", "--json").into(t, &v)
	if v.Version == "" || v.Go == "" {
		t.Errorf("have %+v", v)
	}
}

// TestFullOutput sends facts where there is no room.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"version", "policies --json", "preload", "init --list --json"} {
		fd, err := syscall.Open("/dev/full", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		full := os.NewFile(uintptr(fd), os.Stdout.Name())
		s := newShell(t)
		p := s.p
		p.Args, p.Stdout = strings.Fields(line), full
		if code := execute(p, s.programs); code != 1 || !strings.Contains(s.err.String(), "no space left") || !strings.Contains(s.err.String(), "\nTry: free space") {
			t.Errorf("%s: exit %d, %s", line, code, s.err.String())
		}
		if err := full.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("policies").wants(t, 0, []string{"random\n", "earliest-start\n", "  minimises: ", "  source: "}, nil)
	var facts []policyFact
	s.esched("policies", "--json").into(t, &facts)
	if len(facts) < 5 || facts[0].Name != "random" || !facts[0].Seeded || facts[0].Doc == "" {
		t.Errorf("have %+v", facts)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, name := range []string{"bash", "zsh", "fish"} {
		s.esched("completion", name).wants(t, 0, []string{"esched"}, nil)
	}
	s.esched("completion", "tcsh").wants(t, 2, nil, []string{`unknown shell "tcsh"`, "Try: choose one of"})
	s.esched("__complete", "ver").wants(t, 0, []string{"version"}, []string{""})
	s.write("experiments.toml", tiny("default", `"dask"`, 1)+"[clusters.lab]\nkind = \"local\"\n")
	tests := []struct {
		line string
		want string // among the words offered
	}{
		{"run --cluster ", "lab"},
		{"plan missing.toml --cluster ", "local"},
		{"run --env ", "dask-2024.5"},
		{"run --resume ", "runs/one"},
		{"env ", "default"},
		{"init --preset ", "default"},
		{"serve --policy ", "earliest-start"},
	}
	madeRun(t, s, true)
	for _, test := range tests {
		args := append([]string{"__complete"}, strings.Split(test.line, " ")...)
		if have := strings.Fields(s.esched(args...).stdout); !slices.Contains(have, test.want) {
			t.Errorf("%q: want %s in %q", test.line, test.want, have)
		}
	}
}

func TestInit(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("init").wants(t, 0, []string{"wrote experiments.toml", "esched plan shows"}, nil)
	first := s.read("experiments.toml")
	if !strings.Contains(first, "[[workload]]") {
		t.Errorf("have %s", first)
	}
	s.esched("init").wants(t, 2, nil, []string{"experiments.toml exists already", "Try: ", "--force"})
	s.write("experiments.toml", "mine")
	s.esched("init", "--force").wants(t, 0, nil, nil)
	if s.read("experiments.toml") != first {
		t.Error("--force did not replace the file")
	}
	s.esched("init", "no/such/dir.toml").wants(t, 1, nil, []string{"no such file or directory", "Try: "})
	for _, cluster := range []string{"local", "slurm", "das6", "static"} {
		file := cluster + ".toml"
		s.esched("init", file, "--cluster", cluster).wants(t, 0, []string{"wrote " + file}, nil)
		text := s.read(file)
		_, tables, _ := strings.Cut(text, "\n[clusters.")
		if !strings.HasPrefix(tables, cluster+"]\n") || !strings.Contains(text, "\ncluster = \""+cluster+"\" ") {
			t.Errorf("--cluster %s: have %s", cluster, text)
		}
		s.esched("plan", file).wants(t, 0, []string{" on cluster " + cluster + ":"}, nil)
		lines := func(text string) []string { return slices.Sorted(strings.SplitSeq(text, "\n")) }
		if have, want := len(lines(text)), len(lines(first)); have != want {
			t.Errorf("--cluster %s: %d lines, the preset has %d", cluster, have, want)
		}
	}
	s.esched("init", "x.toml", "--cluster", "das9").wants(t, 2, nil, []string{"unknown cluster", "Try: did you mean \"das6\"?"})
	var made writtenExperiment
	s.esched("init", "json.toml", "--json").into(t, &made)
	if made.File != "json.toml" || made.Preset != "default" || s.read("json.toml") != first {
		t.Errorf("--json: have %+v", made)
	}
	var all []presetFact
	s.esched("init", "--list", "--json").into(t, &all)
	if len(all) < 2 || all[0].Name != "default" || all[0].Doc == "" {
		t.Errorf("--list --json: have %+v", all)
	}
	s.esched("init", "--preset", "nonsense").wants(t, 2, nil, []string{"unknown preset", "Try: choose one of"})
}

func TestGuardGivesItsExitCode(t *testing.T) {
	t.Parallel()
	newShell(t).esched("guard", "worker-1", "--strange").wants(t, 7, nil, nil)
}

func TestServe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir, err := s.p.privateDir("esched")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p := s.p
	p.Args = []string{"serve", "--socket", dir + "/s", "--policy", "random", "--slots", "stock", "--record", "frames", "--json"}
	code := make(chan int, 1)
	go func() { code <- Main(p) }()
	eventually(t, shortly, "ready line", func() bool { return strings.Contains(s.out.String(), `{"ready":"socket","path":"`+dir+"/s\"}\n") })
	dask, err := net.Dial("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer dask.Close()
	// A frame of one record: hello, with the protocol's version and saturation.
	said := append([]byte{13, 0, 0, 0, 1, sidekick.Version, 0, 0, 0}, make([]byte, 8)...)
	if _, err := dask.Write(said); err != nil {
		t.Fatal(err)
	}
	eventually(t, shortly, "what was chosen, in the record", func() bool {
		text, _ := os.ReadFile(s.p.path("frames"))
		return strings.HasPrefix(string(text), `{"version":2,"policy":"random","seed":1,"stock":true}`+"\n")
	})
	s.signals <- "SIGTERM"
	if c := <-code; c != 0 {
		t.Errorf("exit code %d: %s", c, s.err.String())
	}
	if _, err := os.Stat(dir + "/s"); err == nil {
		t.Error("the socket is still there")
	}
}

func TestEnvList(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("env", "--list").wants(t, 0, []string{"NAME", "default", "absent"}, nil)
	var all []struct{ Name, State string }
	s.esched("env", "--list", "--json").into(t, &all)
	if len(all) == 0 || all[0].Name != "default" {
		t.Errorf("have %+v", all)
	}
	s.esched("env", "nonsense").wants(t, 2, nil, []string{"nonsense", "Try: "})
	s.esched("env", "./nowhere").wants(t, 2, nil, []string{"nowhere", "Try: "})
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var found []finding
	r := s.esched("doctor", "--json")
	r.into(t, &found)
	if len(found) < 8 {
		t.Errorf("have %+v", found)
	}
	for _, f := range found {
		if f.State != stateOK && f.Mend == "" {
			t.Errorf("%s is %s without a mend: %s", f.Check, f.State, f.Found)
		}
	}

	s.env["PATH"] = ""
	s.p.Temp = "/" + strings.Repeat("long/", 30)
	s.write("file", "")
	r = s.esched("doctor", "--output", "file/runs")
	r.wants(t, 1, []string{"broken  python", "broken  sockets", "set TMPDIR", "broken  runs directory", "--output"}, nil)
	if strings.Contains(r.stdout, "\x1b") {
		t.Error("colour off a terminal")
	}
	s.p.StdoutTerminal = true
	if r := s.esched("doctor"); !strings.Contains(r.stdout, "\x1b[31mbroken") {
		t.Error("no colour on a terminal")
	}
	if r := s.esched("doctor", "--no-color"); strings.Contains(r.stdout, "\x1b") {
		t.Error("colour in spite of --no-color")
	}
	s.env["NO_COLOR"] = "1"
	if r := s.esched("doctor"); strings.Contains(r.stdout, "\x1b") {
		t.Error("colour in spite of NO_COLOR")
	}
}

func TestWorkloads(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("workloads").wants(t, 0, []string{"montecarlo  small, medium, paper", "esched workloads NAME"}, nil)
	var facts []workloadFact
	s.esched("workloads", "--json").into(t, &facts)
	if len(facts) == 0 || len(facts[0].Params) == 0 {
		t.Errorf("have %+v", facts)
	}
	for _, f := range facts {
		shown := s.esched("workloads", f.Name)
		for line := range strings.Lines(shown.stdout) {
			if len([]rune(line)) > textWidth+1 {
				t.Errorf("%s: a line of more than %d characters: %s", f.Name, textWidth, line)
			}
		}
		words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
		shown.stdout = words(shown.stdout)
		shown.wants(t, 0, []string{f.Doc, words(f.About), f.Result, f.Params[0].Doc, f.Sizes[0].Doc, f.References[0]}, nil)
		var alone workloadFact
		s.esched("workloads", f.Name, "--json").into(t, &alone)
		if alone.Name != f.Name || len(alone.Sizes) != len(f.Sizes) {
			t.Errorf("%s: have %+v alone", f.Name, alone)
		}
	}
	s.esched("workloads", "montecarlo").wants(t, 0, []string{"(int, 1 to 1000000000000, required)", "chunk = 100, simulations = 200000"}, nil)
	s.esched("workloads", "monte").wants(t, 2, nil, []string{`unknown workload "monte"`, "Try: esched workloads montecarlo"})
}
