package deploy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
)

func TestExamine(t *testing.T) {
	t.Parallel()
	h := hosts(t, t.TempDir(), "a")[0]
	f, err := deploy.Examine(t.Context(), h, need.Python(t))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.Python, "3.") || f.Packages["distributed"] == "" {
		t.Errorf("have Python %s, packages %v", f.Python, f.Packages)
	}
	address, name, err := f.Address("127.0.0.0/8")
	if err != nil || address != "127.0.0.1" || name == "" {
		t.Errorf("want 127.0.0.1, have %s on %s, %v", address, name, err)
	}
	if again, _, err := f.Address(name); err != nil || again != address {
		t.Errorf("interface %s: want %s, have %s, %v", name, address, again, err)
	}
	if _, err := deploy.Examine(t.Context(), h, "/nowhere/bin/python"); err == nil || !strings.Contains(err.Error(), "/nowhere/bin/python") {
		t.Errorf("want an error with the interpreter's name, have %v", err)
	}
}

func TestAddressInNetwork(t *testing.T) {
	t.Parallel()
	f := deploy.Facts{Interfaces: map[string][]string{
		"eth0": {"fe80::1%eth0", "10.141.0.7"},
		"ib0":  {"fe80::2%ib0", "fd00::7", "10.149.0.7"},
		"ib1":  {"fd00::8"},
		"lo":   {"127.0.0.1", "::1"},
	}}
	for _, c := range []struct{ network, address, name string }{
		{"ib0", "10.149.0.7", "ib0"},
		{"10.149.0.0/16", "10.149.0.7", "ib0"},
		{"10.141.0.0/16", "10.141.0.7", "eth0"},
		{"ib1", "fd00::8", "ib1"},
		{"ib2", "", ""},
		{"192.168.0.0/24", "", ""},
	} {
		address, name, err := f.Address(c.network)
		if address != c.address || name != c.name || (err == nil) != (c.address != "") {
			t.Errorf("%s: want %s on %s, have %s on %s, %v", c.network, c.address, c.name, address, name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "eth0 10.141.0.7") || hint.Of(err) == "") {
			t.Errorf("%s: want an error with what there is and a hint, have %v", c.network, err)
		}
	}
}

func TestSkew(t *testing.T) {
	t.Parallel()
	h := hosts(t, t.TempDir(), "a")[0]
	const wrong = time.Hour
	ours := func() time.Time { return time.Now().Add(-wrong) }
	s, err := deploy.MeasureSkew(t.Context(), h, ours)
	if err != nil {
		t.Fatal(err)
	}
	if off := s.Ahead - wrong; off > s.Error+time.Millisecond || off < -s.Error-time.Millisecond {
		t.Errorf("want %v within %v, have %v", wrong, s.Error, s.Ahead)
	}
}
