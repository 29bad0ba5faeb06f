package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/runners/record"
)

// readme writes what an evaluator reads first: what is claimed, how to check
// it, how to run it again, with what, and for how long.
func (b *builder) readme() error {
	var w strings.Builder
	m := b.run.Manifest
	program := ""
	if sum := b.source.Tool.SHA256; sum != "" {
		program = fmt.Sprintf(" (SHA-256 of the program: %s)", sum)
	}
	fmt.Fprintf(&w, "# %s\n\nThis is run %s of the experiment \"%s\": its data, its report, and what it was made with.\nIt was packed by esched %s%s.\n",
		cmp.Or(m.Name, b.name()), cmp.Or(m.ID, "(unnamed)"), m.Name, b.source.Tool.Version, program)
	b.claims(&w)
	b.inventory(&w)
	b.checking(&w)
	b.again(&w)
	b.cite(&w)
	b.licence(&w)
	b.missing(&w)
	b.files[ReadmeFile] = []byte(w.String())
	return nil
}

func (b *builder) claims(w *strings.Builder) {
	r := b.report
	fmt.Fprintf(w, "\n## Claims\n\n1. %s\n", r.Headline)
	for i, f := range r.Facts {
		fmt.Fprintf(w, "%d. %s\n", i+2, f)
	}
	w.WriteString("\nThe numbers, with their intervals, are in `report/tables/`, most of them in `cells.csv` and `ratios.csv`.\n")
	if len(r.Careful) > 0 {
		w.WriteString("\nWhat weakens them:\n\n")
		for _, c := range r.Careful {
			fmt.Fprintf(w, "- %s\n", c)
		}
	}
}

// inventory lists what is there; directories that a run does not have are left
// out.
func (b *builder) inventory(w *strings.Builder) {
	w.WriteString("\n## What is here\n\n")
	for _, f := range []struct{ prefix, what string }{
		{"experiment.toml", "the experiment file: what was asked for"},
		{"run/run.json", "the manifest: plan, seed, versions, hosts"},
		{"run/trials.jsonl", "one record for each trial: the raw data"},
		{"run/events.jsonl", "what happened, with times"},
		{"run/logs/", "what schedulers, workers and clients wrote"},
		{"run/tasks/", "when the tasks of traced trials ran, compressed"},
		{"run/programs/", "the experiment's own programs"},
		{"run/inputs/", "the files that its parameters name"},
		{"report/report.html", "the report as a page (needs no network)"},
		{"report/report.md", "the same as text"},
		{"report/report.json", "the same for programs"},
		{"report/figures/", "each figure as SVG"},
		{"report/tables/", "each table as CSV and LaTeX"},
		{"environments/", "the packages of each Python environment, with the lock (versions and hashes) where there is one"},
		{"hosts.json", "the machines"},
		{ToolFile, "the esched that packed this: version, hash of the program, build, modules with checksums"},
		{RemovedFile, "what was taken out, and where"},
	} {
		if n := b.count(f.prefix); n > 0 {
			fmt.Fprintf(w, "- `%s`: %s\n", f.prefix, f.what)
		}
	}
	fmt.Fprintf(w, "- `%s`: a checksum of each file\n", ChecksumsFile)
}

func (b *builder) count(prefix string) int {
	n := 0
	for name := range b.files {
		if strings.HasPrefix(name, prefix) || prefix == RemovedFile {
			n++
		}
	}
	return n
}

func (b *builder) checking(w *strings.Builder) {
	w.WriteString(`
## To check it (seconds, one machine, no Python)

In this directory:

    sha256sum --check --quiet ` + ChecksumsFile + `
    esched report run --output again.html

The second command makes the report anew from the raw data. To do both at once, and to compare every number with the
packed report, give esched the archive itself:

    esched bundle --verify FILE.tar.gz
`)
}

func (b *builder) again(w *strings.Builder) {
	m := b.run.Manifest
	w.WriteString("\n## To run it again\n\n")
	if m.Experiment == "" {
		w.WriteString("The experiment file is not known: the manifest is missing.\n")
		return
	}
	w.WriteString("    esched doctor\n    esched plan experiment.toml\n    esched run experiment.toml\n")
	w.WriteString("    esched compare run runs/*-" + fileName(m.Name) + "\n\n")
	w.WriteString("The first one says what is missing on your machine, the second what will run and for how long, and the last one\ncompares the times with these.\n\n")
	if m.Schema > 0 && !m.Ended.IsZero() && m.Ended.After(m.Started) {
		fmt.Fprintf(w, "- Time: the run took %s, waiting for nodes included", m.Ended.Sub(m.Started).Round(time.Second))
		if m.Sessions > 1 {
			fmt.Fprintf(w, ", in %d sessions with pauses between them", m.Sessions)
		}
		w.WriteString(".\n")
	}
	fmt.Fprintf(w, "- Disk: the run wrote %.1f MiB, its Python environments aside.\n", float64(b.wrote)/(1<<20))
	if b.count("run/programs/") > 0 {
		w.WriteString("- Programs: put those in `run/programs/` where `experiment.toml` names them.\n")
	}
	fmt.Fprintf(w, "- Cluster: %s (%s).\n", cmp.Or(m.Cluster, "unknown"), cmp.Or(m.ClusterKind, "unknown kind"))
	for _, line := range machines(m.Hosts) {
		fmt.Fprintf(w, "- Machine: %s.\n", line)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Environments)) {
		e := m.Environments[name]
		fmt.Fprintf(w, "- Environment %s: Python %s, %d packages", name, e.Python, len(e.Packages))
		if _, ok := b.source.Locks[e.Lock]; ok && e.Lock != "" {
			w.WriteString("; esched makes it from the lock by itself.\n")
		} else {
			w.WriteString("; it has to be made by hand, since its lock is not part of this esched.\n")
		}
	}
	if len(m.Command) > 0 {
		fmt.Fprintf(w, "- It was started as `%s` with esched %s.\n", strings.Join(m.Command, " "), cmp.Or(m.Esched, "of an unknown version"))
	}
}

// fileName is a name as it occurs in the names of runs.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, name), ".-")
}

// machines describes each kind of host once.
func machines(hosts []record.Host) []string {
	n := make(map[string]int)
	for _, h := range hosts {
		n[fmt.Sprintf("%s, %d cores, %.0f GiB of memory, %s, %s", cmp.Or(h.CPU, "unknown processor"), h.Cores, float64(h.MemoryB)/(1<<30), cmp.Or(h.OS, "unknown system"), h.Kernel)]++
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(n)) {
		all = append(all, fmt.Sprintf("%d × %s", n[what], what))
	}
	return all
}

func (b *builder) missing(w *strings.Builder) {
	w.WriteString("\n## What was taken out\n\n")
	sums := make(map[string]int)
	for _, r := range b.scrub.removals() {
		sums[r.What] += r.Count
	}
	if len(sums) == 0 {
		w.WriteString("Nothing.\n")
		return
	}
	for _, what := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(w, "- %s (%d)\n", what, sums[what])
	}
	fmt.Fprintf(w, "\n`%s` says from which files. Home directories are written as `~`, so hashes of texts that contained them (trials,\nthe experiment file) are those of the texts before.\n", RemovedFile)
}
