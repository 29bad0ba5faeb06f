package reserve

import (
	"slices"
	"strings"
	"testing"
)

func TestExpandHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, want string }{
		{"node1", "node1"},
		{"node[001-003]", "node001 node002 node003"},
		{"node[001-002,030],head", "node001 node002 node030 head"},
		{"node[9-11]", "node9 node10 node11"},
		{"node[08-10].cluster", "node08.cluster node09.cluster node10.cluster"},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
		{"10.1.0.7,fe80::1", "10.1.0.7 fe80::1"},
	} {
		have, err := ExpandHosts(c.expression)
		if err != nil || strings.Join(have, " ") != c.want {
			t.Errorf("%s: want %s, have %v, %v", c.expression, c.want, have, err)
		}
	}
}

func TestExpandHostsRefuses(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"", ",", "a,", "node[", "node[1", "node[]", "node[a-b]", "node[2-1]", "node[1-2-3]", "node]", "node[1]]",
		"-oProxyCommand=x", "a b", "a;b", "node[1-99999999]", "r[1-9999]n[1-9999]", strings.Repeat("x", 300),
	} {
		if have, err := ExpandHosts(expression); err == nil {
			t.Errorf("%q: want an error, have %d hosts", expression, len(have))
		}
	}
}

func FuzzExpandHosts(f *testing.F) {
	f.Add("node[001-003,007],head")
	f.Add("r[1-2]n[1-2]")
	f.Fuzz(func(t *testing.T, expression string) {
		hosts, err := ExpandHosts(expression)
		if err != nil {
			return
		}
		if len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool { return !fitsHost(h) }) {
			t.Errorf("%q: have %q", expression, hosts)
		}
	})
}
