package runners

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/esched/esched/runners/record"
)

// Resumption is what an earlier session of a run means for the next one.
type Resumption struct {
	// Done holds the records of the plan's trials that are ok, by trial id.
	Done map[string]record.Record
	// Again counts the trials that were recorded as not ok and run once more,
	// Open those without a record that were planned before, New those that were
	// not, Dropped those that were planned before and no longer are.
	Again, Open, New, Dropped int
	// Warnings tells what cannot be trusted, a sentence each.
	Warnings []string
}

// Resume compares what a run directory holds with the plan that is to be
// completed. Records count only when their content still has the identity
// under which they were stored.
func Resume(earlier *record.Run, plan *Plan) Resumption {
	res := Resumption{Done: map[string]record.Record{}, Warnings: slices.Clone(earlier.Warnings)}
	before := map[string]bool{}
	for _, p := range earlier.Manifest.Plan {
		if !p.Warmup {
			before[p.ID] = true
		}
	}
	recorded := map[string]record.Record{}
	for _, r := range earlier.Records {
		switch {
		case r.Warmup:
		case r.Trial.Identity() != r.ID:
			res.Warnings = append(res.Warnings, fmt.Sprintf(
				"record of trial %s does not describe that trial (it was changed, or written by another version); the trial runs again", r.ID))
		default:
			recorded[r.ID] = r
		}
	}
	planned := map[string]bool{}
	for _, b := range plan.Blocks {
		for _, t := range b.Trials {
			planned[t.ID] = true
			r, ok := recorded[t.ID]
			switch {
			case ok && r.Status == record.StatusOK:
				res.Done[t.ID] = r
			case ok:
				res.Again++
			case before[t.ID]:
				res.Open++
			default:
				res.New++
			}
		}
	}
	for id := range before {
		if !planned[id] {
			res.Dropped++
		}
	}
	return res
}

// String says in words what the next session will do.
func (r Resumption) String() string {
	s := fmt.Sprintf("%d trial(s) done", len(r.Done))
	for _, part := range []struct {
		n    int
		word string
	}{
		{r.Again, "not ok before, to run again"},
		{r.Open, "still to run"},
		{r.New, "new in the experiment"},
		{r.Dropped, "no longer in it (records kept)"},
	} {
		if part.n > 0 {
			s += fmt.Sprintf(", %d %s", part.n, part.word)
		}
	}
	return s
}

// Changes tells in which respects the conditions of a run differ from those
// of its earlier sessions, a sentence each: records made under different
// conditions should not be compared. What either manifest does not know is no
// difference.
func Changes(earlier, now record.Manifest) []string {
	var changes []string
	differ := func(what, a, b string) {
		if a != b && a != "" && b != "" {
			changes = append(changes, fmt.Sprintf("%s was %s, is now %s", what, a, b))
		}
	}
	if earlier.ExperimentSHA256 != now.ExperimentSHA256 && earlier.ExperimentSHA256 != "" {
		changes = append(changes, "the experiment file has changed since the run began")
	}
	differ("esched", earlier.Esched, now.Esched)
	differ("the cluster", earlier.Cluster, now.Cluster)
	if earlier.Seed != now.Seed {
		differ("the seed", fmt.Sprint(earlier.Seed), fmt.Sprint(now.Seed))
	}
	for _, name := range slices.Sorted(maps.Keys(now.Environments)) {
		a, known := earlier.Environments[name]
		if !known {
			continue
		}
		b := now.Environments[name]
		differ("Python of environment "+name, a.Python, b.Python)
		if packages := packageChanges(a.Packages, b.Packages); packages != "" {
			changes = append(changes, "packages of environment "+name+" differ: "+packages)
		}
	}
	hosts := map[string]record.Host{}
	for _, h := range earlier.Hosts {
		hosts[h.Name] = h
	}
	for _, b := range now.Hosts {
		a, known := hosts[b.Name]
		if !known && len(hosts) > 0 {
			changes = append(changes, "host "+b.Name+" was not part of the run before")
			continue
		}
		differ("the CPU of "+b.Name, a.CPU, b.CPU)
		differ("the kernel of "+b.Name, a.Kernel, b.Kernel)
		if known && a.Cores != b.Cores {
			differ("the number of cores of "+b.Name, fmt.Sprint(a.Cores), fmt.Sprint(b.Cores))
		}
	}
	return changes
}

// packageChanges lists up to five packages whose versions differ.
func packageChanges(a, b map[string]string) string {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a[name] != b[name] {
			list = append(list, fmt.Sprintf("%s %s -> %s", name, orNone(a[name]), orNone(b[name])))
		}
	}
	if n := len(list); n > 5 {
		list = append(list[:5], fmt.Sprintf("and %d more", n-5))
	}
	return strings.Join(list, ", ")
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}
