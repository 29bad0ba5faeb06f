package cmd

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/esched/esched/runners"
)

var (
	clusterLine  = regexp.MustCompile(`(?m)^cluster = "local"( *)`)
	clusterTable = regexp.MustCompile(`(?m)^\[clusters\.([^\]\n]+)\]\n`)
)

// putFirst chooses a cluster in the text of a preset and puts its table in
// front of those of the others. All else, comments included, stays as it is.
func (g *globals) putFirst(text []byte, name string) ([]byte, error) {
	e, err := runners.Load("preset", text, g.catalog(""))
	if err != nil {
		return nil, err
	}
	if _, err := e.OnCluster(name); err != nil {
		return nil, err
	}
	all := string(text)
	all = clusterLine.ReplaceAllStringFunc(all, func(line string) string {
		column := len(line) // comments stay aligned where there is room
		return fmt.Sprintf("%-*s", column, strings.TrimRight(fmt.Sprintf("cluster = %q", name), " ")+" ")
	})
	tables := clusterTable.FindAllStringSubmatchIndex(all, -1)
	for i, at := range tables {
		if all[at[2]:at[3]] != name || i == 0 {
			continue
		}
		end := len(all)
		if i+1 < len(tables) {
			end = tables[i+1][0]
		}
		first := tables[0][0]
		table := strings.TrimRight(all[at[0]:end], "\n") + "\n\n"
		rest := all[first:at[0]] + all[end:]
		all = all[:first] + table + strings.TrimRight(rest, "\n") + "\n"
	}
	return []byte(all), nil
}
