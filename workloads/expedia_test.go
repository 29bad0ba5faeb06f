package workloads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
)

// pythonLimit bounds one call of Python.
const pythonLimit = 10 * time.Minute

// modules runs Python modules of the workloads and of the tests, as
// [Obtain.Python] does.
func modules(t *testing.T, python string) func(ctx context.Context, stdout io.Writer, module string, args ...string) error {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, stdout io.Writer, module string, args ...string) error {
		ctx, cancel := context.WithTimeout(ctx, pythonLimit)
		defer cancel()
		var complaint bytes.Buffer
		c := exec.CommandContext(ctx, python, append([]string{"-m", module}, args...)...)
		c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1",
			"PYTHONPATH="+filepath.Join(here, "python")+":"+filepath.Join(here, "testdata", "python"))
		c.Dir, c.Stdout, c.Stderr = t.TempDir(), stdout, &complaint
		if err := c.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, complaint.Bytes())
		}
		return nil
	}
}

// expediaObtain asks for the data set with options that differ from its
// defaults.
func expediaObtain(t *testing.T, python, dir string, options map[string]any) Obtain {
	t.Helper()
	all := expedia().Defaults()
	maps.Copy(all, options)
	return Obtain{Dir: dir, Options: all, HTTP: http.DefaultClient, Python: modules(t, python), Progress: func(Progress) {}}
}

// expediaData generates a small data set and returns where it is.
func expediaData(t *testing.T, python string, rows int64) string {
	t.Helper()
	o := expediaObtain(t, python, t.TempDir(), map[string]any{"rows": rows})
	if err := obtainExpedia(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return mustBe(t, o, true).Path
}

// mustBe returns the status of a data set that must be there, or must not.
func mustBe(t *testing.T, o Obtain, present bool) DataStatus {
	t.Helper()
	s, err := expediaStatus(t.Context(), o.Dir, o.Options)
	if err != nil || s.Present != present {
		t.Fatalf("want present = %v, have %+v, %v", present, s, err)
	}
	return s
}

// expediaFacts are what expedia_facts.py says of a data set.
func expediaFacts(t *testing.T, python, path string) map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := modules(t, python)(t.Context(), &out, "expedia_facts", "facts", path); err != nil {
		t.Fatal(err)
	}
	facts := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &facts); err != nil {
		t.Fatal(err)
	}
	return facts
}

