package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// methods writes the paragraphs that one can paste into a paper.
func (b *builder) methods(r *Report) {
	for _, run := range b.runs {
		if run.Manifest.Schema == 0 {
			r.Methods = append(r.Methods, fmt.Sprintf("The manifest of run %s is missing, so versions, hosts and seed are not known.", cmp.Or(run.Dir, "(unnamed)")))
			continue
		}
		r.Methods = append(r.Methods, b.runMethods(run))
	}
	r.Methods = append(r.Methods, b.measureMethods(), b.statisticsMethods(), b.exclusionMethods())
	for _, run := range b.runs {
		for _, note := range run.Manifest.Notes {
			if note = sentence(note); !slices.Contains(r.Methods, note) {
				r.Methods = append(r.Methods, note)
			}
		}
	}
}

// sentence gives a note a capital and a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (b *builder) runMethods(run *record.Run) string {
	m := run.Manifest
	var text strings.Builder
	fmt.Fprintf(&text, "Run %s of experiment %s was made with esched %s", m.ID, m.Name, cmp.Or(m.Esched, "(unknown version)"))
	if len(m.Command) > 0 {
		fmt.Fprintf(&text, " by the command \u201c%s\u201d", strings.Join(m.Command, " "))
	}
	if m.Cluster != "" {
		fmt.Fprintf(&text, " on the cluster %s (%s)", m.Cluster, m.ClusterKind)
	}
	fmt.Fprintf(&text, ". It started on %s", clock(m.Started))
	if m.Ended.IsZero() {
		text.WriteString(" and has not recorded its end")
	} else {
		fmt.Fprintf(&text, " and ended on %s", clock(m.Ended))
	}
	if m.Sessions > 1 {
		fmt.Fprintf(&text, ", in %d sessions (it was resumed)", m.Sessions)
	}
	fmt.Fprintf(&text, ". The order of trials and the random choices of policies come from the seed %d.", m.Seed)
	text.WriteString(stoppingMethods(m))
	if m.Git != "" {
		fmt.Fprintf(&text, " The experiment file's repository was at %s.", m.Git)
	}
	if h := m.Hosts; len(h) > 0 {
		fmt.Fprintf(&text, " It used %s; the first, %s, has %s (%s, %s of memory, %s, kernel %s).", plural(len(h), "host"), h[0].Name,
			cmp.Or(h[0].CPU, "an unknown processor"), plural(h[0].Cores, "core"), memory(h[0].MemoryB), cmp.Or(h[0].OS, "unknown system"), cmp.Or(h[0].Kernel, "unknown"))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Environments)) {
		e := m.Environments[name]
		fmt.Fprintf(&text, " Environment %s: Python %s", name, e.Python)
		for _, p := range []string{"dask", "distributed", "numpy", "pandas"} {
			if v := e.Packages[p]; v != "" {
				fmt.Fprintf(&text, ", %s %s", p, v)
			}
		}
		text.WriteString(".")
	}
	return text.String()
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown date"
	}
	return t.UTC().Format("2 January 2006 at 15:04 UTC")
}

func memory(bytes int64) string {
	if bytes <= 0 {
		return "unknown size"
	}
	return significant(float64(bytes)/(1<<30)) + " GiB"
}

func (b *builder) measureMethods() string {
	repetitions := 0
	for _, rec := range b.records {
		repetitions = max(repetitions, rec.Repetition)
	}
	text := fmt.Sprintf("A trial is one execution of a workload of one size under one scheduler and policy on one number of workers; each was repeated up to %s. ", plural(repetitions, "time"))
	return text + "Its makespan is the time from the client's submit call to the last result at the client, by the client's monotonic clock; waiting for nodes, deploying and warming up are separate clocks and no part of it. " +
		"Trials were run in blocks, one fresh deployment of scheduler and workers a block and one block for each repetition, in a shuffled order, so that slow changes of the machine do not favour a series. " +
		"Decision latency is the time that a placement took as Dask's event loop saw it." + b.traceMethods() + b.boundMethods()
}

// traceMethods tells how the times of tasks were noted, where they were.
func (b *builder) traceMethods() string {
	if b.tracedTrials() == "" {
		return ""
	}
	return " Times of tasks were noted by a plugin in Dask's scheduler, on the scheduler's clock, which workers adjust theirs to by the middle of a heartbeat's round trip; figures of tasks show one trial of each series, and where there were more tasks than were to be kept, evenly spaced ones in the order of their ends."
}

