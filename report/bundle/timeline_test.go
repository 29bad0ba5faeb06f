package bundle_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/bundle"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

// saveTraced writes an invented run with timelines, in which paths and a secret
// stand, and in the header of whose compression one stands as well.
func saveTraced(t *testing.T) (dir string, traced []record.Record) {
	t.Helper()
	run := reporttest.Trace(reporttest.Run(reporttest.Shape{Sizes: []int{500}, Workers: []int{2}, Policies: []string{"random"}, Repetitions: 3}))
	dir = filepath.Join(t.TempDir(), "a")
	store, err := record.Create(dir, run.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range run.Records {
		if err := store.AppendRecord(rec); err != nil {
			t.Fatal(err)
		}
		if rec.Timeline == "" {
			continue
		}
		traced = append(traced, rec)
		times, err := reporttest.Timeline(run, &rec)
		if err != nil {
			t.Fatal(err)
		}
		times.Prefixes[0], times.Workers[0] = "/home/ada/mine.py:sample", "tcp://ada:"+secret+"@node001:1"
		if _, err := record.WriteTimeline(dir, rec.ID, compress(t, times)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if len(traced) < 2 {
		t.Fatalf("%d trials are traced, want some of all series", len(traced))
	}
	return dir, traced
}

// compress writes a timeline as a driver does.
func compress(t *testing.T, times *record.Timeline) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Name = "/home/ada/timeline"
	lines := json.NewEncoder(z)
	if err := lines.Encode(times); err != nil {
		t.Fatal(err)
	}
	for _, s := range times.Spans {
		moved := s.Transfers
		if moved == nil {
			moved = []float64{}
		}
		if err := lines.Encode([]any{s.Prefix, s.Worker, s.Ready, s.From, s.To, moved}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decompress reads the lines of a packed timeline, and of its header.
func decompress(t *testing.T, data string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return z.Name + z.Comment + string(text)
}

// TestTimelines packs a traced run: what the bundle says of tasks is what the
// run says, without secrets, and is checked.
func TestTimelines(t *testing.T) {
	t.Parallel()
	dir, traced := saveTraced(t)
	put(t, dir, "tasks/notes.txt", "not a timeline")
	run, err := record.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := report.BuildWith([]*record.Run{run}, report.Options{Timeline: (*record.Run).Timeline, Chain: (*record.Run).LongestChain})
	if err != nil {
		t.Fatal(err)
	}
	b, archive := pack(t, source(t, dir))
	files := unpack(t, archive)
	for _, f := range want.Figures {
		if files[top+"report/figures/"+f.ID+".svg"] == "" {
			t.Errorf("figure %s is missing", f.ID)
		}
	}
	for _, id := range []string{"gantt-1", "busy", "slowdown"} {
		if files[top+"report/tables/data-"+id+".csv"] == "" {
			t.Errorf("the data of figure %s is missing", id)
		}
	}
	for _, rec := range traced {
		text := decompress(t, files[top+"run/"+rec.Timeline])
		for _, bad := range []string{secret, "/home/ada"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", rec.Timeline, bad)
			}
		}
		if !strings.Contains(text, `"~/mine.py:sample"`) || strings.Count(text, "\n") < 100 {
			t.Errorf("%s: have %.200s", rec.Timeline, text)
		}
	}
	for _, r := range []bundle.Removal{{File: "run/" + traced[0].Timeline, What: "home directory", Count: 1}, {File: "run/tasks/notes.txt", What: "left out: damaged, so it cannot be searched for secrets", Count: 1}} {
		if !slices.Contains(b.Removed, r) {
			t.Errorf("not listed: %+v in %+v", r, b.Removed)
		}
	}
	checkTimelines(t, files, "run/"+traced[0].Timeline)
}

// checkTimelines verifies a bundle as it is, and with the times of one trial
// changed by somebody who also changes the checksums.
func checkTimelines(t *testing.T, files map[string]string, name string) {
	t.Helper()
	times, err := record.ReadTimeline(strings.NewReader(files[top+name]))
	if err != nil {
		t.Fatal(err)
	}
	for i := range times.Spans {
		times.Spans[i].To += 0.25
	}
	forged := maps.Clone(files)
	forged[top+name] = string(compress(t, times))
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	forged[top+"SHA256SUMS"] = strings.Replace(files[top+"SHA256SUMS"], sum(files[top+name]), sum(forged[top+name]), 1)
	for _, test := range []struct {
		name      string
		files     map[string]string
		different string
	}{{"as packed", files, ""}, {"other times", forged, "table data-"}} {
		c, err := bundle.Verify(bytes.NewReader(repack(t, test.files)), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if have := strings.Join(c.Different, "\n"); len(c.Damaged) > 0 || !strings.Contains(have, test.different) || (have == "") != (test.different == "") {
			t.Errorf("%s: damaged %q, different %q; want %q", test.name, c.Damaged, have, test.different)
		}
	}
}

// TestDamagedTimelines packs what is left of a traced run.
func TestDamagedTimelines(t *testing.T) {
	t.Parallel()
	dir, traced := saveTraced(t)
	if err := os.Truncate(filepath.Join(dir, traced[0].Timeline), 100); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, traced[1].Timeline)); err != nil {
		t.Fatal(err)
	}
	_, archive := pack(t, source(t, dir))
	if _, again := pack(t, source(t, dir)); !bytes.Equal(archive, again) {
		t.Error("packed again, the archive differs")
	}
	files := unpack(t, archive)
	for _, rec := range traced[:2] {
		if want := rec.Timeline + " of trial " + rec.ID + ": not in the bundle"; !strings.Contains(files[top+"report/report.md"], want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	c, err := bundle.Verify(bytes.NewReader(archive), t.TempDir())
	if err != nil || !c.OK() {
		t.Errorf("have %+v, %v", c, err)
	}
}
