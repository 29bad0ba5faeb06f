package report_test

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/internal/browser"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/report"
)

// paper is what pdftotext tells of a printed report: the sheets, in points,
// and where each word stands.
type paper struct {
	Sheets []struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Words  []struct {
			Left   float64 `xml:"xMin,attr"`
			Right  float64 `xml:"xMax,attr"`
			Top    float64 `xml:"yMin,attr"`
			Bottom float64 `xml:"yMax,attr"`
			Text   string  `xml:",chardata"`
		} `xml:"word"`
	} `xml:"body>doc>page"`
}

// letters joins all words of each sheet without spaces: where lines break,
// words do.
func (p paper) letters() []string {
	var sheets []string
	for _, s := range p.Sheets {
		var b strings.Builder
		for _, w := range s.Words {
			b.WriteString(squeeze(w.Text))
		}
		sheets = append(sheets, b.String())
	}
	return sheets
}

var spaces = regexp.MustCompile(`[\s\x{200b}\x{a0}]+`)

func squeeze(s string) string { return spaces.ReplaceAllString(s, "") }

// TestPrint prints a report, seen by day and by night, and reads the paper:
// figures and tables are there, nothing reaches beyond a sheet, and paper is
// light.
func TestPrint(t *testing.T) {
	t.Parallel()
	chromium, reader, drawer := need.Program(t, "chromium"), need.Program(t, "pdftotext"), need.Program(t, "pdftoppm")
	r := build(t, full()...)
	path := writeHTML(t, r)
	var pictures [][][]byte
	for _, test := range []struct {
		name string
		look browser.Look
	}{{"light", browser.Look{}}, {"dark", browser.Look{Dark: true}}, {"narrow", browser.Look{Dark: true, Width: 390}}} {
		test.look.Program, test.look.Print = chromium, true
		page, err := browser.Open(t.Context(), path, test.look)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Errors) > 0 || len(page.Requests) > 0 {
			t.Errorf("%s: console %q, requests %q", test.name, page.Errors, page.Requests)
		}
		pdf := keep(t, test.name+".pdf", page.PDF)
		checkPaper(t, r, page, read(t, reader, pdf))
		pictures = append(pictures, draw(t, drawer, pdf))
	}
	// Paper knows nothing of the screen it was printed from.
	for i, name := range []string{"a dark screen", "a narrow one"} {
		light, other := pictures[0], pictures[i+1]
		if len(light) != len(other) {
			t.Fatalf("the report has %d sheets, from %s %d", len(light), name, len(other))
		}
		for sheet := range light {
			if !bytes.Equal(light[sheet], other[sheet]) {
				t.Errorf("sheet %d differs when it is printed from %s", sheet+1, name)
			}
		}
	}
}

func read(t *testing.T, reader, pdf string) paper {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), reader, "-bbox", pdf, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	var p paper
	d := xml.NewDecoder(bytes.NewReader(out))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	if err := d.Decode(&p); err != nil {
		t.Fatalf("words of %s: %v", pdf, err)
	}
	return p
}

// draw makes a small picture of each sheet.
func draw(t *testing.T, drawer, pdf string) [][]byte {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), drawer, "-r", "40", pdf, filepath.Join(dir, "sheet")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "sheet*"))
	if err != nil {
		t.Fatal(err)
	}
	var sheets [][]byte
	for _, name := range slices.Sorted(slices.Values(names)) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sheets = append(sheets, b)
	}
	return sheets
}

func checkPaper(t *testing.T, r *report.Report, page *browser.Page, p paper) {
	t.Helper()
	const edge = 0.5 // of a point: rounding
	for i, s := range p.Sheets {
		for _, w := range s.Words {
			if w.Left < -edge || w.Right > s.Width+edge || w.Top < -edge || w.Bottom > s.Height+edge {
				t.Errorf("sheet %d: %q reaches beyond it", i+1, w.Text)
			}
		}
	}
	sheets := p.letters()
	letters := strings.Join(sheets, "")
	wants := func(what, text string) {
		t.Helper()
		if !strings.Contains(letters, squeeze(text)) {
			t.Errorf("%s: %q is not on paper", what, text)
		}
	}
	wants("headline", r.Headline)
	for _, text := range r.Careful {
		wants("careful", text)
	}
	for _, f := range r.Figures {
		wants(f.ID, f.Title)
		if len(page.Charts[f.ID].Texts) == 0 {
			t.Errorf("%s has no texts on the screen", f.ID)
		}
		wants(f.ID, f.X.Name)
	}
	for _, id := range []string{report.TableCells, report.TableRatios, report.TableTrials} {
		table := r.Table(id)
		wants(id, table.Title)
	}
	trials := r.Table(report.TableTrials)
	column := slices.IndexFunc(trials.Columns, func(c report.Column) bool { return c.Key == "trial" })
	for _, row := range trials.Rows {
		name := row[column].(string)
		i := slices.IndexFunc(sheets, func(s string) bool { return strings.Contains(s, name) })
		if i < 0 {
			t.Errorf("trial %s is not on paper", name)
		} else if !strings.Contains(sheets[i], "Makespan(s)") {
			t.Errorf("sheet %d, with trial %s, has no heads of columns", i+1, name)
		}
	}
}
