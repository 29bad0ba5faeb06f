package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

const usage = `usage: bench RUN...
       bench cluster RUN...
       bench quick ESCHED ENVIRONMENT EXPERIMENT DIRECTORY ROUNDS`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	if len(args) == 6 && args[0] == "quick" {
		rounds, err := strconv.Atoi(args[5])
		if err != nil || rounds < 1 {
			return fmt.Errorf("rounds %q: not a number above 0\n%s", args[5], usage)
		}
		page, err := quick{args[1], args[2], args[3], args[4], rounds}.table(ctx)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, page)
		return err
	}
	if len(args) > 1 && args[0] == "cluster" {
		page, err := clusterTables(args[1:])
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, page)
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("no run directories given\n%s", usage)
	}
	for _, dir := range args {
		if err := tell(w, dir); err != nil {
			return err
		}
	}
	return nil
}

// tell writes the tables of the run in a directory.
func tell(w io.Writer, dir string) error {
	run, err := record.Read(dir)
	if err != nil {
		return err
	}
	r, err := report.BuildWith([]*record.Run{run}, report.Options{Chain: (*record.Run).LongestChain})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	_, err = io.WriteString(w, tables(run, r))
	return err
}
