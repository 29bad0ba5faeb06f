package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/esched/esched/internal/hint"
)

// version is what this binary says of itself, taken from what the Go tool
// wrote into it.
type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// commit is written into the binary by "make build", for Go tools that were told
// not to look at the repository. Nothing changes it.
var commit string

func readVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		v.Commit = commit
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if v.Commit == "" {
		v.Commit = commit
		return v
	}
	v.Commit += dirty
	return v
}

func (v version) String() string {
	if v.Commit == "" {
		return v.Version
	}
	return v.Version + " (" + v.Commit + ")"
}

func newVersion(g *globals) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "say which esched this is",
		Long:    withExits("Print the version, the commit it was built from, and the Go version.", hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: "  esched version\n  esched version --json",
		Args:    atMost(0),
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if asJSON {
				return printJSON(g.Stdout, v)
			}
			_, err := fmt.Fprintf(g.Stdout, "esched %s %s %s/%s\n", v, v.Go, v.OS, v.Arch)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
