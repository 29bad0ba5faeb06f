package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script puts a program of this name first on the PATH of the shell.
func (s *shell) script(name, text string) {
	s.t.Helper()
	bin := s.p.path("bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.env["PATH"] = bin + ":" + s.env["PATH"]
}

// TestRefusedRequests asks for what the site's rules or the queue do not grant:
// nothing of a run is made, in the background neither, and the plan tells it
// where the rules do.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	const byDay = "max_claim = \"00:15:00\"\nworking_hours = \"08:00-20:00\"\n"
	const silent = "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1\n"
	for _, c := range []struct {
		name, options string
		claim         string
		sinfo         string // what it does
		args          []string
		code          int
		want, plan    []string
	}{
		{"too long by day", "kind = \"das\"\n" + byDay, "01:00:00", "", nil, 2,
			[]string{"a claim of 1h0m0s from Mon 10:00", "Try: set claim_time to 00:15:00 or less"},
			[]string{"a run would be refused now: site's time policy", "Try: set claim_time to 00:15:00"}},
		{"never allowed", "kind = \"slurm\"\nclaims = 2\n" + byDay, "100:00:00", "", nil, 2,
			[]string{"a claim of 100h0m0s"}, []string{"would be refused now"}},
		{"too long for the partition", "kind = \"slurm\"\n", "01:00:00", "echo 'short*|10:00|1-infinite|8|(null)'\n", []string{"--detach"}, 2,
			[]string{"partition short gives up to 10m0s"}, nil},
		{"silent controller", "kind = \"slurm\"\n", "01:00:00", silent, []string{"--detach"}, 1,
			[]string{"Unable to contact slurm controller", "Try: see whether SLURM answers: sinfo"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.p.Now = func() time.Time { return time.Date(2026, 6, 22, 10, 0, 0, 0, time.UTC) } // a Monday
			if c.sinfo != "" {
				s.script("sinfo", c.sinfo)
				s.p.LookPath = func(string) (string, error) { return s.p.path("bin/sinfo"), nil }
			}
			text := strings.NewReplacer(`"00:10:00"`, `"`+c.claim+`"`, "seed = 3", "seed = 3\ncluster = \"site\"",
				"workers_per_node", "nodes = [2]\nworkers_per_node").Replace(tiny("default", `"dask"`, 1))
			s.write(defaultFile, text+"[clusters.site]\n"+c.options)
			s.esched("plan").wants(t, 0, c.plan, nil)
			s.esched(append([]string{"run"}, c.args...)...).wants(t, c.code, nil, c.want)
			if _, err := s.p.stat("runs"); err == nil {
				t.Error("a run directory was made")
			}
		})
	}
}

// TestClaimsThatWaitAreNotRefused plans a run that may make several claims.
func TestClaimsThatWaitAreNotRefused(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 6, 22, 10, 0, 0, 0, time.UTC)
	s := newShell(t)
	s.p.Now = func() time.Time { return monday }
	s.write(defaultFile, strings.Replace(tiny("default", `"dask"`, 1), "seed = 3", "seed = 3\ncluster = \"site\"", 1)+
		"[clusters.site]\nkind = \"slurm\"\nclaims = 2\nmax_claim = \"00:05:00\"\nworking_hours = \"08:00-20:00\"\n")
	s.esched("plan").wants(t, 0, []string{"the claim would wait until Mon 2026-06-22 20:00: site's time policy"}, nil)
	var p plannedRun
	s.esched("plan", "--json").into(t, &p)
	if want := monday.Add(10 * time.Hour); p.Claim.Refused || !p.Claim.Begin.Equal(want) {
		t.Errorf("want a claim at %v, have %+v", want, p.Claim)
	}
}
