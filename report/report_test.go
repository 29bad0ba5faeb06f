package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/report"
	"github.com/esched/esched/report/assets"
	"github.com/esched/esched/report/charts"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

func TestECharts(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(assets.ECharts))
	if have := hex.EncodeToString(sum[:]); have != assets.EChartsSHA256 {
		t.Errorf("echarts.min.js: have %s, want %s", have, assets.EChartsSHA256)
	}
	if !strings.Contains(assets.ECharts, `version="`+assets.EChartsVersion+`"`) && !strings.Contains(assets.ECharts, assets.EChartsVersion) {
		t.Errorf("echarts.min.js does not name version %s", assets.EChartsVersion)
	}
	if strings.Contains(strings.ToLower(assets.ECharts), "</script") {
		t.Error("echarts.min.js would end its script element")
	}
}

// hand is a run of which everything can be worked out by hand: 2 tasks series
// on one condition, times 4, 4, 4 and 2, 2, 2 and for a failed one none.
func hand() *record.Run {
	run := &record.Run{Manifest: record.Manifest{Schema: 1, ID: "r", Name: "hand", Ended: time.Unix(1e9, 0)}}
	add := func(scheduler, kind, policy string, rep int, status record.Status, makespan float64) {
		t := record.Trial{Workload: "w", Size: "10 things", Scheduler: scheduler, Kind: kind, Policy: policy, Nodes: 1, Workers: 2, Threads: 2, Repetition: rep}
		t.ID = t.Identity()
		run.Records = append(run.Records, record.Record{Schema: 1, Trial: t, Status: status, MakespanS: makespan, Tasks: 8, Order: len(run.Records) + 1,
			PerWorker: []record.WorkerShare{{Worker: "a", BusyS: makespan}, {Worker: "b", BusyS: 2 * makespan}}})
	}
	for rep := 1; rep <= 3; rep++ {
		add("dask", "dask", "", rep, record.StatusOK, 4)
		add("sidekick", "sidekick", "random", rep, record.StatusOK, 2)
	}
	add("sidekick", "sidekick", "random", 4, record.StatusFailed, 0)
	return run
}

func TestByHand(t *testing.T) {
	t.Parallel()
	r := build(t, hand())
	if want := "On w 10 things with 2 workers, sidekick/random took 0.50 times the makespan of dask [0.50, 0.50]."; r.Headline != want {
		t.Errorf("headline: have %q, want %q", r.Headline, want)
	}
	if len(r.Cells) != 2 || len(r.Ratios) != 1 {
		t.Fatalf("have %d cells, %d ratios", len(r.Cells), len(r.Ratios))
	}
	c := r.Cells[1]
	if c.Series != "sidekick/random" || c.N != 3 || c.Failed != 1 || math.Abs(*c.GeoMean-2) > 1e-12 || *c.Tasks != 8 {
		t.Errorf("cell: have %+v", c)
	}
	// 3 of 4 thread-times are busy: worker a one of two, worker b both.
	if math.Abs(*c.Utilization-0.75) > 1e-12 {
		t.Errorf("utilization: have %v, want 0.75", *c.Utilization)
	}
	q := r.Ratios[0]
	if math.Abs(q.Value-0.5) > 1e-12 || q.N != 3 || math.Abs(q.SeriesS-2) > 1e-12 || math.Abs(q.BaselineS-4) > 1e-12 || q.Verdict != "faster" {
		t.Errorf("ratio: have %+v", q)
	}
	if row := r.Table(report.TableTrials).Rows[0]; row[1] != "failed" {
		t.Errorf("the first trial is %v, want the failed one", row)
	}
}

func TestRatioIsQuotientOfShownTimes(t *testing.T) {
	t.Parallel()
	r := build(t, reporttest.Run(reporttest.Shape{FailEvery: 5, Repetitions: 5, Noise: 0.3}))
	for _, q := range r.Ratios {
		if math.Abs(q.SeriesS/q.BaselineS/q.Value-1) > 1e-9 {
			t.Errorf("%s over %s: have %v, its times give %v", q.Series, q.Baseline, q.Value, q.SeriesS/q.BaselineS)
		}
	}
}

func TestTwoRunsAddRepetitions(t *testing.T) {
	t.Parallel()
	a, b := reporttest.Run(reporttest.Shape{Seed: 1, Repetitions: 2}), reporttest.Run(reporttest.Shape{Seed: 2, Repetitions: 2})
	for _, c := range build(t, a, b).Cells {
		if c.N != 4 || c.Interval == nil {
			t.Fatalf("have n = %d, interval %v; want 4 repetitions and an interval", c.N, c.Interval)
		}
	}
}

