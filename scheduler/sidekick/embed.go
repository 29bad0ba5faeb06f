package sidekick

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed preload/*.py
var source embed.FS

// chapters are the modules of the preload, each after those that it imports.
var chapters = []string{
	"wire", "originals", "channel", "mirror", "decider", "link", "placing", "telling", "entry",
}

// imports matches an import at the top level of a chapter.
var imports = regexp.MustCompile(`(?m)^(?:from|import) [^(\n]*(?:\([^)]*\))?\n`)

// gaps matches the empty lines that are left where imports were.
var gaps = regexp.MustCompile(`\n{4,}`)

// Preload returns the Python half: a module for "dask scheduler --preload",
// which finds the service's socket in the variable ESCHED_SOCKET. Dask copies
// and loads a preload as one file, so the chapters are joined: imports of one
// another go, all others move to the top. The version says which esched that
// was, in the first line.
func Preload(version string) []byte {
	var needed []string
	var body strings.Builder
	for _, name := range chapters {
		fmt.Fprintf(&body, "\n\n# ======== %s.py ========\n\n", name)
		body.WriteString(imports.ReplaceAllStringFunc(chapter(name), func(line string) string {
			if !strings.HasPrefix(line, "from .") {
				needed = append(needed, line)
			}
			return ""
		}))
	}
	slices.Sort(needed) // which puts __future__ first, where Python wants it
	return fmt.Appendf(nil, "# Assembled by esched %s from the chapters in scheduler/sidekick/preload.\n# ruff: noqa: I001\n%s\n%s%s",
		version, chapter("__init__"), strings.Join(slices.Compact(needed), ""), gaps.ReplaceAllString(body.String(), "\n\n\n"))
}

func chapter(name string) string {
	text, err := source.ReadFile("preload/" + name + ".py")
	if err != nil {
		panic(err) // a chapter that is listed, but not embedded
	}
	return string(text)
}
