package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

// invent writes an invented run to runs/NAME, its times multiplied.
func (s *shell) invent(name string, seed uint64, repetitions int, times float64) string {
	s.t.Helper()
	run := reporttest.Run(reporttest.Shape{Seed: seed, Sizes: []int{500}, Workers: []int{2}, Policies: []string{"random"}, Repetitions: repetitions})
	run.Manifest.ID = name
	dir := filepath.Join("runs", name)
	store, err := record.Create(s.p.path(dir), run.Manifest)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, rec := range run.Records {
		rec.MakespanS *= times
		if err := store.AppendRecord(rec); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := errors.Join(store.AppendEvent(record.Event{Kind: record.EventRunEnded, Message: "see " + s.p.Home + "/x"}), store.Close()); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

func TestCompare(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	a, slow, other, once := s.invent("a", 1, 4, 1), s.invent("slow", 1, 4, 1.2), s.invent("other", 2, 4, 1), s.invent("once", 3, 1, 1)
	tests := []struct {
		line           string
		code           int
		stdout, stderr []string
	}{
		{a + " " + slow, 0, []string{"A  a, 8 trials with a result", "Of 2 cells, B is faster than A in 0, slower in 2", "sidekick/random", "[1.20, 1.20]", "Repetitions are paired"}, nil},
		{a + " " + other, 0, []string{"Repetitions are not paired: the seeds differ (1 and 2)", "seed: 1 in A, 2 in B"}, nil},
		{a + " " + slow + " --markdown", 0, []string{"# a (A) and slow (B)", "| slower "}, nil},
		{a + " " + slow + " --threshold 25%", 0, []string{"slower than A by more than 25 % in 0 of 2 cells"}, nil},
		{a + " " + slow + " --threshold 5%", 5, []string{"beyond the threshold"},
			[]string{"esched: threshold of 5 %: B is slower than A by more in 2 of 2 cells: montecarlo 500 chunks with 2 workers, dask; montecarlo", "Try: "}},
		{slow + " " + a + " --threshold 0%", 0, []string{"faster"}, nil},
		{a + " " + once + " --threshold 5%", 1, []string{"too few"}, []string{"no cell could be judged", "Try: compare runs"}},
		{a + " " + slow + " --threshold 0.05", 2, nil, []string{`threshold "0.05": not a percentage`, "Try: give a percentage"}},
		{a + " " + slow + " --threshold -5%", 2, nil, []string{"not a percentage"}},
		{a + " " + slow + " --json --markdown", 2, nil, []string{"more than one form"}},
		{a, 2, nil, []string{"at least 2 needed"}},
		{a + " runs/none", 2, nil, []string{"no such file", "Try: name the directory of a run"}},
		{a + " " + slow + " --html none/c.html", 1, nil, []string{"Try: name a file that you can write to with --html"}},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			r := s.esched(append([]string{"compare"}, strings.Fields(test.line)...)...)
			r.wants(t, test.code, test.stdout, test.stderr)
		})
	}
	var c report.Comparison
	s.esched("compare", a, slow, "--json", "--html", "c.html").into(t, &c)
	if len(c.Cells) != 2 || !c.Paired || c.Cells[0].Ratio.Interval == nil {
		t.Errorf("have %+v", c)
	}
	if page := s.read("c.html"); !strings.Contains(page, c.Headline) || !strings.HasPrefix(page, "<!DOCTYPE html>") {
		t.Error("the page does not hold the headline")
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	a := s.invent("a", 1, 3, 1)
	s.esched("bundle", a).wants(t, 0, []string{"a.tar.gz\n", "SHA-256", "home directory"}, nil)
	s.esched("bundle", "--verify", "a.tar.gz").wants(t, 0, []string{"ok   ", "files are as their checksums say", "computed again and are the same", "On montecarlo"}, nil)
	var made bundleFacts
	s.esched("bundle", a, "--output", "b.tar.gz", "--json").into(t, &made)
	if made.File != "b.tar.gz" || made.Files < 20 || made.Bytes != int64(len(s.read("b.tar.gz"))) || s.read("a.tar.gz") != s.read("b.tar.gz") {
		t.Errorf("have %+v; the same as before: %t", made, s.read("a.tar.gz") == s.read("b.tar.gz"))
	}
	var check struct {
		Numbers            int
		Damaged, Different []string
	}
	s.esched("bundle", "--verify", "b.tar.gz", "--json").into(t, &check)
	if check.Numbers == 0 || len(check.Damaged)+len(check.Different) > 0 {
		t.Errorf("have %+v", check)
	}
	s.write("half.tar.gz", s.read("a.tar.gz")[:2000])
	for _, test := range []struct {
		line string
		code int
		want []string
	}{
		{"--verify half.tar.gz", 1, []string{"half.tar.gz: not a bundle", "Try: name a file that esched bundle RUN wrote"}},
		{"--verify none.tar.gz", 2, []string{"none.tar.gz", "Try: "}},
		{"--verify a.tar.gz --output x", 2, []string{"--verify writes no file"}},
		{"runs/none", 2, []string{"no such file", "Try: name the directory of a run"}},
		{a + " --logs -1", 2, []string{"--logs -1"}},
		{a + " --output none/x.tar.gz", 1, []string{"Try: name a file that you can write to"}},
		{"", 2, []string{"at least 1 needed"}},
	} {
		s.esched(append([]string{"bundle"}, strings.Fields(test.line)...)...).wants(t, test.code, nil, test.want)
	}
	left, err := filepath.Glob(filepath.Join(s.p.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		switch filepath.Base(name) {
		case "runs", "a.tar.gz", "b.tar.gz", "half.tar.gz":
		default:
			t.Errorf("%s was left", name)
		}
	}
}

// TestVerifyTampered changes an archive and sees that it is told.
func TestVerifyTampered(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.esched("bundle", s.invent("a", 1, 3, 1)).wants(t, 0, nil, nil)
	script := "set -e; mkdir x; tar -C x -xzf a.tar.gz; sed -i 's/\"makespan_s\":/\"makespan_s\":7/' x/a/run/trials.jsonl; tar -C x -czf t.tar.gz a"
	if out, err := s.p.output(t.Context(), s.p.Dir, "sh", "-c", script); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.esched("bundle", "--verify", "t.tar.gz").wants(t, 1, []string{"bad  run/trials.jsonl: not as listed in SHA256SUMS", "bad  cells"}, []string{"t.tar.gz: 1 damaged files", "Try: "})
	// What tar unpacks can be checked by others' means, and is a run.
	if out, err := s.p.output(t.Context(), filepath.Join(s.p.Dir, "x", "a"), "sha256sum", "--check", "--quiet", "SHA256SUMS"); err == nil {
		t.Errorf("sha256sum found nothing: %s", out)
	}
	s.esched("report", "x/a/run", "--output", "again.html").wants(t, 0, []string{"again.html"}, nil)
	if _, err := os.Stat(s.p.path("again.html")); err != nil {
		t.Error(err)
	}
}
