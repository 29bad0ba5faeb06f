package slurm

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/reserve"
)

func TestParseJSON(t *testing.T) {
	t.Parallel()
	start, end := time.Unix(1795275594, 0), time.Unix(1795275894, 0)
	want := job{id: "7", name: "esched-x", states: []string{"RUNNING"}, reason: "None", nodes: "node[001-002]", start: start, end: end}
	for _, c := range []struct {
		name, text string
		want       []job
		bad        bool
	}{
		{"22.05", `{"meta":{},"errors":[],"jobs":[{"job_id":7,"name":"esched-x","comment":"c","job_state":"RUNNING",
			"state_reason":"None","nodes":"node[001-002]","start_time":1795275594,"end_time":1795275894,"time_limit":5}]}`, []job{want}, false},
		{"23.11", `{"jobs":[{"job_id":7,"name":"esched-x","comment":{"job":"c"},"job_state":["RUNNING"],"state_reason":"None","nodes":"node[001-002]",
			"start_time":{"set":true,"infinite":false,"number":1795275594},"end_time":{"set":true,"infinite":false,"number":1795275894}}],"last_update":{}}`,
			[]job{want}, false},
		{"no times, old", `{"jobs":[{"job_id":7,"name":"n","job_state":"PENDING","state_reason":"Resources","nodes":"","start_time":0,"end_time":4294967294}]}`,
			[]job{{id: "7", name: "n", states: []string{"PENDING"}, reason: "Resources"}}, false},
		{"no times, new", `{"jobs":[{"job_id":7,"name":"n","job_state":["PENDING"],"state_reason":"Resources","nodes":"",
			"start_time":{"set":false,"infinite":false,"number":0},"end_time":{"set":true,"infinite":true,"number":0}}]}`,
			[]job{{id: "7", name: "n", states: []string{"PENDING"}, reason: "Resources"}}, false},
		{"flags", `{"jobs":[{"job_id":7,"name":"n","job_state":["CANCELLED","COMPLETING"],"nodes":""}]}`,
			[]job{{id: "7", name: "n", states: []string{"CANCELLED", "COMPLETING"}}}, false},
		{"number in quotes", `{"jobs":[{"job_id":"7","name":"n","job_state":"PENDING"}]}`, []job{{id: "7", name: "n", states: []string{"PENDING"}}}, false},
		{"complex", `{"jobs":[{"job_id":7,"name":"n","job_state":["PENDING"],"nodes":null,"start_time":null,"end_time":"Infinity"}]}`,
			[]job{{id: "7", name: "n", states: []string{"PENDING"}}}, false},
		{"no jobs", `{"jobs":[]}`, nil, false},
		{"not a listing", `{"error":"x"}`, nil, true},
		{"silent controller", `{"errors":[{"description":"Failed while looking for jobs","error_number":-1,"source":"slurm_load_jobs"}],"jobs":[]}`, nil, true},
		{"text", `squeue: unrecognized option`, nil, true},
		{"no state", `{"jobs":[{"job_id":7,"job_state":[]}]}`, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			have, err := parseJSON([]byte(c.text))
			if (err != nil) != c.bad {
				t.Fatalf("want error %t, have %v", c.bad, err)
			}
			if !reflect.DeepEqual(have, c.want) {
				t.Errorf("want %+v, have %+v", c.want, have)
			}
		})
	}
}

