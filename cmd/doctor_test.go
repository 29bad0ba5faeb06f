package cmd

import (
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDoctorHours compares a claim with a site's hours.
func TestDoctorHours(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 6, 22, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		at           time.Time
		claim, lines string
		state, found string
		mend         string
	}{
		{"no rule", monday, "10:00:00", "", stateOK, "no limit", ""},
		{"short enough", monday, "00:15:00", "max_claim = \"00:15:00\"\n", stateOK, "may begin now; up to 15m0s in working hours", ""},
		{"too long by day", monday, "01:00:00", "max_claim = \"00:15:00\"\nworking_hours = \"08:00-20:00\"\n", stateBroken, "touches working hours", "start at Mon 2026-06-22 20:00"},
		{"waits for the night", monday, "01:00:00", "max_claim = \"00:15:00\"\nworking_hours = \"08:00-20:00\"\nclaims = 2\n", stateNote, "waits until Mon 2026-06-22 20:00", ""},
		{"at night", monday.Add(11 * time.Hour), "01:00:00", "max_claim = \"00:15:00\"\nworking_hours = \"08:00-20:00\"\n", stateOK, "may begin now", ""},
	} {
		s := newShell(t)
		s.p.Now = func() time.Time { return c.at }
		text := strings.Replace(tiny("default", `"dask"`, 1), `"00:10:00"`, `"`+c.claim+`"`, 1)
		s.write("experiments.toml", text+"[clusters.site]\nkind = \"static\"\nhosts = [\"nowhere\"]\n"+c.lines)
		var all findings
		s.esched("doctor", "--cluster", "site", "--json").into(t, &all)
		all.want(t, "", "time policy", c.state, c.found, c.mend)
	}
}

// TestDoctorRefuses what makes no sense before anything is looked at.
func TestDoctorRefuses(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("doctor", "--reserve").wants(t, 2, nil, []string{"--reserve and --nodes are about clusters", "--cluster"})
	s.esched("doctor", "--cluster", "site").wants(t, 2, nil, []string{"experiments.toml: no such file"})
	s.write("experiments.toml", tiny("default", `"dask"`, 1)+"[clusters.site]\nkind = \"static\"\nhosts = [\"n[1-3]\"]\n[clusters.queue]\nkind = \"slurm\"\n")
	s.esched("doctor", "--cluster", "siet").wants(t, 2, nil, []string{`unknown cluster "siet"`, `"site"`})
	s.esched("doctor", "--cluster", "site", "--nodes", "n4").wants(t, 2, nil, []string{"n4 is not a host of cluster site"})
	s.esched("doctor", "--cluster", "site", "--nodes", "n1,n1").wants(t, 2, nil, []string{"n1 is there twice"})
	s.esched("doctor", "--cluster", "site", "--nodes", "n[").wants(t, 2, nil, []string{"--nodes"})
	s.esched("doctor", "--cluster", "queue", "--nodes", "n1").wants(t, 2, nil, []string{"--nodes is for clusters of kind static", "--reserve"})
	s.esched("doctor", "--reserve").wants(t, 2, nil, []string{"are about clusters"}) // the experiment runs here
	r := s.esched("doctor", "experiments.toml")
	if !strings.Contains(r.stdout, "ok      cluster              local is this machine") {
		t.Errorf("have\n%s", r.stdout)
	}
}

// TestDoctorTakesTheExperimentThatIsThere checks the cluster on which a run
// would take place, unless it is this machine.
func TestDoctorTakesTheExperimentThatIsThere(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	text := tiny("default", `"dask"`, 1) + "[clusters.site]\nkind = \"slurm\"\n"
	s.p.LookPath = func(name string) (string, error) { return "", exec.ErrNotFound }
	remote := strings.Replace(text, "seed = 3", "cluster = \"site\"", 1)
	for _, c := range []struct {
		name, text, first string
		cluster           bool
	}{
		{"of this machine", text, "ok      machine ", false},
		{"of another cluster", remote, "ok      experiment           experiments.toml runs on cluster site, which is checked, too\n", true},
		{"wrong", "sed = 3\n", "broken  experiment           experiments.toml", false},
	} {
		s.write(defaultFile, c.text)
		out := s.esched("doctor").stdout
		if !strings.HasPrefix(out, c.first) || strings.Contains(out, "sbatch, squeue, scancel, sinfo not on PATH") != c.cluster {
			t.Errorf("%s: want %q first, have\n%s", c.name, c.first, out)
		}
	}
}

func TestJudgeStartup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, out string
		err       error
		state     string
		found     string
	}{
		{"silent", startupMark, nil, stateOK, "prints nothing"},
		{"greeting", "Hello\nyou\n" + startupMark, nil, stateNote, `prints "Hello you" before each command`},
		{"long", strings.Repeat("noise ", 100) + startupMark, nil, stateNote, ` ..." before`},
		{"exit", "Closed\n", nil, stateBroken, `executes no command; it printed "Closed"`},
		{"hangs", "", errors.New("no end within 30s"), stateBroken, "executes no command: no end within 30s"},
		{"status of a sound shell", startupMark, errors.New("exit status 1"), stateOK, "nothing"},
	} {
		findings{judgeStartup("shell", "bash", c.out, c.err)}.want(t, "", "shell", c.state, c.found, "")
	}
}

func TestPlatform(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		node, head string
		older      bool
	}{
		{"x86_64\nglibc 2.17\n", "x86_64\nglibc 2.36\n", true},
		{"x86_64\nglibc 2.36\n", "x86_64\nglibc 2.36\n", false},
		{"x86_64\nglibc 2.9\n", "x86_64\nglibc 2.36\n", true},
		{"x86_64\nglibc 2.39.1", "x86_64\nglibc 2.36\n", false},
		{"x86_64\n", "x86_64\nglibc 2.36\n", false}, // not known
	} {
		node := parsePlatform(c.node)
		if node.machine != "x86_64" || node.older(parsePlatform(c.head)) != c.older {
			t.Errorf("%q against %q: want %v, have %+v", c.node, c.head, c.older, node)
		}
	}
}

func TestParseAddresses(t *testing.T) {
	t.Parallel()
	have := parseAddresses(`1: lo    inet 127.0.0.1/8 scope host lo\       valid_lft forever preferred_lft forever
2: eth0@if7    inet 10.77.1.1/16 scope global eth0\       valid_lft forever
2: eth0    inet6 fe80::1/64 scope link \       valid_lft forever
nonsense
`)
	if names := slices.Sorted(maps.Keys(have)); !slices.Equal(names, []string{"eth0", "lo"}) || !slices.Equal(have["eth0"], []string{"10.77.1.1", "fe80::1"}) {
		t.Errorf("have %v", have)
	}
}
