package cmd

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/browser"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/internal/need"
	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// largest is how many nodes the trials of a whole run execute on at most.
const largest = 4

// TestWorldRuns runs experiments as users of clusters do, on one, two and four
// nodes, and looks at all that they look at.
func TestWorldRuns(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: largest + 1, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		head := newHeadNode(t, w)
		for _, way := range []struct {
			name string
			run  func(h *headNode, python string)
		}{
			{"slurm on a terminal", runOnTerminal},
			{"das with a scheduler apart", runApart},
			{"strangers", runAmongStrangers},
		} {
			t.Run(way.name, func(t *testing.T) {
				h := head.at(t)
				way.run(h, python)
				h.nothingLeft()
			})
		}
	})
}

// TestWorldLongRuns runs experiments that outlast a login, and a claim.
func TestWorldLongRuns(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: largest, Env: forWorlds.named}, func(t *testing.T, w *slurmworld.World) {
		python := filepath.Dir(filepath.Dir(need.Python(t)))
		head := newHeadNode(t, w)
		t.Run("static in the background", func(t *testing.T) {
			h := head.at(t)
			runInBackground(h, python)
			h.nothingLeft()
		})
		t.Run("srun in two claims", func(t *testing.T) { runInTwoClaims(head.at(t), python) })
	})
}

// write24 writes an experiment on two and four nodes.
func (h *headNode) write24(python string) {
	h.t.Helper()
	h.write(python, `"dask", "sidekick"`, profiles)
	h.replace("nodes = [2]", "nodes = [2, 4]")
	h.replace(`"node[001-003]"`, `"node[001-004]"`)
}

// holdable24 lets these trials execute a program that can be held.
func (h *headNode) holdable24() {
	h.t.Helper()
	h.file("holdable.py", fmt.Sprintf(holdable, h.dir))
	h.replaceInPlan("warmup = 1", "warmup = 0")
	h.replaceInPlan("name = \"montecarlo\"\nsimulations = 2000\nchunk = 100\n", "name = \"holdable\"\n\n[program.holdable]\nscript = \"holdable.py\"\n")
}

// runOnTerminal waits in a queue, sees nodes being got ready and trials being
// run, one of which lasts as long as it is looked at, and looks at the report.
func runOnTerminal(h *headNode, python string) {
	h.write24(python)
	h.holdable24()
	goOn := h.hold()
	_, free := h.Occupy(h.t, 2)
	x := h.console("run", "--cluster", "slurm")
	x.see(`waiting for nodes`)
	x.see(`nodes in about \d+:\d\d`)
	job := h.Output(h.t, slurmworld.User, "squeue", "-h", "--me", "-o", "%i")
	x.press("n")
	x.see(`reservation ` + job + ` pending`)
	free()
	x.see(`reservation ` + job + ` running`)
	x.see(`node00\d +●{2,7}○`)
	x.see(`node00\d +●{8} +first-task`)
	x.press("n")
	x.see(`claim ends in \d+:\d\d`)
	x.see(`slurm · [24]/[24] workers`)
	x.see(`so far`)
	x.press("L")
	x.see(`\.log`)
	x.press("L")
	goOn()
	code, screen := x.ends()
	if code != hint.ExitOK || !strings.Contains(screen, "6/6 trials, 6 ok") || !strings.Contains(screen, "report: runs/") {
		h.t.Errorf("exit code %d, at the end:\n%s", code, screen)
	}
	r := h.complete24(largest, "10.78.")
	h.reportTells(r)
	h.pageTells(r)
}

// runApart runs on nodes of DAS, one of which has the scheduler alone.
func runApart(h *headNode, python string) {
	h.write24(python)
	h.holdable24()
	goOn := h.hold()
	x := h.console("run", "--cluster", "das6")
	x.see(`das6 · [24]/[24] workers`)
	x.press("n")
	x.see(`reservation \d+ running`)
	x.see(`node001 +●{6}`)      // up to its process
	x.see(`node00[2-5] +●{7,}`) // with workers
	x.press("n")
	x.see(`claim ends in \d+:\d\d`)
	goOn()
	code, screen := x.ends()
	if code != hint.ExitOK || !strings.Contains(screen, "6/6 trials, 6 ok") || !strings.Contains(screen, "report: runs/") {
		h.t.Fatalf("exit code %d, at the end:\n%s", code, screen)
	}
	r := h.complete24(largest+1, "10.78.")
	for _, rec := range r.Records {
		if len(rec.Hosts) != rec.Nodes+1 {
			h.t.Errorf("%s: hosts %q, want %d and one for the scheduler", rec.Trial, rec.Hosts, rec.Nodes)
		}
		for _, share := range rec.PerWorker {
			if share.Host == rec.Hosts[0] || strings.HasPrefix(share.Worker, rec.Hosts[0]) {
				h.t.Errorf("%s: worker %s is beside the scheduler of %q", rec.Trial, share.Worker, rec.Hosts)
			}
		}
	}
	h.reportTells(r)
}