// TestExpediaGenerated holds that generated data are the same for a seed, go on
// with what is there, and look like the original.
func TestExpediaGenerated(t *testing.T) {
	t.Parallel()
	const rows = 12_000
	python := need.Python(t)
	o := expediaObtain(t, python, t.TempDir(), map[string]any{"rows": int64(rows)})
	var told []Progress
	o.Progress = func(p Progress) { told = append(told, p) }
	if s := mustBe(t, o, false); !s.Quick || !strings.Contains(s.Detail, "12,000 rows of each table are not generated yet") {
		t.Errorf("before: have %+v", s)
	}
	if err := obtainExpedia(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if len(told) != 10 || told[9] != (Progress{"generate", 2 * rows, 2 * rows, "rows"}) {
		t.Errorf("progress: have %+v", told)
	}
	s := mustBe(t, o, true)
	if !strings.HasPrefix(s.Detail, "24,000 rows in 10 files, ") || s.Bytes == 0 {
		t.Errorf("have %+v", s)
	}
	facts := expediaFacts(t, python, s.Path)
	checkExpedia(t, facts)

	// What is whole is kept, what is not is made again; in two processes.
	kept, torn := filepath.Join(s.Path, "test", "part-00002.parquet"), filepath.Join(s.Path, "train", "part-00001.parquet")
	before, err := os.Stat(kept)
	if err == nil {
		err = os.Truncate(torn, 100)
	}
	if err == nil {
		err = os.Remove(filepath.Join(s.Path, "test", "part-00000.parquet"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := mustBe(t, o, false); s.Detail != "2 of 10 files are missing or damaged" {
		t.Errorf("damaged: have %+v", s)
	}
	args := []string{"generate", s.Path, "--rows", "12000", "--part-rows", fmt.Sprint(expediaPartRows(rows)), "--seed", "1", "--processes", "2"}
	if err := o.Python(t.Context(), io.Discard, expediaModule, args...); err != nil {
		t.Fatal(err)
	}
	if again := mustBe(t, o, true); again != s {
		t.Errorf("want %+v, have %+v", s, again)
	}
	if after, err := os.Stat(kept); err != nil || !os.SameFile(before, after) {
		t.Errorf("a file that was whole was written again, %v", err)
	}
	if again := expediaFacts(t, python, s.Path); !maps.Equal(again, facts) {
		t.Errorf("want %v, have %v", facts, again)
	}
}

// checkExpedia compares generated data with what is known of the original.
func checkExpedia(t *testing.T, facts map[string]any) {
	t.Helper()
	for _, fact := range []struct {
		name        string
		least, most float64
	}{
		{"columns train", 54, 54}, {"columns test", 50, 50}, {"rows train", 12_000, 12_000}, {"rows test", 12_000, 12_000},
		{"clicks", 0.035, 0.055}, {"bookings", 0.02, 0.035}, {"bookings without click", 0, 0}, {"most bookings of a search", 1, 1},
		{"paid without booking", 0, 0}, {"hotels twice in a search", 0, 0}, {"wrong positions", 0, 0},
		{"rows of a search", 18, 28}, {"most rows of a search", 30, 38}, {"rows of the most frequent tenth", 0.15, 0.6},
		{"known hotels in test", 0.98, 1}, {"usual price", 80, 160}, {"highest price", 1_000, 1e7},
		{"missing visitor_hist_starrating", 0.9, 0.98}, {"missing prop_location_score2", 0.15, 0.3}, {"missing orig_destination_distance", 0.26, 0.4},
		{"missing srch_query_affinity_score", 0.9, 0.97}, {"missing comp1_rate", 0.95, 1}, {"missing comp5_rate_percent_diff", 0.78, 0.88},
	} {
		if have, ok := facts[fact.name].(float64); !ok || have < fact.least || have > fact.most {
			t.Errorf("%s: want within %v and %v, have %v", fact.name, fact.least, fact.most, facts[fact.name])
		}
	}
	for name, want := range map[string]string{"first day": "2012-11-01", "last day": "2013-06-30", "digest train": expediaTrain, "digest test": expediaTest} {
		if facts[name] != want {
			t.Errorf("%s: want %s, have %v", name, want, facts[name])
		}
	}
}

// The digests of 12,000 generated rows: they change with the generator alone.
const (
	expediaTrain = "45b9fed93222"
	expediaTest  = "e4b33f02947e"
)

// TestExpediaOriginal converts files of the original's kind.
func TestExpediaOriginal(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	made := expediaData(t, python, 25_000)
	from := t.TempDir()
	if err := modules(t, python)(t.Context(), io.Discard, "expedia_facts", "export", made, from); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(from)))
	defer server.Close()
	want := expediaFacts(t, python, made)
	for _, source := range []string{from, server.URL} {
		o := expediaObtain(t, python, t.TempDir(), map[string]any{"source": source})
		if s := mustBe(t, o, false); s.Quick {
			t.Errorf("%s: have %+v", source, s)
		}
		if err := obtainExpedia(t.Context(), o); err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		s := mustBe(t, o, true)
		if !strings.HasPrefix(s.Detail, "50,000 rows in 4 files, ") {
			t.Errorf("%s: have %+v", source, s)
		}
		if have := expediaFacts(t, python, s.Path); !maps.Equal(have, want) {
			t.Errorf("%s: want %v, have %v", source, want, have)
		}
		if _, err := os.Stat(filepath.Join(s.Path, "csv")); !os.IsNotExist(err) {
			t.Errorf("%s: what was downloaded is still there: %v", source, err)
		}
	}
	testExpediaMistakes(t, python, from)
}

// testExpediaMistakes hands files that are not the original's.
func testExpediaMistakes(t *testing.T, python, good string) {
	train, err := os.ReadFile(filepath.Join(good, "train.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(train[:100_000]), "\n")
	head, row := lines[0], lines[1]
	bad := t.TempDir()
	for name, text := range map[string]string{
		"empty.csv":   head,
		"columns.csv": strings.Replace(head+row, "prop_id", "hotel", 1),
		"order.csv":   head + lines[60] + row,
		"missing.csv": head + "NULL" + strings.TrimLeft(row, "0123456789"),
		"changed.csv": head + row,
		"text.csv":    head + "first" + strings.TrimLeft(row, "0123456789"),
		"SHA256SUMS":  strings.Repeat("0", 64) + "  changed.csv\n",
	} {
		if err := os.WriteFile(filepath.Join(bad, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		from, file, want, mend string
	}{
		{"", "", "nobody said where", "--source DIRECTORY"},
		{"data", "", `"data" is neither an absolute path nor`, "--source DIRECTORY"},
		{bad, "../x.csv", "--train: \"../x.csv\" is not the name of a file", ""},
		{bad, "none.csv", "none.csv: not found at its source", "--train"},
		{bad, "changed.csv", "changed.csv: content has the SHA-256 ", ""},
		{bad, "empty.csv", "empty.csv has no rows", ""},
		{bad, "columns.csv", "is not Expedia's train table", ""},
		{bad, "order.csv", "rows of a search are not together", ""},
		{bad, "missing.csv", "column srch_id has missing values", ""},
		{bad, "text.csv", "is not Expedia's train table", ""},
	} {
		o := expediaObtain(t, python, t.TempDir(), map[string]any{"source": test.from})
		if test.file != "" {
			o.Options["train"] = test.file
			o.Options["test"] = test.file
		}
		err := obtainExpedia(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(hint.Of(err), test.mend) {
			t.Errorf("%s: want %q, have %v (%s)", test.file, test.want, err, hint.Of(err))
		}
	}
}
