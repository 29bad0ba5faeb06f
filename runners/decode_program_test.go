package runners

import (
	"errors"
	"strings"
	"testing"

	"github.com/esched/esched/internal/hint"
)

// withPrograms is a catalog in which every program exists but "missing.py".
func withPrograms() Catalog {
	c := testCatalog()
	c.FindProgram = func(script string, command []string) (Program, error) {
		if script == "missing.py" {
			return Program{}, hint.With(errors.New("missing.py: no such file"), "name another")
		}
		p := Program{Command: command, Digest: "digest of " + script + strings.Join(command, " ")}
		if script != "" {
			p.Script = "/experiments/" + script
		}
		return p, nil
	}
	return c
}

const ownWorkload = `name = "own"
repetitions = 1
schedulers = ["dask"]

[program.own]
script = "own.py"
memory = "1.5 GB"
warmup = { n = 1 }

[[workload]]
name = "own"
n = [10, 20]
scale = 0.5
deep = true
label = "x"
`

func TestPrograms(t *testing.T) {
	t.Parallel()
	e, err := Load("own.toml", []byte(ownWorkload), withPrograms())
	if err != nil {
		t.Fatal(err)
	}
	p := e.Programs["own"]
	if p.Script != "/experiments/own.py" || p.Memory != 1_500_000_000 || p.Result != usualResult || p.Timeout != 0 {
		t.Errorf("have %+v", p)
	}
	block := BuildPlan(e).Blocks[0]
	if len(block.Trials) != 2 || len(block.Warmups) != 1 {
		t.Fatalf("%d trials, %d warm-ups", len(block.Trials), len(block.Warmups))
	}
	if have, want := block.Warmups[0].ParamString(), "deep=true label=x n=1 scale=0.5"; have != want {
		t.Errorf("warm-up: want %s, have %s", want, have)
	}
	first := block.Trials[0]
	if first.Program != "digest of own.py" || first.Size != first.ParamString() {
		t.Errorf("have %+v", first)
	}
	first.Program = "another"
	if first.Identity() == block.Trials[0].ID {
		t.Error("a changed program has the same identity")
	}
}

func TestProgramMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, old, new string
		line           int
		want, try      string
	}{
		{"built in", "[program.own]", "[program.montecarlo]", 5, `workload "montecarlo" is built in`, "my-montecarlo"},
		{"bad name", "[program.own]", "[program.Own_1]", 5, `program name "Own_1" is not allowed`, "small letters"},
		{"no file", "own.py", "missing.py", 6, "[program.own]: missing.py: no such file", "name another"},
		{"no Python", `"own.py"`, `"own.sh"`, 6, `script "own.sh" is no Python file`, `command = ["own.sh"]`},
		{"both", "memory", "command = [\"x\"]\nmemory", 7, "both script and command are given", "keep one"},
		{"neither", "script = \"own.py\"\n", "", 5, "script is missing", `command = ["PROGRAM"`},
		{"command is text", `script = "own.py"`, `command = "ls -l"`, 6, "command is text, not a list", `["./simulate", "--fast"]`},
		{"empty command", `script = "own.py"`, `command = []`, 6, "command is a list, not a list of texts", "command = ["},
		{"memory", `"1.5 GB"`, `"much"`, 7, `memory = "much" is no size`, "500 MB"},
		{"little memory", `"1.5 GB"`, `"5 kB"`, 7, `memory = "5 kB" is less than the smallest allowed`, "use a value from"},
		{"warm-up", "{ n = 1 }", "{ n = [1] }", 8, "n is a list", "use text"},
		{"unknown key", "memory", "memry", 7, `unknown key "memry"`, `did you mean "memory"?`},
		{"reserved parameter", "scale", "workers", 13, `parameter "workers" cannot be called so`, "choose another name"},
		{"table as parameter", "0.5", "{ a = 1 }", 13, "scale is a table", "use text"},
		{"empty list", "[10, 20]", "[]", 12, "n is an empty list", "at least one"},
		{"unknown workload", `name = "own"` + "\nn", `name = "owm"` + "\nn", 11, `unknown workload "owm"`, `did you mean "own"?`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(ownWorkload, test.old, test.new, 1)
			if text == ownWorkload {
				t.Fatal("nothing was replaced")
			}
			_, err := Load("own.toml", []byte(text), withPrograms())
			mistakes, ok := errors.AsType[Mistakes](err)
			if !ok {
				t.Fatalf("have %v", err)
			}
			m := mistakes[0]
			if m.Line != test.line || !strings.Contains(m.Reason, test.want) || !strings.Contains(m.Try, test.try) {
				t.Errorf("line %d: %s\nTry: %s\nwant line %d: %s\nTry: %s", m.Line, m.Reason, m.Try, test.line, test.want, test.try)
			}
		})
	}
}

func TestParseBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "2kB": 2000, "2 KiB": 2048, "1.5 GB": 1_500_000_000, "1TiB": 1 << 40,
		"": -1, "GB": -1, "1 PB": -1, "-1": -1, "1.2.3": -1, "99999999999 TB": -1,
	} {
		have, ok := parseBytes(text)
		if !ok {
			have = -1
		}
		if have != want {
			t.Errorf("%q: want %d, have %d", text, want, have)
		}
	}
}
