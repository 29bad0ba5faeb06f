package report_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/charts"
)

// values asks ECharts for the data of all series of all charts that it drew.
const values = `Object.fromEntries(Array.from(document.querySelectorAll('.chart'), (box) =>
	[box.id, echarts.getInstanceByDom(box).getOption().series.map((s) => ({name: s.name, data: s.data.map((d) => d.value)}))]))`

// shownSeries is a series of a chart: every datum has its numbers, and perhaps
// a label behind them. The first coordinate may be off by slack, since points
// are set beside one another.
type shownSeries struct {
	Name  string  `json:"name"`
	Data  [][]any `json:"data"`
	slack float64
}

// checkValues holds that charts in the page have the numbers that the report
// computed, all of them, in their order.
func checkValues(t *testing.T, r *report.Report, answered json.RawMessage, narrow bool) {
	t.Helper()
	have := answer[map[string][]shownSeries](t, answered)
	numbers := 0
	for _, f := range r.Figures {
		shown, want := have[f.ID], computedSeries(f, narrow)
		if len(shown) != len(want) {
			t.Errorf("%s: have %d series, want %d", f.ID, len(shown), len(want))
			continue
		}
		for i, w := range want {
			if s := shown[i]; s.Name != w.Name || len(s.Data) != len(w.Data) {
				t.Errorf("%s: series %d is %q with %d values, want %q with %d", f.ID, i, s.Name, len(s.Data), w.Name, len(w.Data))
				continue
			}
			for j, datum := range w.Data {
				numbers += len(datum)
				if !sameDatum(shown[i].Data[j], datum, w.slack) {
					t.Errorf("%s: value %d of %q is %v, want %v", f.ID, j, w.Name, shown[i].Data[j], datum)
				}
			}
		}
	}
	if numbers == 0 {
		t.Error("no chart has values")
	}
}

func sameDatum(have, want []any, slack float64) bool {
	if len(have) != len(want) {
		return false
	}
	for i, w := range want {
		v, number := w.(float64)
		if !number {
			if have[i] != w {
				return false
			}
			continue
		}
		h, ok := have[i].(float64)
		if !ok || math.Abs(h-v) > 1e-12*math.Abs(v)+slack {
			return false
		}
		slack = 0
	}
	return true
}

// computedSeries are the series that a figure is drawn with: for each mark its
// points or areas, its intervals, and where there is room its labels.
func computedSeries(f charts.Figure, narrow bool) []shownSeries {
	rows := len(f.Y.Categories) > 0
	var all []shownSeries
	for _, m := range f.Marks {
		points, intervals, labels := shownSeries{Name: m.Series}, shownSeries{Name: m.Series}, shownSeries{Name: "labels"}
		area := m.Shape == charts.Bars || m.Shape == charts.Thin || m.Shape == charts.Cells
		if !rows && !f.X.Log && (m.Shape == charts.Line || m.Shape == charts.Raw) {
			points.slack = 0.03 * max(f.X.Max, float64(len(f.X.Categories)))
			intervals.slack = points.slack
		}
		for _, p := range m.Point {
			switch {
			case area && p.To != nil:
				points.Data = append(points.Data, []any{p.X, p.Y, *p.To})
			case area:
				points.Data = append(points.Data, []any{p.X, p.Y, p.X})
			default:
				points.Data = append(points.Data, []any{p.X, p.Y})
			}
			if p.Lo != nil && p.Hi != nil {
				ends := []any{p.X, *p.Lo, *p.Hi}
				if rows {
					ends = []any{*p.Lo, p.Y, *p.Hi}
				}
				intervals.Data = append(intervals.Data, ends)
			}
			if p.Label != "" && m.Shape != charts.Cells && !narrow {
				labels.Data = append(labels.Data, []any{p.X, p.Y, p.Label})
			}
		}
		all = append(all, points)
		for _, more := range []shownSeries{intervals, labels} {
			if len(more.Data) > 0 && m.Shape != charts.Cells {
				all = append(all, more)
			}
		}
	}
	return all
}
