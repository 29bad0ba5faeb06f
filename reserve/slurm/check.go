package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Check implements reserve.Reserver. It asks sinfo for the partition: with
// SLURM's default settings a job that is too large or too long for its
// partition waits for ever.
func (r *Reserver) Check(ctx context.Context, q reserve.Request) error {
	if err := r.config.Check(ctx, q); err != nil {
		return err
	}
	out, err := r.run(ctx, askLimit, "sinfo", "--noheader", "--format="+partitionFormat)
	if err != nil {
		return err
	}
	p, err := r.partition(parsePartitions(out))
	if err != nil {
		return err
	}
	return p.check(q, r.config.Constraint)
}

func refuse(mend, format string, values ...any) error {
	return hint.Usage(fmt.Errorf(format, values...), mend)
}

// partitionFormat tells name, time limit, nodes a job may have, number of
// nodes and their features; sinfo writes a line for each combination.
const partitionFormat = "%P|%l|%s|%D|%f"

// partition is what sinfo tells of one.
type partition struct {
	name    string
	chosen  bool          // it is the default one
	limit   time.Duration // 0 for none
	jobMax  int           // nodes in one job, 0 for no limit
	nodes   int
	feature map[string]int // nodes that have it
}

func parsePartitions(text string) []partition {
	var all []partition
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) < 5 {
			continue
		}
		name, chosen := strings.CutSuffix(f[0], "*")
		i := slices.IndexFunc(all, func(p partition) bool { return p.name == name })
		if i < 0 {
			i = len(all)
			p := partition{name: name, chosen: chosen, limit: parseLimit(f[1]), feature: map[string]int{}}
			if _, most, ranged := strings.Cut(f[2], "-"); ranged {
				p.jobMax, _ = strconv.Atoi(most) // "infinite"
			} else {
				p.jobMax, _ = strconv.Atoi(f[2])
			}
			all = append(all, p)
		}
		n, err := strconv.Atoi(f[3])
		if err != nil {
			continue
		}
		all[i].nodes += n
		for word := range strings.SplitSeq(f[4], ",") {
			all[i].feature[word] += n
		}
	}
	return all
}

// parseLimit reads SLURM's [[days-]hours:]minutes:seconds. What is not of this
// form, such as "infinite", is no limit.
func parseLimit(s string) time.Duration {
	days, rest, dashed := strings.Cut(s, "-")
	if !dashed {
		days, rest = "0", s
	}
	parts := strings.Split(rest, ":")
	if dashed { // hours come first, whatever follows
		for len(parts) < 3 {
			parts = append(parts, "0")
		}
	}
	d, err := strconv.Atoi(days)
	if err != nil || len(parts) < 2 || len(parts) > 3 {
		return 0
	}
	seconds := 0
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return 0
		}
		seconds = seconds*60 + n
	}
	return time.Duration(d)*24*time.Hour + time.Duration(seconds)*time.Second
}

// partition returns the one that jobs go to. Several may be named, separated
// by commas; the first one counts for the checks.
func (r *Reserver) partition(all []partition) (partition, error) {
	name, _, _ := strings.Cut(r.config.Partition, ",")
	var names []string
	for _, p := range all {
		if name == p.name || name == "" && p.chosen {
			return p, nil
		}
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return partition{}, hint.With(fmt.Errorf("sinfo lists no partitions"), "ask the cluster's administrators, or choose another cluster with --cluster")
	}
	if name == "" {
		return partition{}, refuse("set partition of the cluster's profile to one of: "+strings.Join(names, ", "), "the cluster has no default partition")
	}
	return partition{}, refuse("set partition of the cluster's profile to one of: "+strings.Join(names, ", "), "the cluster has no partition %q", name)
}

func (p partition) check(q reserve.Request, constraint string) error {
	least := func(n int) string {
		return fmt.Sprintf("ask for up to %d nodes, or choose another partition or cluster", n)
	}
	if q.Nodes > p.nodes {
		return refuse(least(p.nodes), "%d nodes asked, partition %s has %d", q.Nodes, p.name, p.nodes)
	}
	if p.jobMax > 0 && q.Nodes > p.jobMax {
		return refuse(least(p.jobMax), "%d nodes asked, partition %s gives up to %d to one job", q.Nodes, p.name, p.jobMax)
	}
	// An expression with operators is sbatch's business.
	if constraint != "" && !strings.ContainsAny(constraint, "&|,*[]()") && q.Nodes > p.feature[constraint] {
		return refuse(least(p.feature[constraint]), "%d nodes with %s asked, partition %s has %d", q.Nodes, constraint, p.name, p.feature[constraint])
	}
	if p.limit > 0 && q.Claim > p.limit {
		return refuse(fmt.Sprintf("set claim_time to up to %v, or choose another partition", p.limit),
			"%v claimed, partition %s gives up to %v", q.Claim, p.name, p.limit)
	}
	return nil
}
