package cmd

import (
	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
)

func newCompletion(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "print a script that completes commands in your shell",
		Long: withExits(`
Print a script that teaches a shell to complete esched's commands and flags.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: `  source <(esched completion bash)
  esched completion zsh > ~/.zsh/functions/_esched
  esched completion fish > ~/.config/fish/completions/esched.fish`,
		Args:      between(1, 1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(g.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(g.Stdout)
			case "fish":
				return root.GenFishCompletion(g.Stdout, true)
			}
			return usageError("choose one of: bash, zsh, fish", "unknown shell %q", args[0])
		},
	}
}
