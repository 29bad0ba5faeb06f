package cmd

import (
	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/scheduler/sidekick"
)

// preloadText is the preload that this esched prints and deploys.
func preloadText() []byte { return sidekick.Preload(readVersion().String()) }

func newPreload(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "preload",
		Short: "print the preload that connects Dask's scheduler to esched",
		Long: withExits(`
Print the Python module that makes an unmodified Dask scheduler ask esched for
every placement. Save it, start "esched serve --socket PATH", and start Dask's
scheduler with ESCHED_SOCKET=PATH and --preload FILE. When the service does not
answer, Dask decides itself, as it would without esched.`, hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: `  esched preload > esched_preload.py
  esched serve --socket /tmp/esched.sock --policy earliest-start &
  ESCHED_SOCKET=/tmp/esched.sock dask scheduler --preload esched_preload.py`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			_, err := g.Stdout.Write(g.preload())
			return err
		},
	}
}
