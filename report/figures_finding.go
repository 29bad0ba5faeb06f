package report

import (
	"fmt"

	"github.com/esched/esched/report/stats"
)

// lead is how the series stand under a condition: first has the lowest mean,
// next the second lowest (nil when there is no other).
type lead struct {
	first, next *Cell
	// clear tells that the interval of their ratio leaves out 1.
	clear bool
}

// leadOf finds who leads under a condition; first is nil without results.
func (b *builder) leadOf(condition int) lead {
	var l lead
	for s := range b.series {
		c := b.cell(condition, s)
		switch {
		case c == nil || c.GeoMean == nil || !b.shows(s):
		case l.first == nil || *c.GeoMean < *l.first.GeoMean:
			l.first, l.next = c, l.first
		case l.next == nil || *c.GeoMean < *l.next.GeoMean:
			l.next = c
		}
	}
	if l.next != nil {
		r := stats.CompareTimes(l.first.makespans, l.next.makespans, stats.Seed)
		l.clear = r != nil && r.Verdict == stats.Faster
	}
	return l
}

// makespanFinding says what a figure of makespans shows: who is fastest, and
// whether that is more than chance.
func (b *builder) makespanFinding(workload string, panel []int) string {
	wins, certain := make(map[int]int), make(map[int]int)
	winner := -1
	var last lead
	for _, condition := range panel {
		l := b.leadOf(condition)
		if l.first == nil {
			continue
		}
		last = l
		wins[l.first.series]++
		if l.clear {
			certain[l.first.series]++
		}
		if winner < 0 || wins[l.first.series] >= wins[winner] {
			winner = l.first.series
		}
	}
	if winner < 0 {
		return "No series has times on " + workload
	}
	name, n := b.series[winner].Name, wins[winner]
	on := plural(b.conditions[panel[0]].Workers, "worker")
	seconds := func(c *Cell) string { return number(FormatSeconds, *c.GeoMean) + " s" }
	if len(panel) == 1 {
		size := fmt.Sprintf("%s %s", workload, last.first.Size)
		switch {
		case last.next == nil:
			return fmt.Sprintf("%s takes %s with %s and %s", size, seconds(last.first), name, on)
		case last.clear:
			return fmt.Sprintf("%s is the fastest on %s with %s: %s", name, size, on, seconds(last.first))
		}
		return fmt.Sprintf("%s takes least on %s with %s, %s, but not clearly less than %s, %s", name, size, on, seconds(last.first), last.next.Series, seconds(last.next))
	}
	where := fmt.Sprintf("at %d of %d sizes", n, len(panel))
	switch {
	case n == len(panel) && n == 2:
		where = "at both sizes"
	case n == len(panel):
		where = fmt.Sprintf("at all %d sizes", n)
	}
	switch certain[winner] {
	case n:
		return fmt.Sprintf("%s is the fastest on %s %s with %s", name, workload, where, on)
	case 0:
		return fmt.Sprintf("%s takes least on %s %s with %s, but nowhere clearly less than the next", name, workload, where, on)
	}
	return fmt.Sprintf("%s takes least on %s %s with %s, clearly so at %d", name, workload, where, on, certain[winner])
}