func TestNamesakes(t *testing.T) {
	t.Parallel()
	a, b := reporttest.Run(reporttest.Shape{Baselines: []string{"dask"}}), reporttest.Run(reporttest.Shape{Baselines: []string{"dask"}, Seed: 3})
	for i := range b.Records {
		b.Records[i].Settings = map[string]any{"distributed.worker.memory.target": false}
	}
	b.Manifest.Plan = nil
	r := build(t, a, b)
	var names []string
	for _, s := range r.Series {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, "dask #1") || !slices.Contains(names, "dask #2") {
		t.Errorf("have series %q", names)
	}
}

func TestSameReportTwice(t *testing.T) {
	t.Parallel()
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := build(t, reporttest.Run(reporttest.Shape{Sizes: []int{500}, Workers: []int{2}, Repetitions: 16})).WriteHTML(w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two reports of one run differ")
	}
}

func TestWordsFromOutsideAreNoProgram(t *testing.T) {
	t.Parallel()
	run := hand()
	for i := range run.Records {
		run.Records[i].Workload = `</script><script>alert(1)</script>`
		if run.Records[i].Policy != "" {
			run.Records[i].Policy = `x__f__+alert(2)+__f__"`
		}
		run.Records[i].Error = `<img src=x onerror=alert(3)>`
	}
	var b bytes.Buffer
	r := build(t, run)
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := strings.Replace(b.String(), assets.ECharts, "", 1)
	for _, f := range r.Figures {
		option, err := charts.Option(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(option, "__f__") || f.ID != "clocks" && !strings.Contains(option, `x_f_+alert(2)+_f_\"`) {
			t.Errorf("%s: the option has the policy's name as it came: %s", f.ID, option)
		}
	}
	for _, bad := range []string{"<script>alert", "<img"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

func TestUnknownTable(t *testing.T) {
	t.Parallel()
	err := build(t, hand()).WriteCSV(io.Discard, "cell")
	if err == nil || hint.Exit(err) != hint.ExitUsage || !strings.Contains(hint.Of(err), "cells") {
		t.Errorf("have %v, hint %q", err, hint.Of(err))
	}
}

func TestNumbersAsText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format report.Format
		value  any
		want   string
	}{
		{report.FormatSeconds, 4.7149, "4.71"}, {report.FormatSeconds, 12345.6, "12,346"}, {report.FormatSeconds, 0.0123456, "0.0123"},
		{report.FormatSeconds, 0.0, "0"}, {report.FormatSeconds, 9.996, "10.0"}, {report.FormatSeconds, 99.96, "100"}, {report.FormatSeconds, 1e-7, "1e-07"},
		{report.FormatCount, 1234567, "1,234,567"}, {report.FormatCount, 999.6, "1,000"}, {report.FormatPercent, 0.7234, "72.3"},
		{report.FormatRatio, 3.7, "3.70"}, {report.FormatRatio, 0.0123, "0.0123"}, {report.FormatBytes, float64(3 << 20), "3.0"},
		{report.FormatText, "", "–"}, {report.FormatSeconds, nil, "–"}, {report.FormatCount, -1234, "-1,234"},
	} {
		if have := (report.Column{Format: test.format}).Text(test.value); have != test.want {
			t.Errorf("%s of %v: have %q, want %q", test.format, test.value, have, test.want)
		}
	}
}

func TestNiceMax(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]float64{4.7: 5, 0.97: 1, 1: 1.2, 64: 80, 7e7: 8e7, 0: 1, math.Inf(1): 1} {
		if have := charts.NiceMax(v); math.Abs(have-want) > 1e-9*want {
			t.Errorf("NiceMax(%v): have %v, want %v", v, have, want)
		}
	}
}

func invented(trials int) *record.Run {
	return reporttest.Run(reporttest.Shape{Sizes: []int{500, 1000, 2000, 4000}, Workers: []int{1, 2, 4, 8}, Repetitions: max(1, trials/96)})
}

// BenchmarkReport makes whole reports; 1,000 trials are to take less than two
// seconds, and a page of 10,000 trials less than 5 MB.
func BenchmarkReport(b *testing.B) {
	for _, trials := range []int{1000, 10000} {
		b.Run(fmt.Sprint(trials), func(b *testing.B) {
			run := invented(trials)
			var size int
			peak := watchHeap(b)
			for b.Loop() {
				var page bytes.Buffer
				if err := build(b, run).WriteHTML(&page); err != nil {
					b.Fatal(err)
				}
				size = page.Len()
			}
			b.ReportMetric(float64(size)/1e6, "MB")
			b.ReportMetric(float64(peak())/1e6, "peak-heap-MB")
		})
	}
}

// watchHeap looks at the heap until peak is called, which returns the most
// bytes that were in use.
func watchHeap(b *testing.B) (peak func() uint64) {
	b.Helper()
	const every = 5 * time.Millisecond
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		var highest uint64
		for {
			metrics.Read(sample)
			highest = max(highest, sample[0].Value.Uint64())
			select {
			case <-ticks.C:
			case <-done:
				most <- highest
				return
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-most
	}
}
