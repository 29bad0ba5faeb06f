package main

import (
	"fmt"
	"io"
	"os"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "bench: no run directories given")
		os.Exit(2)
	}
	for _, dir := range os.Args[1:] {
		if err := tell(os.Stdout, dir); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
}

// tell writes the tables of the run in a directory.
func tell(w io.Writer, dir string) error {
	run, err := record.Read(dir)
	if err != nil {
		return err
	}
	r, err := report.Build([]*record.Run{run})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	_, err = io.WriteString(w, tables(run, r))
	return err
}
