package das

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/esched/esched/reserve"
)

// row is what "preserve -llist" tells of one reservation.
type row struct {
	id, user    string
	start, stop time.Time // zero when not told
	state       string
	nodes       int // -1 when not told
	hosts       []string
}

// errNoListing tells that an output is no listing at all. An empty list of
// reservations still has a header.
var errNoListing = errors.New(`output has no line that begins with "id"`)

// parseListing reads the output of "preserve -llist". Lines before the header
// differ between sites and are skipped; so are lines below that are no
// reservation. Dates have no year: the one that puts them nearest to now is
// taken, which is right for anything less than half a year away.
func parseListing(output string, now time.Time) ([]row, error) {
	var rows []row
	header := false
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case !header:
			header = strings.EqualFold(fields[0], "id")
		default:
			if r, ok := parseRow(fields, now); ok {
				rows = append(rows, r)
			}
		}
	}
	if !header {
		return nil, errNoListing
	}
	return rows, nil
}

// parseRow reads the words of one line: id, user, date and time of start and
// of stop, state, number of hosts, hosts. Dates may be missing or dashes, so
// the state is recognised as the first word after them.
func parseRow(fields []string, now time.Time) (row, bool) {
	if len(fields) < 4 || !number(fields[0]) {
		return row{}, false
	}
	r := row{id: fields[0], user: fields[1], nodes: -1}
	at := 2
	var dates []string
	for at < len(fields) && dateLike(fields[at]) {
		dates = append(dates, fields[at])
		at++
	}
	if at == len(fields) {
		return row{}, false
	}
	r.state = fields[at]
	if len(dates) == 4 {
		r.start, r.stop = yearless(dates[0], dates[1], now), yearless(dates[2], dates[3], now)
	}
	if at++; at < len(fields) {
		if n, err := strconv.Atoi(fields[at]); err == nil {
			r.nodes = n
		}
		at++
	}
	for _, word := range fields[min(at, len(fields)):] {
		if word == "-" {
			continue // not chosen yet
		}
		hosts, err := reserve.ExpandHosts(word)
		if err != nil {
			return row{}, false
		}
		r.hosts = append(r.hosts, hosts...)
	}
	return r, true
}

func number(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// dateLike tells whether a word stands in the columns of dates and times.
func dateLike(word string) bool {
	return strings.Trim(word, "0123456789/:.-") == "" || strings.EqualFold(word, "n/a")
}

// yearless reads "MM/DD" and "HH:MM" as the moment nearest to now; zero when
// they are something else.
func yearless(date, clock string, now time.Time) time.Time {
	day, err := time.Parse("01/02 15:04", date+" "+clock)
	if err != nil {
		return time.Time{}
	}
	var best time.Time
	for year := now.Year() - 1; year <= now.Year()+1; year++ {
		t := time.Date(year, day.Month(), day.Day(), day.Hour(), day.Minute(), 0, 0, now.Location())
		if t.Month() != day.Month() {
			continue // the year has no February 29
		}
		if best.IsZero() || t.Sub(now).Abs() < best.Sub(now).Abs() {
			best = t
		}
	}
	return best
}

// parseNumber finds the reservation's number in what preserve prints when it
// made one: "Reservation number 351651:".
func parseNumber(output string) (string, error) {
	for line := range strings.Lines(output) {
		word, ok := strings.CutPrefix(strings.TrimSpace(line), "Reservation number ")
		if !ok {
			continue
		}
		word, _, _ = strings.Cut(word, ":")
		if number(word) {
			return word, nil
		}
	}
	return "", fmt.Errorf("no reservation number in %q", strings.TrimSpace(output))
}
