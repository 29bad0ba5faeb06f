package dashboard

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/runners/record"
)

// told runs Plain over events.
func told(t *testing.T, opts Options, events []record.Event) string {
	t.Helper()
	ch := make(chan record.Event)
	go func() {
		defer close(ch)
		for _, e := range events {
			ch <- e
		}
	}()
	var out strings.Builder
	if err := Plain(&out, opts, ch); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPlain(t *testing.T) {
	t.Parallel()
	d := demo{repetitions: 2, workers: 2, nodes: 2}
	for _, charset := range []string{"unicode", "ascii"} {
		t.Run(charset, func(t *testing.T) {
			t.Parallel()
			opts := demoOptions(d.manifest())
			opts.ASCII = charset == "ascii"
			have := told(t, opts, d.events())
			golden(t, "plain-"+charset+".golden", have)
			if strings.Contains(have, "\x1b") {
				t.Error("an escape code")
			}
			if lines := strings.Count(have, "\n"); lines != len(d.events()) {
				t.Errorf("have %d lines for %d events, want one each, the report's as the last", lines, len(d.events()))
			}
		})
	}
}

func TestPlainLastLine(t *testing.T) {
	t.Parallel()
	start := record.Event{Kind: record.EventRunStarted, Message: "runs/x", Total: 1, Time: demoStart}
	report := record.Event{Kind: record.EventReport, Message: "runs/x/report.html", Time: demoStart}
	end := func(code int) record.Event {
		return record.Event{Kind: record.EventRunEnded, ExitCode: code, Time: demoStart}
	}
	tests := []struct {
		name   string
		events []record.Event
		want   string
	}{
		{"all good", []record.Event{start, report, end(0)}, "report: runs/x/report.html"},
		{"some failed", []record.Event{start, report, end(3)}, "report: runs/x/report.html  (exit code 3: finished, some trials failed)"},
		{"no nodes", []record.Event{start, end(4)}, "no report was made; records: runs/x  (exit code 4: no nodes were granted in time)"},
		{"interrupted", []record.Event{start, report, end(130)}, "report: runs/x/report.html  (exit code 130: interrupted; esched run --resume goes on with it)"},
		{"no end", []record.Event{start}, "the run stopped telling of itself before its end; what it recorded is in runs/x"},
		{"nothing", nil, "the run stopped telling of itself before its end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := strings.Split(strings.TrimSpace(told(t, demoOptions(nil), tt.events)), "\n")
			if have := lines[len(lines)-1]; have != tt.want {
				t.Errorf("have %q, want %q", have, tt.want)
			}
		})
	}
}

// fullDisk takes one line.
type fullDisk struct{ lines int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.lines++; d.lines > 1 {
		return 0, errFull
	}
	return len(b), nil
}

func TestPlainGoesOnWithoutOutput(t *testing.T) {
	t.Parallel()
	events := make(chan record.Event)
	done := make(chan error, 1)
	go func() { done <- Plain(&fullDisk{}, demoOptions(nil), events) }()
	for range 100 {
		select {
		case events <- record.Event{Kind: record.EventWarning, Message: "x", Time: demoStart}:
		case <-time.After(patience):
			t.Fatal("the run is held up")
		}
	}
	close(events)
	if err := <-done; !errors.Is(err, errFull) {
		t.Errorf("have error %v, want %v", err, errFull)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ have, want string }{
		{grouped("2000 chunks"), "2,000 chunks"},
		{grouped("1e6"), "1e6"},
		{grouped("0123 x"), "0123 x"},
		{count(-1234567), "-1,234,567"},
		{count(999), "999"},
		{digits(0.0004), "0.000"},
		{digits(0.8299), "0.830"},
		{digits(0.9996), "1.00"},
		{digits(9.996), "10.0"},
		{digits(99.96), "100"},
		{digits(12345.6), "12,346"},
		{clock(3725 * time.Second), "1:02:05"},
		{clock(59600 * time.Millisecond), "01:00"},
		{clock(-time.Second), "00:00"},
		{micros(0.41), "0.41 µs"},
		{micros(41000), "41 ms"},
		{micros(2.5e6), "2.50 s"},
		{clean("\x1b[31mno\x1b[0m\nroom\t!"), "no room !"},
		{ascii("4.5–4.8 s · ✗"), "4.5-4.8 s | x"},
	}
	for _, tt := range tests {
		if tt.have != tt.want {
			t.Errorf("have %q, want %q", tt.have, tt.want)
		}
	}
}
