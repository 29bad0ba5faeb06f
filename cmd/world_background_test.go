package cmd

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/runners/record"
)

// runInBackground starts a run, logs out, and watches it from another terminal.
func runInBackground(h *headNode, python string) {
	h.write24(python)
	h.holdable24()
	goOn := h.hold()
	login := h.login()
	login.press("esched run --detach --cluster static\n")
	login.see(`Watch it with: esched watch runs/`)
	login.hangUp()

	var f runFacts
	h.until("a claim that runs", func() bool {
		f = runFacts{} // fields that are absent now must not stay
		code, out := h.esched("status", "--json")
		if err := json.Unmarshal([]byte(out), &f); err != nil || code != hint.ExitOK || f.State != goingOn || f.Conductor == nil {
			h.t.Fatalf("exit code %d, %v\n%s", code, err, out)
		}
		return f.Reservation != nil && !f.Reservation.Deadline.IsZero()
	})
	if err := syscall.Kill(f.Conductor.PID, syscall.SIGHUP); err != nil { // as logging out does on some machines
		h.t.Error(err)
	}

	x := h.console("watch")
	x.see(`claim ends in \d+:\d\d`)
	x.see(`leave`)
	x.press("n")
	x.see(`node00\d +●{2,}`)
	x.press("q")
	if code, screen := x.ends(); code != hint.ExitOK {
		h.t.Errorf("leaving: exit code %d\n%s", code, screen)
	}
	goOn()
	code, out := h.esched("watch", "--plain")
	if code != hint.ExitOK || !strings.Contains(out, "run ended  6 ok") || !strings.Contains(out, "report: ") {
		h.t.Errorf("exit code %d\n%s", code, out)
	}
	h.reportTells(h.complete24(largest, ""))
	eventually(h.t, shortly, "end of the conductor", func() bool { return syscall.Kill(f.Conductor.PID, 0) != nil })
}

// runInTwoClaims lets the queue end a claim in a trial. The run asks for
// another one, and repeats that trial. The nodes do not see the environment,
// and are reached by srun.
func runInTwoClaims(h *headNode, python string) {
	h.faultPlan(python, "launcher = \"srun\"\nenvironment_on = \"node\"\nclaims = 3\n")
	goOn := h.hold()
	x := h.start("", "run", "--plain")
	h.held()
	first := h.Output(h.t, slurmworld.User, "squeue", "-h", "--me", "-o", "%i")
	h.Expire(h.t, first)
	h.told("again in the next claim")
	goOn()
	code, out := x.ends()
	if code != hint.ExitOK || !strings.Contains(out, "claim 2 of up to 3 granted") {
		h.t.Fatalf("exit code %d\n%s", code, out)
	}
	h.complete("")
	h.nothingLeftRunning() // the files of the first claim are on nodes that are not ours any more
	var claims []string
	for _, e := range h.run().Events {
		if e.Kind == record.EventReservation && e.State == "running" {
			claims = append(claims, e.Reservation)
		}
	}
	if len(claims) != 2 || claims[0] != first || claims[1] == first {
		h.t.Errorf("claims: want %s and another, have %q", first, claims)
	}
	states := h.Output(h.t, slurmworld.User, "squeue", "-h", "--me", "-t", "all", "-o", "%i %T")
	// Guards end what runs at the claim's end, which SLURM may notice later: then
	// the job is given back before that.
	if !regexp.MustCompile(`(?m)^` + first + ` (TIMEOUT|CANCELLED)`).MatchString(states) {
		h.t.Errorf("jobs: have %s", states)
	}
}
