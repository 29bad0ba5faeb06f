package report

import (
	"cmp"
	"errors"

	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/stats"
	"github.com/esched/esched/runners/record"
)

// CompareSchema is the version of the JSON form of a comparison.
const CompareSchema = 1

// Comparison is everything that is said of two runs, A before and B after. It
// is not changed by the writers, which may run at the same time.
type Comparison struct {
	Schema int `json:"schema"`
	// Title names the two runs.
	Title string `json:"title"`
	A     Side   `json:"a"`
	B     Side   `json:"b"`
	// Headline is the result in one sentence, Facts some more, Careful what
	// weakens them.
	Headline string   `json:"headline"`
	Facts    []string `json:"facts"`
	Careful  []string `json:"careful"`
	// Paired tells that repetitions of the same number were compared with each
	// other, Pairing why (or why not).
	Paired  bool   `json:"paired"`
	Pairing string `json:"pairing"`
	// Cells are the cells that both runs have times of, Uncompared the others,
	// Differences what else is not the same in A and B.
	Cells       []ComparedCell   `json:"cells"`
	Uncompared  []UncomparedCell `json:"uncompared"`
	Differences []SetupDiffers   `json:"differences"`
	// Threshold is nil unless one was given.
	Threshold *Threshold `json:"threshold,omitempty"`
	// Methods are the paragraphs on how it was compared.
	Methods []string `json:"methods"`

	tables  []Table
	figures []charts.Figure
}

// Side is one of the two runs.
type Side struct {
	Run    string `json:"run"`
	Name   string `json:"name"`
	Esched string `json:"esched"`
	// OK counts the measured trials with a result, Failed those without one,
	// Planned those that were planned (0 when that is not known).
	OK      int `json:"ok"`
	Failed  int `json:"failed"`
	Planned int `json:"planned"`
}

// CellName says which cell: a series under a condition. Who decides goes by
// the name that the experiment gave it.
type CellName struct {
	Condition
	Series    string `json:"series"`
	Scheduler string `json:"scheduler"`
	Policy    string `json:"policy,omitempty"`
	// Variant tells cells apart that have one name within a run: their settings
	// and environment.
	Variant string `json:"variant,omitempty"`
	// Worker is the kind of the workers, as in the records.
	Worker string `json:"worker,omitempty"`
}

// Times are the makespans of a cell on one side, in seconds: of the
// repetitions compared, the others left out.
type Times struct {
	N        int             `json:"n"`
	GeoMean  float64         `json:"geomean_s"`
	Mean     float64         `json:"mean_s"`
	Interval *stats.Interval `json:"interval"` // of the geometric mean
}

// ComparedCell compares B with A in one cell.
type ComparedCell struct {
	CellName
	A Times `json:"a"`
	B Times `json:"b"`
	// Ratio is B over A: the quotient of the two geometric means. Its verdict is
	// B's: faster, slower or undecided.
	Ratio stats.Ratio `json:"ratio"`
	// Difference is B less A in seconds: of the two arithmetic means.
	Difference stats.Difference `json:"difference"`
	// Test is by ranks; HolmP is its P corrected for the number of cells.
	Test  *stats.Test `json:"rank_test"`
	HolmP *float64    `json:"holm_p"`
	// A12 is the probability that a time of B is larger than one of A, Cliff's
	// delta the same from -1 to 1.
	A12        float64         `json:"a12"`
	CliffDelta float64         `json:"cliffs_delta"`
	Effect     stats.Magnitude `json:"effect"`
	// Beyond tells that the whole interval is beyond the threshold.
	Beyond bool `json:"beyond_threshold"`
	// ResultsDiffer tells that A and B computed different results.
	ResultsDiffer bool `json:"results_differ"`

	color int
}

// UncomparedCell is a cell that cannot be compared, and why.
type UncomparedCell struct {
	CellName
	Why string `json:"why"`
}

// SetupDiffers is something of the set-up that is not the same in A and B.
type SetupDiffers struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Threshold is how much slower B may be.
type Threshold struct {
	// Limit is a share: 0.05 for 5 %.
	Limit float64 `json:"limit"`
	// Beyond are the cells whose interval is wholly beyond it, in words. Judged
	// counts the cells that have an interval, Unjudged the others.
	Beyond   []string `json:"beyond"`
	Judged   int      `json:"judged"`
	Unjudged int      `json:"unjudged"`
}

// CompareOptions says how to compare. The zero value judges by no threshold.
type CompareOptions struct {
	// Threshold is how much slower than A, as a share, B may be in each cell;
	// nil for no judgement.
	Threshold *float64
}

// Compare compares the times of run B with those of run A, cell by cell.
// Damaged runs are compared as far as they can be read; an error means that
// neither has a record.
func Compare(a, b *record.Run, o CompareOptions) (*Comparison, error) {
	if len(a.Records)+len(b.Records) == 0 {
		return nil, errors.New("comparison: neither run has a record")
	}
	x := &comparer{sides: [2]*record.Run{a, b}}
	c := &Comparison{Schema: CompareSchema, A: side(a), B: side(b)}
	c.Title = c.A.Run + " (A) and " + c.B.Run + " (B)"
	c.Paired, c.Pairing = x.pairing()
	x.collect()
	c.Cells, c.Uncompared = x.compare(c.Paired)
	correct(c.Cells)
	c.Differences = x.differences()
	c.judge(o.Threshold)
	c.Headline = c.headline()
	c.Facts = c.facts()
	c.Careful = x.careful(c)
	c.Methods = x.methods(c)
	c.tables = []Table{c.cellTable(), c.uncomparedTable(), c.differencesTable()}
	c.figures = c.draw()
	for _, f := range c.figures {
		c.tables = append(c.tables, dataTable(f))
	}
	return c, nil
}

func side(run *record.Run) Side {
	s := Side{Run: cmp.Or(run.Manifest.ID, run.Dir, "unnamed run"), Name: run.Manifest.Name, Esched: run.Manifest.Esched}
	for _, rec := range run.Records {
		switch {
		case rec.Warmup:
		case rec.Status == record.StatusOK:
			s.OK++
		default:
			s.Failed++
		}
	}
	for _, p := range run.Manifest.Plan {
		if !p.Warmup {
			s.Planned++
		}
	}
	return s
}

// correct fills in the corrected P of all cells that have one.
func correct(cells []ComparedCell) {
	var p []float64
	for _, c := range cells {
		if c.Test != nil {
			p = append(p, c.Test.P)
		}
	}
	p = stats.Holm(p)
	for i := range cells {
		if cells[i].Test != nil {
			cells[i].HolmP, p = new(p[0]), p[1:]
		}
	}
}

// judge compares the intervals with the threshold.
func (c *Comparison) judge(limit *float64) {
	if limit == nil {
		return
	}
	t := &Threshold{Limit: *limit, Beyond: []string{}}
	for i := range c.Cells {
		cell := &c.Cells[i]
		if cell.Ratio.Interval == nil {
			t.Unjudged++
			continue
		}
		t.Judged++
		if cell.Ratio.Interval.Lo > 1+*limit {
			cell.Beyond = true
			t.Beyond = append(t.Beyond, cell.words())
		}
	}
	t.Unjudged += len(c.Uncompared)
	c.Threshold = t
}
