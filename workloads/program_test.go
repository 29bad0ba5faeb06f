package workloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/internal/need"
)

// TestPrograms executes programs of users on real Dask.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for name, python := range map[string]func(testing.TB) string{"current": need.Python, "old": need.OldPython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, python(t), "sidekick_preload")
			d, _ := c.driver()
			testGoodPrograms(t, d)
			if name == "current" { // what goes wrong does so before Dask is asked
				testBadPrograms(t, d, c.address)
			}
			// The driver is sound after all that.
			have, err := d.Trial(t.Context(), scripted("fine"))
			if err != nil || have.Result != "9" {
				t.Errorf("afterwards: have %+v, %v", have, err)
			}
		})
	}
}

func scripted(mode string) Request {
	return Request{Workload: "own", Kind: "dask", Seed: 7, Params: map[string]any{"mode": mode, "flag": true},
		Program: &Program{Module: "program_misbehave", Limits: Limits{Seconds: patience.Seconds(), MemoryBytes: 1 << 30, ResultBytes: 1 << 20}}}
}

func command(script string) Request {
	r := scripted("none")
	r.Program.Module, r.Program.Argv = "", []string{"sh", "-c", script}
	return r
}

func testGoodPrograms(t *testing.T, d *Driver) {
	digest := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	for _, test := range []struct {
		name           string
		request        Request
		result, digest string
	}{
		{"value", scripted("fine"), "9", digest("9")},
		{"result", scripted("result"), "as text", "of my own"},
		{"numpy", scripted("numpy"), `{"a":0.5,"b":[0,1,2]}`, digest(`{"a":0.5,"b":[0,1,2]}`)},
		{"noise", scripted("noise"), "quiet", digest(`"quiet"`)},
		{"command", command(`cat "$ESCHED_PARAMS" > "$ESCHED_RESULT"`), `{"flag":true,"mode":"none"}`, digest(`{"flag":true,"mode":"none"}`)},
		{"environment", command(`case $ESCHED_SCHEDULER in tcp://127.*) echo "[$ESCHED_SEED, \"$(pwd | grep -c program)\"]" > "$ESCHED_RESULT";; esac`),
			`[7,"1"]`, digest(`[7,"1"]`)},
		{"own digest", command(`echo '{"result": [1, 2], "digest": "d"}' > "$ESCHED_RESULT"`), "[1,2]", "d"},
	} {
		have, err := d.Trial(t.Context(), test.request)
		if err != nil || have.Result != test.result || have.Digest != test.digest || have.MakespanS <= 0 {
			t.Errorf("%s: have %+v, %v", test.name, have, err)
		}
	}
}

func testBadPrograms(t *testing.T, d *Driver, scheduler string) {
	limited := func(r Request, limit func(*Limits)) Request { limit(&r.Program.Limits); return r }
	short := func(l *Limits) { l.Seconds = 4 }
	longer := func(l *Limits) { l.Seconds = 8 } // a shell says its words long before
	hang := "setsid sleep 3600 & echo words of a shell; sleep 3600"
	other := scripted("none")
	other.Program.Module = "misbehave"
	missing := command("")
	missing.Program.Argv = []string{"/no/such/program"}
	for _, test := range []struct {
		name      string
		request   Request
		want, log string
		late      bool
	}{
		{"raise", scripted("raise"), "program own ended with exit status 1; its output ends with: ZeroDivisionError: the divisor was zero", "in run", false},
		{"raise in task", scripted("raise-in-task"), "ZeroDivisionError", "raise-in-task of 7 begins", false},
		{"exit", scripted("exit"), "exit status 7; its output ends with: last words", "exit of 7 begins", false},
		{"kill", scripted("kill"), "was ended by SIGKILL; its output ends with: kill of 7 begins", "", false},
		{"hang", limited(scripted("hang"), short), "ran longer than its limit of 4 s", "", true}, // Python may not even have begun
		{"hang with words", limited(command(hang), longer), "ran longer than its limit of 8 s; its output ends with: words of a shell", "words", true},
		{"memory", limited(scripted("memory"), func(l *Limits) { l.MemoryBytes = 400_000_000 }), "of memory, more than its limit of 400 MB", "memory of 7 begins", false},
		{"large", scripted("large"), "MB, more than its limit of 1.049 MB", "", false},
		{"garbage", scripted("garbage"), "Out of range float values are not JSON compliant", "", false},
		{"object", scripted("object"), "run returned a object, which is no JSON value", "", false},
		{"nothing", scripted("nothing"), "program own returned nothing", "", false},
		{"no function", other, "misbehave.py has no function run(client, params)", "", false},
		{"no result", command("true"), "wrote no result to the file that ESCHED_RESULT names", "", false},
		{"no JSON", command(`echo hello > "$ESCHED_RESULT"`), `wrote a result that is not JSON`, "", false},
		{"not a number", command(`echo NaN > "$ESCHED_RESULT"`), `NaN is no JSON value`, "", false},
		{"endless", limited(command(`yes | head -c 1000000 > "$ESCHED_RESULT"; sleep 3600`), func(l *Limits) { l.ResultBytes = 100_000 }), "more than its limit of 100 kB", "", false},
		{"silent", command("exit 3"), "ended with exit status 3; it printed nothing", "", false},
		{"missing", missing, "No such file or directory: '/no/such/program'", "", false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		_, err := d.Trial(ctx, test.request)
		cancel()
		failed, ok := errors.AsType[*FailedError](err)
		if !ok || !strings.Contains(failed.Reason, test.want) || !strings.Contains(failed.Traceback, test.log) || failed.Late != test.late {
			t.Errorf("%s: have %v (%+v), want %q", test.name, err, failed, test.want)
		}
	}
	// Killed processes may still be on their way out.
	for limit := time.Now().Add(patience); processesOf(t, scheduler) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d processes of a program are left", processesOf(t, scheduler))
		}
	}
}

// processesOf counts the processes of programs that use a scheduler.
func processesOf(t *testing.T, scheduler string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		environment, err := os.ReadFile(f) // an error: it has ended
		if err == nil && strings.Contains(string(environment), "\x00ESCHED_SCHEDULER="+scheduler+"\x00") {
			n++
		}
	}
	return n
}
