package cmd

import (
	"strings"
	"testing"
)

// TestReportForms takes a report apart into files and orders.
func TestReportForms(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	madeRun(t, s, true)
	s.esched("report", "runs/one", "--figures", "paper/figures", "--tables", "paper/tables").wants(t, 0, []string{"runs/one/report.html"}, nil)
	for name, want := range map[string]string{
		"paper/figures/makespan-montecarlo.svg": `data-x="1.5"`,
		"paper/tables/cells.csv":                "montecarlo,10 chunks",
		"paper/tables/cells.tex":                "montecarlo & 10 chunks",
	} {
		if have := s.read(name); !strings.Contains(have, want) {
			t.Errorf("%s: no %q in %s", name, want, have)
		}
	}
	s.esched("report", "runs/one", "--table", "cells").wants(t, 2, nil, []string{"--table cells", "Try: add --csv or --latex"})
	s.esched("report", "runs/one", "--latex", "--table", "cells").wants(t, 0, []string{`\begin{longtable}`, "1.50"}, nil)
	s.esched("report", "runs/one", "--layout", "paper", "--markdown").wants(t, 0,
		[]string{"The lab report's values beside ours", "Figure 7 (SQL queries) is missing"}, nil)
	s.esched("report", "runs/one", "--layout", "newspaper").wants(t, 2, nil, []string{`unknown layout "newspaper"`, "Try: choose usual or paper"})
	s.esched("report", "runs/one", "--latex", "--json").wants(t, 2, nil, []string{"more than one form"})
	s.esched("run", "--trace", "-1").wants(t, 2, nil, []string{"--trace -1", "Try: give a number of tasks"})
	s.write("file", "")
	s.esched("report", "runs/one", "--figures", "file/x").wants(t, 1, nil, []string{"Try: name a directory that you can write to with --figures"})
}
