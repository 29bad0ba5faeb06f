package runners

import (
	"os"
	"strings"
	"testing"
)

// TestTransitionsMatchTheirTable reads the table in the comment above
// transitions: the comment is what people trust.
func TestTransitionsMatchTheirTable(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("state.go")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []input
	documented := map[State]map[input]State{}
	for line := range strings.Lines(string(source)) {
		cells := strings.Fields(strings.TrimPrefix(line, "//"))
		if len(cells) < 2 || !strings.HasPrefix(line, "//\t") {
			continue
		}
		if cells[0] == string(inputDeploy) {
			for _, c := range cells {
				inputs = append(inputs, input(c))
			}
			continue
		}
		if _, row := transitions[State(cells[0])]; !row || len(cells) != len(inputs)+1 {
			continue
		}
		row := map[input]State{}
		for i, c := range cells[1:] {
			if c = strings.TrimRight(c, "¹²³⁴⁵⁶⁷"); c != "." {
				row[inputs[i]] = State(c)
			}
		}
		documented[State(cells[0])] = row
	}
	if len(documented) != len(transitions) {
		t.Fatalf("want %d states in the comment, have %d", len(transitions), len(documented))
	}
	for _, s := range []State{Planned, Deploying, Warming, Running, OK, Failed, Timeout, Skipped} {
		for _, in := range inputs {
			want, possible := documented[s][in]
			have, err := s.next(in)
			if (err == nil) != possible {
				t.Errorf("%s + %s: documented %t, have error %v", s, in, possible, err)
			}
			if possible && have != want {
				t.Errorf("%s + %s: want %s, have %s", s, in, want, have)
			}
			if !possible && have != s {
				t.Errorf("%s + %s: cannot happen, yet the state became %s", s, in, have)
			}
		}
	}
	for _, s := range []State{OK, Failed, Timeout, Skipped} {
		if !s.Final() {
			t.Errorf("%s: want final", s)
		}
	}
}
