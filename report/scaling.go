package report

import (
	"maps"
	"slices"

	"github.com/esched/esched/report/stats"
)

// scaled is one series on one workload and size over numbers of workers.
type scaled struct {
	Workload, Size, Params string
	series                 Series
	index                  int
	condition              Condition // of the first point
	points                 []scalePoint
}

// scalePoint is a number of workers with its time and its speedup over the
// first point of its series.
type scalePoint struct {
	workers  int
	n        int
	time     float64
	interval *stats.Interval
	speedup  float64
	gain     *stats.Interval // of the speedup
}

// scaling returns the series that were measured on two or more numbers of
// workers with threads kept the same.
func (b *builder) scaling() []scaled {
	type key struct {
		workload, size, params string
		threads, series        int
	}
	groups := make(map[key][]*Cell)
	var keys []key
	for _, c := range b.cells { // by workload, size, workers, series
		if c.GeoMean == nil {
			continue
		}
		k := key{c.Workload, c.Size, c.Params, c.Threads, c.series}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		// Of several deployments with as many workers (2 nodes with 2, or 1 with
		// 4), the one on fewer nodes is first and stands for them.
		there := func(o *Cell) bool { return o.Workers == c.Workers }
		if !slices.ContainsFunc(groups[k], there) {
			groups[k] = append(groups[k], c)
		}
	}
	var all []scaled
	for _, k := range keys {
		g := groups[k]
		slices.SortStableFunc(g, func(x, y *Cell) int { return x.Workers - y.Workers })
		if len(g) < 2 || g[0].Workers == g[len(g)-1].Workers {
			continue
		}
		s := scaled{Workload: k.workload, Size: k.size, Params: k.params, series: b.series[k.series], index: k.series, condition: g[0].Condition}
		for i, c := range g {
			p := scalePoint{workers: c.Workers, n: c.N, time: *c.GeoMean, interval: c.Interval, speedup: 1}
			if i > 0 {
				if r := stats.CompareTimes(g[0].makespans, c.makespans, stats.Seed); r != nil {
					p.speedup, p.gain = r.Value, r.Interval
				}
			}
			s.points = append(s.points, p)
		}
		all = append(all, s)
	}
	return all
}

// workerCounts returns the numbers of workers of several series, ascending.
func workerCounts(all []scaled) []int {
	set := make(map[int]bool)
	for _, s := range all {
		for _, p := range s.points {
			set[p.workers] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