func (b *builder) statisticsMethods() string {
	used := make(map[stats.Method]bool)
	for _, c := range b.cells {
		if c.Interval != nil {
			used[c.Interval.Method] = true
		}
	}
	for _, r := range b.ratios {
		if r.Interval != nil {
			used[r.Interval.Method] = true
		}
	}
	text := "Times are summarised by the geometric mean; the arithmetic mean and the median are in the table of cells. "
	if used[stats.MethodT] {
		text += fmt.Sprintf("Intervals of times are %.0f %% intervals by Student's t distribution on logarithms, exp(m ± t s/√n) with n − 1 degrees of freedom. ", 100*stats.Confidence)
	}
	if used[stats.MethodPaired] {
		text += "Ratios to a baseline were taken within repetitions of the same run; their geometric mean is the quotient of the two geometric means, and its interval is Student's t on the logarithms of the ratios of pairs. "
	}
	if used[stats.MethodWelch] {
		text += "Where too few repetitions could be paired, the interval is Welch's on logarithms. "
	}
	if used[stats.MethodBootstrap] {
		text += fmt.Sprintf("From %d repetitions on, intervals are bias-corrected and accelerated bootstrap intervals with %s resamples and a fixed seed, at a level raised for the size of the sample (Hesterberg, 2015, expanded percentiles). ", stats.BootstrapSample, count(stats.Resamples))
	}
	text += "That samples are normal is assumed of logarithms and not tested, which samples of this size do not allow: where a reader doubts it, the rank tests, the medians with intervals by order statistics, and every single value are in the tables. " +
		"Series are also compared with the main baseline by rank tests (Wilcoxon's signed ranks of pairs, else Mann and Whitney's), with Holm's correction for all comparisons of this report. "
	return text + fmt.Sprintf("With fewer than %d repetitions no interval is given. Intervals are not corrected for the number of comparisons. Cost ratios are never averaged over workloads.", stats.MinSample)
}

func (b *builder) exclusionMethods() string {
	warm := "No warm-up trials were run."
	if n := len(b.warmups); n > 0 {
		warm = fmt.Sprintf("%s were run first on each deployment and are left out of every result.", plural(n, "warm-up trial"))
	}
	failed, superseded, retried := 0, 0, 0
	for _, rec := range b.records {
		if rec.Status != record.StatusOK {
			failed++
		}
		if len(rec.Attempts) > 0 {
			retried++
		}
	}
	for _, run := range b.runs {
		superseded += len(run.Superseded)
	}
	text := fmt.Sprintf("%s Of %s, %d have no result and count in no number; nothing else was left out, and no outlier was removed.", warm, plural(len(b.records), "measured trial"), failed)
	if retried > 0 {
		text += fmt.Sprintf(" The record of %s tells of a retry; the earlier attempts are in the details of the table of trials.", plural(retried, "trial"))
	}
	if superseded > 0 {
		text += fmt.Sprintf(" Replaced by another record of the same trial: %s.", plural(superseded, "record"))
	}
	return text
}

func (b *builder) hostTable() Table {
	t := Table{ID: TableHosts, Title: "Hosts", Columns: []Column{
		{"run", "Run", FormatText}, {"host", "Host", FormatText}, {"cpu", "Processor", FormatText}, {"cores", "Cores", FormatCount}, {"memory_bytes", "Memory (MiB)", FormatBytes},
		{"os", "System", FormatText}, {"kernel", "Kernel", FormatText}, {"governor", "Governor", FormatText},
	}}
	for _, run := range b.runs {
		for _, h := range run.Manifest.Hosts {
			t.add(run.Manifest.ID, h.Name, h.CPU, h.Cores, float64(h.MemoryB), h.OS, h.Kernel, h.Governor)
		}
	}
	return t
}

func (b *builder) versionTable() Table {
	t := Table{ID: TableVersions, Title: "Python environments", Columns: []Column{
		{"run", "Run", FormatText}, {"environment", "Environment", FormatText}, {"python", "Python", FormatText}, {"lock", "Lock", FormatText}, {"packages", "Packages", FormatText},
	}}
	for _, run := range b.runs {
		for _, name := range slices.Sorted(maps.Keys(run.Manifest.Environments)) {
			e := run.Manifest.Environments[name]
			var packages []string
			for _, p := range slices.Sorted(maps.Keys(e.Packages)) {
				packages = append(packages, p+" "+e.Packages[p])
			}
			t.add(run.Manifest.ID, name, e.Python, cmp.Or(e.Lock, "the user's own"), strings.Join(packages, ", "))
		}
	}
	return t
}
