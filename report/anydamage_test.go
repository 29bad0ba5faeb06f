package report_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// TestAnyDamage damages the files of a run by chance. Whatever was done to
// them, there is a report; it has every trial whose line is whole, and warns
// when one is not.
func TestAnyDamage(t *testing.T) {
	t.Parallel()
	whole := onDisk(t)
	files := map[string][]byte{}
	for _, name := range []string{record.ManifestFile, record.EventsFile, record.TrialsFile} {
		b, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	lines := bytes.Split(bytes.TrimSuffix(files[record.TrialsFile], []byte("\n")), []byte("\n"))
	lines = slices.DeleteFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"warmup":true`)) })
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 9))
		dir := filepath.Join(t.TempDir(), fmt.Sprint(seed))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		damaged, what := map[string][]byte{}, ""
		for name, b := range files {
			damaged[name] = b
		}
		name := []string{record.ManifestFile, record.TrialsFile, record.TrialsFile, record.TrialsFile}[random.IntN(4)]
		damaged[name], what = damage(random, files[name])
		for name, b := range damaged {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run, err := record.Read(dir)
		if err != nil {
			t.Errorf("%d: %s %s: %v", seed, name, what, err)
			continue
		}
		r, err := report.Build([]*record.Run{run})
		if err != nil {
			t.Errorf("%d: %s %s: %v", seed, name, what, err)
			continue
		}
		shown := map[string]bool{}
		table := r.Table(report.TableTrials)
		for _, row := range table.Rows {
			for i, c := range table.Columns {
				if c.Key == "trial" {
					shown[row[i].(string)] = true
				}
			}
		}
		lost := 0
		for _, line := range lines {
			id := trialOf(t, line)
			if bytes.Contains(damaged[record.TrialsFile], line) {
				if !shown[id] {
					t.Errorf("%d: %s %s: trial %s, whose line is whole, is not shown", seed, name, what, id)
				}
			} else if !shown[id] {
				lost++
			}
		}
		if careful := strings.Join(r.Careful, "\n"); lost > 0 && !strings.Contains(careful, "not recorded") && !strings.Contains(careful, "left out") && !strings.Contains(careful, "torn") {
			t.Errorf("%d: %s %s: %d trials are lost, careful: %s", seed, name, what, lost, careful)
		}
		compareForms(t, r)
	}
}

// damage cuts, removes, doubles or garbles a part of a file.
func damage(random *rand.Rand, b []byte) (damaged []byte, what string) {
	from := random.IntN(len(b))
	to := min(len(b), from+1+random.IntN(200))
	switch random.IntN(4) {
	case 0:
		return b[:from], fmt.Sprintf("cut off at %d", from)
	case 1:
		return append(bytes.Clone(b[:from]), b[to:]...), fmt.Sprintf("without %d to %d", from, to)
	case 2:
		return append(bytes.Clone(b[:to]), b[from:]...), fmt.Sprintf("with %d to %d twice", from, to)
	}
	out := bytes.Clone(b)
	for i := from; i < to; i++ {
		out[i] = byte(random.IntN(256))
	}
	return out, fmt.Sprintf("garbled from %d to %d", from, to)
}

func trialOf(t *testing.T, line []byte) string {
	t.Helper()
	_, rest, found := strings.Cut(string(line), `"trial":"`)
	id, _, ended := strings.Cut(rest, `"`)
	if !found || !ended {
		t.Fatalf("no trial in %s", line)
	}
	return id
}