// TestVersions reads listings in the shapes of the versions of SLURM, made after
// their OpenAPI specifications and data_parser plugins.
func TestVersions(t *testing.T) {
	t.Parallel()
	start, end := time.Unix(1795275594, 0), time.Unix(1795275894, 0)
	later := func(t time.Time) time.Time { return t.Add(10 * time.Minute) }
	for _, c := range []struct{ version, configuring, cancelled string }{
		{"21.08", "CONFIGURING", "COMPLETING"}, {"22.05", "CONFIGURING", "COMPLETING"}, {"23.02", "CONFIGURING", "COMPLETING"},
		{"23.11", "RUNNING CONFIGURING", "CANCELLED COMPLETING"}, {"24.05", "RUNNING CONFIGURING", "CANCELLED COMPLETING"},
	} {
		t.Run(c.version, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", "squeue-"+c.version+".json"))
			if err != nil {
				t.Fatal(err)
			}
			have, err := parseJSON(text)
			want := []job{
				{"7", "esched-a", []string{"RUNNING"}, "None", "node[001-002]", start, end},
				{"8", "esched-b", []string{"PENDING"}, "Resources", "", later(start), later(end)},
				{"9", "esched-c", []string{"PENDING"}, "Priority", "", time.Time{}, time.Time{}},
				{"10", "esched-d", strings.Fields(c.configuring), "None", "node003", start, end},
				{"11", "esched-e", strings.Fields(c.cancelled), "None", "node004", start, end.Add(-100 * time.Second)},
				{"12", "esched-f", []string{"TIMEOUT"}, "TimeLimit", "node004", start, end},
				{"13", "esched-g", []string{"NODE_FAIL"}, "None", "node005", start, end},
			}
			if err != nil || !reflect.DeepEqual(have, want) {
				t.Fatalf("want %+v\nhave %+v, %v", want, have, err)
			}
			for i, state := range []reserve.State{
				reserve.Running, reserve.Pending, reserve.Pending, reserve.Pending, reserve.Gone, reserve.Gone, reserve.Failed,
			} {
				if s := have[i].status(start); s.State != state {
					t.Errorf("job %s: want %s, have %+v", have[i].id, state, s)
				}
			}
		})
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("here", 3600)
	have, err := parseText("1|RUNNING|None|2026-11-21T15:39:54|2026-11-21T15:44:54|node[001-002]|esched|x\n"+
		"2|PENDING|Resources|N/A|N/A||wrap\n", zone)
	want := []job{
		{
			id: "1", name: "esched|x", states: []string{"RUNNING"}, reason: "None", nodes: "node[001-002]",
			start: time.Date(2026, 11, 21, 15, 39, 54, 0, zone), end: time.Date(2026, 11, 21, 15, 44, 54, 0, zone),
		},
		{id: "2", name: "wrap", states: []string{"PENDING"}, reason: "Resources"},
	}
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("want %+v, have %+v, %v", want, have, err)
	}
	if _, err := parseText("slurm is busy\n", zone); err == nil {
		t.Error("strange line: want an error")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	later := now.Add(time.Minute)
	for _, c := range []struct {
		name string
		job  job
		want reserve.State
		text string
	}{
		{"waits", job{states: []string{"PENDING"}, reason: "Priority", start: later}, reserve.Pending, "Priority"},
		{"partition is down", job{states: []string{"PENDING"}, reason: "PartitionDown"}, reserve.Pending, "PartitionDown"},
		{"never starts", job{states: []string{"PENDING"}, reason: "PartitionNodeLimit"}, reserve.Failed, "never start (PartitionNodeLimit)"},
		{"boots", job{states: []string{"CONFIGURING"}, nodes: "n1"}, reserve.Pending, "configuring"},
		{"boots, new", job{states: []string{"RUNNING", "CONFIGURING"}, nodes: "n1"}, reserve.Pending, "configuring"},
		{"runs", job{states: []string{"RUNNING"}, nodes: "n[1-2]", end: later}, reserve.Running, ""},
		{"runs nowhere", job{states: []string{"RUNNING"}}, reserve.Pending, "nodes not told yet"},
		{"runs at nonsense", job{states: []string{"RUNNING"}, nodes: "n[1"}, reserve.Pending, "bracket"},
		{"suspended", job{states: []string{"SUSPENDED"}, nodes: "n1"}, reserve.Pending, "suspended"},
		{"cancelled", job{states: []string{"CANCELLED"}, reason: "None"}, reserve.Gone, "cancelled"},
		{"expired", job{states: []string{"TIMEOUT"}, reason: "TimeLimit"}, reserve.Gone, "time limit (TimeLimit)"},
		{"ending", job{states: []string{"COMPLETING"}, nodes: "n1"}, reserve.Gone, "ending"},
		{"node failed", job{states: []string{"NODE_FAIL"}}, reserve.Failed, "a node failed"},
		{"failed", job{states: []string{"FAILED", "COMPLETING"}, reason: "NonZeroExitCode"}, reserve.Failed, "NonZeroExitCode"},
		{"unheard of", job{states: []string{"LEVITATING"}, nodes: "n1"}, reserve.Pending, "levitating"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			have := c.job.status(now)
			if have.State != c.want || !strings.Contains(have.Reason, c.text) {
				t.Errorf("want %s %q, have %+v", c.want, c.text, have)
			}
			if running := have.State == reserve.Running; running != (len(have.Hosts) > 0) {
				t.Errorf("hosts: have %q when %s", have.Hosts, have.State)
			}
		})
	}
	if s := (job{states: []string{"PENDING"}, start: later}).status(now); !s.Start.Equal(later) {
		t.Errorf("estimated start: want %v, have %v", later, s.Start)
	}
}

func TestParsePartitions(t *testing.T) {
	t.Parallel()
	all := parsePartitions("defq*|infinite|1-infinite|27|cpunode\ndefq*|infinite|1-infinite|3|gpunode,A4000\nfatq|2-12:00:00|1-4|2|(null)\n")
	if len(all) != 2 {
		t.Fatalf("want 2 partitions, have %+v", all)
	}
	defq, fatq := all[0], all[1]
	if defq.name != "defq" || !defq.chosen || defq.nodes != 30 || defq.feature["A4000"] != 3 || defq.limit != 0 || defq.jobMax != 0 {
		t.Errorf("defq: have %+v", defq)
	}
	if fatq.name != "fatq" || fatq.chosen || fatq.nodes != 2 || fatq.jobMax != 4 || fatq.limit != 60*time.Hour {
		t.Errorf("fatq: have %+v", fatq)
	}
}

func TestParseLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"15:00": 15 * time.Minute, "1:00:00": time.Hour, "2-00:00:00": 48 * time.Hour, "1-06": 30 * time.Hour,
		"infinite": 0, "n/a": 0, "": 0, "15": 0,
	} {
		if have := parseLimit(text); have != want {
			t.Errorf("%q: want %v, have %v", text, want, have)
		}
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"17\n": "17", "17;das6\n": "17", "welcome to the cluster\n17\n": "17", "": "", "0": "", "Submitted batch job 17": "", "-3": "",
	} {
		have, err := parseID(text)
		if have != want || (err == nil) != (want != "") {
			t.Errorf("%q: want %q, have %q, %v", text, want, have, err)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 4, 0, 0, 0, time.UTC)
	r := New(reserve.Batch{
		Profile: reserve.Profile{Now: func() time.Time { return now }, Policy: reserve.DASPolicy()}, Partition: "fatq", Account: "a",
		Constraint: "gpunode&A4000", Native: []string{"--gres=gpu:1"},
	})
	argv := r.command(reserve.Request{Run: "/runs/one", Nodes: 3, Claim: 90*time.Minute + time.Second}, "mark")
	for _, want := range []string{
		"--nodes=3", "--time=91", "--job-name=esched-mark", "--partition=fatq", "--account=a", "--constraint=gpunode&A4000",
		"--gres=gpu:1", "--deadline=2026-11-24T08:00:00", "--no-requeue", "--exclusive", "--comment=esched mark for one",
	} {
		if !slices.Contains(argv, want) {
			t.Errorf("want %q in %q", want, argv)
		}
	}
}
