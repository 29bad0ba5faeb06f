package cmd

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/esched/esched/deploy/pyenv"
	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/report/bundle"
)

type bundleOptions struct {
	*globals
	Target string // a run, or with Verify a bundle
	Output string
	Verify bool
	JSON   bool
	Logs   int // MiB
}

func newBundle(g *globals) *cobra.Command {
	o := bundleOptions{globals: g}
	c := &cobra.Command{
		Use:   "bundle RUN",
		Short: "pack a run for those who are to judge it",
		Long: withExits(`
Pack the run in directory RUN into one archive with what an artifact evaluation
asks for: raw data, times of tasks, logs, the report in all its forms, the
experiment file, the locks and packages of the Python environments, the
machines, the version, build and hash of esched, checksums, and a README with
the claims, the commands to check them, and how to cite the run. The same run
gives the same bytes.

Secrets that look like secrets (keys, tokens, passwords), home directories and
your user name are taken out, and removed.json lists what and where. Look into
it and into the logs before you publish the archive.

--verify takes such an archive instead: it checks the checksums, makes the
report anew from the raw data, and compares every number with the packed one.`,
			hint.ExitOK, hint.ExitError, hint.ExitUsage),
		Example: `  esched bundle runs/2026-01-31T10-04-12-overhead
  esched bundle runs/a --output artifact.tar.gz --logs 5
  esched bundle --verify artifact.tar.gz`,
		Args: between(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Target = args[0]
			if o.Verify {
				return verifyBundle(o)
			}
			return runBundle(o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "file to write (default RUN.tar.gz, here)")
	f.BoolVar(&o.Verify, "verify", false, "check a bundle instead of making one")
	f.BoolVar(&o.JSON, "json", false, "print JSON")
	f.IntVar(&o.Logs, "logs", 20, "MiB that all logs together may have; longer ones are cut in the middle")
	return c
}

// bundleFacts are what is said of a bundle that was made.
type bundleFacts struct {
	File    string           `json:"file"`
	SHA256  string           `json:"sha256"`
	Bytes   int64            `json:"bytes"`
	Files   int              `json:"files"`
	Removed []bundle.Removal `json:"removed"`
}

func runBundle(o bundleOptions) error {
	if o.Logs < 0 {
		return usageError("give 0 or more MiB", "--logs %d: less than nothing", o.Logs)
	}
	locks, err := lockTexts()
	if err != nil {
		return err
	}
	b, err := bundle.Make(bundle.Source{
		Run: o.path(o.Target), Home: o.Home, User: filepath.Base(o.Home), Locks: locks, Tool: o.tool(),
		LogLimit: int64(o.Logs) << 20, Temp: o.Temp,
	})
	if err != nil {
		return hint.WithExit(err, hint.ExitUsage)
	}
	f := bundleFacts{File: o.Output, Files: len(b.Files()), Removed: b.Removed}
	if f.File == "" {
		f.File = b.Name + ".tar.gz"
	}
	sum := sha256.New()
	err = o.replaceFile(f.File, func(w io.Writer) error {
		n := &byteCount{}
		defer func() { f.Bytes = n.bytes }()
		return b.Write(io.MultiWriter(w, sum, n))
	})
	if err != nil {
		return hint.With(fmt.Errorf("bundle: %w", err), "name a file that you can write to with --output")
	}
	f.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	if o.JSON {
		return printJSON(o.Stdout, f)
	}
	return f.print(o.Stdout)
}

type byteCount struct{ bytes int64 }

func (c *byteCount) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

// maxRemovals is the number of files that are named as having lost something.
const maxRemovals = 20

func (f bundleFacts) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d files, %.1f MiB, SHA-256 %s\n", f.File, f.Files, float64(f.Bytes)/(1<<20), f.SHA256)
	if len(f.Removed) > 0 {
		b.WriteString("\ntaken out (removed.json in it has all):\n")
		t := table{head: []string{"FILE", "COUNT", "WHAT"}}
		for _, r := range f.Removed[:min(maxRemovals, len(f.Removed))] {
			t.add(r.File, fmt.Sprint(r.Count), r.What)
		}
		if err := t.print(&b); err != nil {
			return err
		}
		if more := len(f.Removed) - maxRemovals; more > 0 {
			fmt.Fprintf(&b, "and %d more\n", more)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verifyBundle checks an archive and fails when something is not as packed.
func verifyBundle(o bundleOptions) error {
	if o.Output != "" {
		return usageError("leave --output out", "--verify writes no file")
	}
	archive := o.path(o.Target)
	f, err := o.directory(filepath.Dir(archive)).Open(filepath.Base(archive))
	if err != nil {
		return hint.WithExit(hint.With(fmt.Errorf("bundle: %w", err), "name a file that esched bundle RUN wrote"), hint.ExitUsage)
	}
	defer f.Close()
	c, err := bundle.Verify(f, o.Temp)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Target, err)
	}
	if o.JSON {
		err = printJSON(o.Stdout, c)
	} else {
		err = printCheck(o.Stdout, c)
	}
	if err == nil && !c.OK() {
		err = hint.With(fmt.Errorf("%s: %d damaged files, %d different numbers", o.Target, len(c.Damaged), len(c.Different)),
			"get the archive anew, or ask whoever packed it")
	}
	return err
}

func printCheck(w io.Writer, c *bundle.Check) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, packed by esched %s\n", c.Bundle, c.Esched)
	for _, part := range []struct {
		good string
		bad  []string
	}{
		{fmt.Sprintf("%d files are as their checksums say", c.Files), c.Damaged},
		{fmt.Sprintf("%d numbers of the report were computed again and are the same", c.Numbers), c.Different},
	} {
		if len(part.bad) == 0 {
			fmt.Fprintf(&b, "ok   %s\n", part.good)
		}
		for _, what := range part.bad {
			fmt.Fprintf(&b, "bad  %s\n", what)
		}
	}
	if c.Headline != "" {
		fmt.Fprintf(&b, "%s\n", c.Headline)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lockTexts are the locks that this esched knows, by hash.
func lockTexts() (map[string]bundle.Lock, error) {
	all := make(map[string]bundle.Lock)
	for _, name := range pyenv.Names() {
		l, err := pyenv.Lock(name)
		if err != nil {
			return nil, err
		}
		all[l.Hash] = bundle.Lock{Name: name, Text: l.Text}
	}
	return all, nil
}

// tool says which esched this is: the hash of its file, and what the Go tool
// wrote down.
func (o bundleOptions) tool() bundle.Tool {
	v := readVersion()
	t := bundle.Tool{Version: v.Version, Commit: v.Commit, Go: v.Go, OS: v.OS, Arch: v.Arch}
	t.SHA256 = o.hash(o.Executable)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	t.Build = make(map[string]string)
	for _, s := range info.Settings {
		if !strings.HasPrefix(s.Key, "vcs") { // in Commit
			t.Build[s.Key] = s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		t.Modules = append(t.Modules, strings.TrimSpace(m.Path+" "+m.Version+" "+m.Sum))
	}
	return t
}

// hash is the SHA-256 of a file; "" when it cannot be read, as a program that
// may only be executed.
func (o bundleOptions) hash(path string) string {
	f, err := o.directory(filepath.Dir(path)).Open(filepath.Base(path))
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
