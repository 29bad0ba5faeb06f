package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
		if !c.HasParent() {
			return
		}
		name := c.CommandPath()
		if c.Short == "" || c.Short[0] >= 'A' && c.Short[0] <= 'Z' && !strings.HasPrefix(c.Short, "HTML") || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short text %q: want a lower-case phrase without a full stop", name, c.Short)
		}
		if !strings.Contains(c.Long, "EXIT STATUS\n    0  ") {
			t.Errorf("%s: no EXIT STATUS in its help", name)
		}
		for line := range strings.Lines(c.Example) {
			if !strings.Contains(line, "esched") && !strings.Contains(line, "ESCHED") {
				t.Errorf("%s: example %q is no call of esched", name, strings.TrimSpace(line))
			}
		}
		if c.Example == "" || c.GroupID == "" {
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
}

func TestPreload(t *testing.T) {
	t.Parallel()
	newShell(t).esched("preload").wants(t, 0, []string{"ESCHED_SOCKET", "def "}, nil)
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
	p.Args = []string{"serve", "--socket", dir + "/s", "--policy", "random", "--record", "frames"}
	code := make(chan int, 1)
	go func() { code <- Main(p) }()
	eventually(t, shortly, "ready line", func() bool { return strings.Contains(s.out.String(), "ready socket "+dir+"/s\n") })
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
		if f.State == stateBroken && f.Mend == "" {
			t.Errorf("%s is broken without a mend: %s", f.Check, f.Found)
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
	s.esched("workloads").wants(t, 0, []string{"montecarlo\n", "chunk", "required"}, nil)
	var facts []workloadFact
	s.esched("workloads", "--json").into(t, &facts)
	if len(facts) == 0 || len(facts[0].Params) == 0 {
		t.Errorf("have %+v", facts)
	}
}
