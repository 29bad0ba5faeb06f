package workloads

import (
	"maps"
	"strings"
	"testing"
)

// complete returns parameters with the defaults of a workload filled in.
func complete(w Workload, params map[string]any) map[string]any {
	all := defaults(w.Params)
	maps.Copy(all, params)
	return all
}

// acceptable tells what is wrong with a complete set of parameters.
func acceptable(t *testing.T, what string, params []Param, values map[string]any) {
	t.Helper()
	known := map[string]bool{}
	for _, p := range params {
		known[p.Name] = true
		value, given := values[p.Name]
		if !given {
			if p.Required {
				t.Errorf("%s: %s is missing", what, p.Name)
			}
			continue
		}
		if value == "" && p.Default == "" {
			continue // stands for nothing
		}
		if err := p.Accept(value); err != nil {
			t.Errorf("%s: %s: %v", what, p.Name, err)
		}
	}
	for name := range values {
		if !known[name] {
			t.Errorf("%s: unknown parameter %s", what, name)
		}
	}
}

// TestRegistry holds what every workload says of itself.
func TestRegistry(t *testing.T) {
	t.Parallel()
	last := ""
	for _, w := range All() {
		if w.Name <= last {
			t.Errorf("%s: out of order", w.Name)
		}
		last = w.Name
		if w.Doc == "" || w.Result == "" || len(w.References) == 0 || len(w.Sizes) == 0 || (w.Verify == nil) == (w.Graph == nil) || w.RoughSeconds == nil || w.Size == nil {
			t.Errorf("%s: incomplete: want a doc, a result, references, sizes, and functions that label, verify and guess", w.Name)
		}
		for line := range strings.Lines(w.About) {
			if len(line) > 79 { // with its end
				t.Errorf("%s: a line of %d characters, want at most 78: %s", w.Name, len(line)-1, line)
			}
		}
		names := map[string]bool{}
		for _, p := range w.Params {
			if p.Doc == "" || p.Required && p.Default != nil {
				t.Errorf("%s: parameter %s without a doc, or required with a default", w.Name, p.Name)
			}
		}
		for _, s := range w.Sizes {
			params := complete(w, s.Params)
			for _, p := range w.Params {
				if p.File {
					params[p.Name] = "testdata/instances/diamond-1.4.json"
				}
			}
			if s.Doc == "" || names[s.Name] {
				t.Errorf("%s: size %s without a doc, or twice", w.Name, s.Name)
			}
			names[s.Name] = true
			acceptable(t, w.Name+" "+s.Name, w.Params, params)
			if w.Check != nil {
				if err := w.Check(maps.Clone(params)); err != nil {
					t.Errorf("%s %s: %v", w.Name, s.Name, err)
				}
			}
			if label := w.Size(params); label == "" || label == "?" {
				t.Errorf("%s %s: label %q", w.Name, s.Name, label)
			}
			if guess := w.RoughSeconds(params, 4); !(guess > 0) {
				t.Errorf("%s %s: guessed to take %v s", w.Name, s.Name, guess)
			}
			if w.Warmup != nil {
				acceptable(t, w.Name+" warm-up of "+s.Name, w.Params, w.Warmup(maps.Clone(params)))
			}
			checkData(t, w, params)
			if w.Graph != nil {
				if g, err := w.Graph(params, 1); err != nil {
					t.Errorf("%s %s: graph: %v", w.Name, s.Name, err)
				} else if err := g.check(); err != nil {
					t.Errorf("%s %s: graph: %v", w.Name, s.Name, err)
				}
			}
		}
	}
}

// checkData holds that what a workload asks of a provider exists there.
func checkData(t *testing.T, w Workload, params map[string]any) {
	t.Helper()
	if w.Data == "" {
		return
	}
	p, found := ProviderByName(w.Data)
	if !found {
		t.Errorf("%s: no provider of %s", w.Name, w.Data)
		return
	}
	options := p.Defaults()
	if w.DataOptions != nil {
		maps.Copy(options, w.DataOptions(params))
	}
	acceptable(t, w.Name+" data", p.Params, options)
}

// TestProviders holds what every provider says of itself, and that nothing is
// no error.
func TestProviders(t *testing.T) {
	t.Parallel()
	last := ""
	for _, p := range Providers() {
		if p.Name <= last || p.Doc == "" || p.Describe == "" || p.Obtain == nil {
			t.Errorf("%s: incomplete or out of order", p.Name)
		}
		last = p.Name
		acceptable(t, p.Name, p.Params, p.Defaults())
		status, err := p.Status(t.Context(), t.TempDir()+"/none", p.Defaults())
		if err != nil || status.Present || status.Detail == "" {
			t.Errorf("%s: missing directory: have %+v, %v", p.Name, status, err)
		}
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	whole := Param{Name: "n", Type: Int, Min: 1, Max: 10}
	number := Param{Name: "x", Type: Float}
	word := Param{Name: "w", Type: String, Choices: []string{"a", "b"}}
	for _, test := range []struct {
		param Param
		value any
		ok    bool
	}{
		{whole, int64(1), true}, {whole, int64(10), true}, {whole, int64(0), false}, {whole, int64(11), false},
		{whole, 1.0, false}, {whole, "1", false}, {whole, true, false},
		{number, 1e9, true}, {number, -0.1, false}, {number, int64(1), false},
		{word, "a", true}, {word, "c", false}, {word, int64(1), false},
	} {
		if err := test.param.Accept(test.value); (err == nil) != test.ok {
			t.Errorf("%s = %v: %v", test.param.Name, test.value, err)
		}
	}
}
