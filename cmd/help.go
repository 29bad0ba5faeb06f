package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// usageTemplate is cobra's with headings and order of our own: examples
// before flags, because people copy them.
const usageTemplate = `{{if .HasExample}}Examples:
{{.Example}}

{{end}}Usage:
  {{if .Runnable}}{{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND --help" tells more about a command.{{end}}
`

// exitMeaning has a line for every exit code.
var exitMeaning = map[int]string{
	hint.ExitOK:          "everything asked for was done",
	hint.ExitError:       "an error that no other code describes",
	hint.ExitUsage:       "the command line or a configuration file is wrong; nothing was started",
	hint.ExitTrials:      "the run finished, some trials failed",
	hint.ExitNoNodes:     "no nodes were granted in time",
	hint.ExitThreshold:   "a threshold was exceeded",
	hint.ExitInterrupted: "interrupted",
}

// withExits appends the EXIT STATUS block to a command's description. A command
// that may end with failed trials is about a run, which can be resumed.
func withExits(long string, codes ...int) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(long))
	b.WriteString("\n\nEXIT STATUS\n")
	for _, c := range codes {
		meaning := exitMeaning[c]
		if c == hint.ExitInterrupted && slices.Contains(codes, hint.ExitTrials) {
			meaning += "; the run can be resumed"
		}
		fmt.Fprintf(&b, "  %3d  %s\n", c, meaning)
	}
	return strings.TrimRight(b.String(), "\n")
}

// nearest returns the candidate that a misspelt word most likely means, or
// "" when none is near.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 3 // more than two slips is another word
	for _, c := range candidates {
		if strings.HasPrefix(c, word) && len(word) > 2 {
			return c
		}
		if d := editDistance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is the number of letters to insert, delete, replace, or swap
// with their neighbour.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
