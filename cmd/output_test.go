package cmd

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tb := table{head: []string{"NAME", "N", "PATH"}}
	tb.add("ü", "7", "/a")
	tb.add("longer", "1,234", "-")
	var b strings.Builder
	if err := tb.print(&b); err != nil {
		t.Fatal(err)
	}
	want := "NAME        N  PATH\nü           7  /a\nlonger  1,234  -\n"
	if b.String() != want {
		t.Errorf("want\n%s\nhave\n%s", want, b.String())
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"run", "report", "policies", "clean"}
	for word, want := range map[string]string{"polices": "policies", "rnu": "run", "rep": "report", "frobnicate": "", "claen": "clean", "x": ""} {
		if have := nearest(word, names); have != want {
			t.Errorf("%s: want %q, have %q", word, want, have)
		}
	}
}
