package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/esched/esched/report"
	"github.com/esched/esched/report/reporttest"
	"github.com/esched/esched/runners/record"
)

// maxPage is what the page of 10,000 trials may take, traced ones included.
const maxPage = 5_000_000

// TestPageOfManyTrials holds that a page of 10,000 trials stays small enough
// to be sent around, and still has every one of them.
func TestPageOfManyTrials(t *testing.T) {
	t.Parallel()
	r, err := report.BuildWith([]*record.Run{reporttest.Trace(invented(10000))}, report.Options{Timeline: reporttest.Timeline, Chain: reporttest.Chain})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if page.Len() > maxPage {
		t.Errorf("the page has %d bytes, want at most %d", page.Len(), maxPage)
	}
	trials := r.Table(report.TableTrials)
	_, body, _ := strings.Cut(page.String(), `<table id="trials"`)
	body, _, _ = strings.Cut(body, "</tbody>")
	if have := strings.Count(body, "\n<tr"); have < 9900 || have != len(trials.Rows) {
		t.Errorf("the page has %d rows of trials, the table %d", have, len(trials.Rows))
	}
}
