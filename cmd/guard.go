package cmd

import (
	"github.com/spf13/cobra"
)

// newGuard is the hidden command that esched starts on nodes to supervise one
// process. It takes its orders from standard input.
func newGuard(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:                "guard",
		Short:              "supervise one process of a deployment",
		Hidden:             true,
		DisableFlagParsing: true, // the arguments only serve people who read a process list
		RunE: func(_ *cobra.Command, args []string) error {
			if code := g.Guard(args); code != 0 {
				return exitQuietly(code, "guard")
			}
			return nil
		},
	}
}
