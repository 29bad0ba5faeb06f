package bundle

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/esched/esched/runners/record"
)

// dasPaper is what users of a DAS cluster are asked to cite.
const dasPaper = `H. Bal et al., "A Medium-Scale Distributed System for Computer Science Research: Infrastructure for the Long Term", IEEE Computer 49(5), 2016, doi:10.1109/MC.2016.127`

// cite writes how to refer to the run: with its own facts, and brackets where
// only those who publish it know what to say.
func (b *builder) cite(w *strings.Builder) {
	m := b.run.Manifest
	title := fmt.Sprintf("%s: run %s", cmp.Or(m.Name, b.name()), cmp.Or(m.ID, "(unnamed)"))
	ok := 0
	for _, rec := range b.run.Records {
		if rec.Status == record.StatusOK {
			ok++
		}
	}
	facts := []string{fmt.Sprintf("measured with esched %s", cmp.Or(m.Esched, "of an unknown version"))}
	if m.Cluster != "" {
		facts = append(facts, "on cluster "+m.Cluster)
	}
	facts = append(facts, fmt.Sprintf("%d trials (%d without a failure)", len(b.run.Records), ok))
	if m.Schema > 0 {
		facts = append(facts, fmt.Sprintf("seed %d", m.Seed))
	}
	if data, known := b.files["run/"+record.TrialsFile]; known {
		facts = append(facts, fmt.Sprintf("SHA-256 of %s %x", record.TrialsFile, sha256.Sum256(data)))
	}
	year, day := "[year]", "[date]"
	if !m.Started.IsZero() {
		year, day = fmt.Sprint(m.Started.UTC().Year()), m.Started.UTC().Format(time.DateOnly)
	}
	note := strings.Join(facts, ", ")
	fmt.Fprintf(w, "\n## How to cite it\n\nWhat stands in brackets is to be filled in by whoever publishes it.\n\n    [authors]: %s, %s. %s. [archive, DOI]\n\nThe same for BibTeX:\n\n",
		title, day, strings.ToUpper(note[:1])+note[1:])
	fmt.Fprintf(w, "    @misc{%s,\n      author = {[authors]},\n      title = {{%s}},\n      year = {%s},\n      howpublished = {[archive, DOI]},\n      note = {%s},\n    }\n",
		b.name(), bibtex.Replace(title), year, bibtex.Replace(strings.ToUpper(note[:1])+note[1:]))
	if m.ClusterKind == "das" {
		fmt.Fprintf(w, "\nThis is a DAS cluster, whose users are asked to cite: %s.\n", dasPaper)
	}
}

// bibtex writes characters that mean something to LaTeX.
var bibtex = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "%", `\%`, "&", `\&`, "#", `\#`, "$", `\$`, "_", `\_`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`)

// licence writes who may say what others may do with what is here.
func (b *builder) licence(w *strings.Builder) {
	w.WriteString("\n## Licence\n\nData, logs and report belong to those who ran the experiment. Only they can say under which licence others may use them;\n" +
		"none is stated here. Name one where you publish this archive (for data, many use CC BY 4.0), and look at the licences of\nwhat is not yours:\n\n")
	if b.count("run/"+programsDir+"/")+b.count("run/"+inputsDir+"/") > 0 {
		w.WriteString("- The programs and files in `run/programs/` and `run/inputs/` have the licences of their authors.\n")
	}
	w.WriteString("- `report/report.html` holds Apache ECharts, under the Apache License 2.0; its notice and licence are in the page.\n" +
		"- esched, which is not in this archive, is under the MIT License.\n")
}
