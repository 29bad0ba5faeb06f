package das

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/esched/esched/reserve"
)

var june = time.Date(2026, 6, 21, 7, 10, 0, 0, time.UTC)

func TestParseListing(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 6, 21, hour, minute, 0, 0, time.UTC) }
	const head = "Sun Jun 21 07:10:00 CEST 2026\n\nid\tuser\t\tstart\t\tstop\t\tstate\tnhosts\thosts\n"
	for _, c := range []struct {
		name, output string
		want         []row
	}{
		{"nothing reserved", head, nil},
		{"running", head + "351651\tcore2435\t06/21\t07:02\t06/21\t07:18\tR\t2\tnode001 node015\n",
			[]row{{"351651", "core2435", at(7, 2), at(7, 18), "R", 2, []string{"node001", "node015"}}}},
		{"hosts in columns of their own", head + "7\tu\t06/21\t07:02\t06/21\t07:18\tR\t2\tnode001\tnode015\n",
			[]row{{"7", "u", at(7, 2), at(7, 18), "R", 2, []string{"node001", "node015"}}}},
		{"pending", head + "8\tu\t06/21\t09:00\t06/21\t09:15\tPD\t4\t-\n", []row{{"8", "u", at(9, 0), at(9, 15), "PD", 4, nil}}},
		{"number of hosts not told", head + "8\tu\t06/21\t09:00\t06/21\t09:15\tPD\t-\t-\n", []row{{"8", "u", at(9, 0), at(9, 15), "PD", -1, nil}}},
		{"dates not told", head + "8\tu\t-\t-\t-\t-\tPD\t4\t-\n9\tv\tN/A\tPD\t1\t-\n",
			[]row{{id: "8", user: "u", state: "PD", nodes: 4}, {id: "9", user: "v", state: "PD", nodes: 1}}},
		{"ranges", head + "8\tu\t06/21\t07:02\t06/21\t07:18\tr\t3\tnode[001-003]\n",
			[]row{{"8", "u", at(7, 2), at(7, 18), "r", 3, []string{"node001", "node002", "node003"}}}},
		{"other lines around", "Welcome\nid user\n\n8 u 06/21 07:02 06/21 07:18 R 1 node001\nTotal: 1 reservations\n",
			[]row{{"8", "u", at(7, 2), at(7, 18), "R", 1, []string{"node001"}}}},
		{"cut short", head + "8\tu\n9\tu\t06/21\t07:02\t06/21\t07:18\n", nil},
	} {
		if have, err := parseListing(c.output, june); err != nil || !reflect.DeepEqual(have, c.want) {
			t.Errorf("%s:\nwant %+v\nhave %+v, %v", c.name, c.want, have, err)
		}
	}
	for _, output := range []string{"", "command not found\n", "351651 u R\n"} {
		if _, err := parseListing(output, june); !errors.Is(err, errNoListing) {
			t.Errorf("%q: want no listing, have %v", output, err)
		}
	}
}

func TestYearless(t *testing.T) {
	t.Parallel()
	day := func(year, month, day int) time.Time {
		return time.Date(year, time.Month(month), day, 12, 0, 0, 0, time.UTC)
	}
	for _, c := range []struct {
		name      string
		now, want time.Time
		date      string
	}{
		{"today", day(2026, 6, 21), day(2026, 6, 21), "06/21"},
		{"last night of the year, in the new one", day(2027, 1, 1), day(2026, 12, 31), "12/31"},
		{"new year, from the old one", day(2026, 12, 31), day(2027, 1, 1), "01/01"},
		{"leap day", day(2028, 3, 1), day(2028, 2, 29), "02/29"},
		{"leap day far from a leap year", day(2026, 3, 1), time.Time{}, "02/29"},
		{"no date", day(2026, 3, 1), time.Time{}, "13/01"},
	} {
		if have := yearless(c.date, "12:00", c.now); !have.Equal(c.want) {
			t.Errorf("%s: want %v, have %v", c.name, c.want, have)
		}
	}
	// Clocks are set forward in the night before: 15 minutes remain 15 minutes.
	zone, err := time.LoadLocation("Europe/Amsterdam")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, zone)
	if have := yearless("03/29", "12:15", now).Sub(now); have != 15*time.Minute {
		t.Errorf("after the change of clocks: have %v", have)
	}
}

func TestRowStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    row
		want reserve.State
	}{
		{row{state: "R", nodes: 2, hosts: []string{"a", "b"}}, reserve.Running},
		{row{state: "r", nodes: -1, hosts: []string{"a"}}, reserve.Running},
		{row{state: "R", nodes: 2, hosts: []string{"a"}}, reserve.Pending},
		{row{state: "R", nodes: 2}, reserve.Pending},
		{row{state: "PD", nodes: 2}, reserve.Pending},
		{row{state: "whatever", nodes: 2, hosts: []string{"a", "b"}}, reserve.Pending},
		{row{state: "CG", nodes: 2, hosts: []string{"a", "b"}}, reserve.Gone},
		{row{state: "NF", nodes: 1}, reserve.Failed},
	} {
		if have := c.r.status(); have.State != c.want || have.State != reserve.Running && len(have.Hosts) > 0 {
			t.Errorf("%+v: want %s, have %+v", c.r, c.want, have)
		}
	}
}

func TestParseNumber(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"Reservation number 351651:\n":                     "351651",
		"Reservation number 351651:\n2 nodes for 00:15:00": "351651",
		"note\nReservation number 12: \n":                  "12",
		"Reservation number 12":                            "12",
		"Reservation number x:":                            "",
		"preserve: no nodes":                               "",
		"":                                                 "",
	} {
		if have, err := parseNumber(output); have != want || (err == nil) != (want != "") {
			t.Errorf("%q: want %q, have %q, %v", output, want, have, err)
		}
	}
}

func FuzzParseListing(f *testing.F) {
	f.Add("id\tuser\n351651\tcore2435\t06/21\t07:02\t06/21\t07:18\tR\t2\tnode001 node015\n")
	f.Add("id\n8\tu\t-\t-\tPD\t-\t-\n")
	f.Add("id\n1 a R 1 node[1-3],x[1-2]\n")
	f.Fuzz(func(t *testing.T, output string) {
		rows, err := parseListing(output, june)
		if err != nil && len(rows) > 0 {
			t.Errorf("rows %v with %v", rows, err)
		}
		for _, r := range rows {
			if !number(r.id) || r.user == "" || r.state == "" {
				t.Errorf("incomplete row %+v", r)
			}
			for _, at := range []time.Time{r.start, r.stop} {
				if !at.IsZero() && at.Sub(june).Abs() > 3*366*24*time.Hour {
					t.Errorf("%v is far from now", at)
				}
			}
			if s := r.status(); s.State == reserve.Running && len(s.Hosts) == 0 {
				t.Errorf("running without hosts: %+v", r)
			}
		}
	})
}