// complete24 checks that the trials on two and four nodes were executed as they
// should have been, on so many nodes of a network, with encryption.
func (h *headNode) complete24(hosts int, network string) *record.Run {
	h.t.Helper()
	r := h.run()
	all := measured(h.t, r)
	if len(all) != 6 || len(r.Warnings) != 0 {
		h.t.Fatalf("want 6 records, have %d, warnings %q", len(all), r.Warnings)
	}
	for _, rec := range all {
		if rec.Status != record.StatusOK || rec.Nodes != rec.Workers || len(rec.PerWorker) != rec.Nodes || len(rec.Hosts) < rec.Nodes ||
			rec.ResultDigest != all[0].ResultDigest || rec.MakespanS <= 0 {
			h.t.Errorf("%s: have %+v", rec.Trial, rec)
		}
		if rec.Kind == kindSidekick && rec.Decisions == 0 {
			h.t.Errorf("%s: no decisions", rec.Trial)
		}
	}
	if len(r.Manifest.Hosts) != hosts {
		h.t.Errorf("want %d hosts, have %+v", hosts, r.Manifest.Hosts)
	}
	var nodes []string
	for _, host := range r.Manifest.Hosts {
		nodes = append(nodes, host.Name)
		if !strings.HasPrefix(host.Address, network) || host.Cores == 0 {
			h.t.Errorf("host: have %+v", host)
		}
	}
	climbed(h.t, r, nodes...)
	deployments := 0
	for _, e := range r.Events {
		if e.Kind == record.EventDeployment && e.State == "ready" {
			deployments++
			if !strings.HasPrefix(e.Message, "tls://") {
				h.t.Errorf("a deployment without encryption: %q", e.Message)
			}
		}
		if e.Kind == record.EventNode && (e.State == deploy.StateLost || e.State == deploy.StateFailed) {
			h.t.Errorf("%s: %s: %s", e.Node, e.State, e.Message)
		}
	}
	if deployments != 4 {
		h.t.Errorf("want 4 deployments, have %d", deployments)
	}
	return r
}

// reportTells checks that a report says what was recorded.
func (h *headNode) reportTells(r *record.Run) {
	h.t.Helper()
	code, out := h.esched("report", h.runDir(), "--json")
	var have struct {
		Cells  []report.Cell
		Tables []struct {
			ID   string
			Rows []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(out), &have); err != nil || code != hint.ExitOK {
		h.t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	all := measured(h.t, r)
	for _, c := range have.Cells {
		i := slices.IndexFunc(all, func(x record.Record) bool { return x.Nodes == c.Nodes && x.Series() == c.Series })
		if i < 0 || c.N != 1 || c.Failed != 0 || *c.Mean != all[i].MakespanS || *c.Min != *c.Mean || *c.Max != *c.Mean ||
			*c.Tasks != float64(all[i].Tasks) || c.Decisions != all[i].Decisions || c.Workers != all[i].Workers {
			h.t.Errorf("cell of %s on %d nodes: have %+v", c.Series, c.Nodes, c)
		}
	}
	if len(have.Cells) != len(all) {
		h.t.Errorf("want %d cells, have %d", len(all), len(have.Cells))
	}
	at := slices.IndexFunc(have.Tables, func(t struct {
		ID   string
		Rows []map[string]any
	}) bool {
		return t.ID == report.TableTrials
	})
	if at < 0 || len(have.Tables[at].Rows) != len(all) {
		h.t.Fatalf("no table of %d trials in %s", len(all), out)
	}
	for _, row := range have.Tables[at].Rows {
		i := slices.IndexFunc(all, func(x record.Record) bool { return x.ID == row["trial"] })
		if i < 0 {
			h.t.Errorf("a trial that was not recorded: %v", row)
			continue
		}
		x := all[i]
		want := fmt.Sprint(string(x.Status), x.Series(), x.Nodes, x.MakespanS, x.Tasks, x.Decisions, x.Fallbacks)
		if told := fmt.Sprint(row["status"], row["series"], row["nodes"], row["makespan_s"], row["tasks"], row["decisions"], row["fallbacks"]); told != want {
			h.t.Errorf("row of %s: want %s, have %s", x.ID, want, told)
		}
	}
}

// pageTells checks the same of the page that the run left, as a browser shows
// it.
func (h *headNode) pageTells(r *record.Run) {
	h.t.Helper()
	const rows = `[...document.querySelectorAll('#trials tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))`
	page, err := browser.Open(h.t.Context(), filepath.Join(h.dir, h.runDir(), reportFile),
		browser.Look{Program: need.Program(h.t, "chromium"), Steps: []browser.Step{{Ask: rows}}})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(page.Errors) > 0 || len(page.Requests) > 0 || len(page.Charts) == 0 {
		h.t.Errorf("console %q, requests %q, %d figures", page.Errors, page.Requests, len(page.Charts))
	}
	var shown [][]string
	if err := json.Unmarshal(page.Answers[0], &shown); err != nil {
		h.t.Fatal(err)
	}
	seconds := report.Column{Format: report.FormatSeconds}
	for _, x := range measured(h.t, r) {
		at := slices.IndexFunc(shown, func(row []string) bool { return slices.Contains(row, x.ID) })
		if at < 0 || !slices.Contains(shown[at], seconds.Text(x.MakespanS)) || !slices.Contains(shown[at], x.Series()) {
			h.t.Errorf("%s of %s s is not in the page's table:\n%q", x.Trial, seconds.Text(x.MakespanS), shown)
		}
	}
}
