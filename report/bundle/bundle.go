package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/esched/esched/report"
	"github.com/esched/esched/runners/record"
)

// The files of every bundle that others look for by name.
const (
	ReadmeFile    = "README.md"
	ChecksumsFile = "SHA256SUMS"
	RemovedFile   = "removed.json"
	ToolFile      = "esched.json"
	reportJSON    = "report/report.json"
)

// Source says what to pack.
type Source struct {
	// Run is the directory of a run.
	Run string
	// Home and User are the home directory and the name of whoever packs; both
	// are taken out of all texts. Other home directories are found by their form.
	Home, User string
	// Locks are the texts of the lock files that environments were made from, by
	// the SHA-256 that a manifest names.
	Locks map[string]Lock
	// Tool is the esched that packs.
	Tool Tool
	// LogLimit is the size in bytes that all logs together may have.
	LogLimit int64
	// Temp is a directory for temporary files.
	Temp string
}

// Lock is a lock file.
type Lock struct {
	Name string
	Text []byte
}

// Tool says which esched made a bundle.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// SHA256 is the hash of its file, in hexadecimal; "" when it is not known.
	SHA256 string `json:"sha256,omitempty"`
	// Build are the settings it was built with, Modules what it was built from
	// ("module version checksum").
	Build   map[string]string `json:"build,omitempty"`
	Modules []string          `json:"modules,omitempty"`
}

// Bundle is the files of an archive.
type Bundle struct {
	// Name is the directory that all files are in, named after the run.
	Name string
	// Date is that of all files: when the run ended, or started, or a fixed one.
	Date time.Time
	// Removed is what was in the run and is not in the bundle.
	Removed []Removal

	files map[string][]byte
}

// Files are the names of the files, sorted.
func (b *Bundle) Files() []string { return slices.Sorted(maps.Keys(b.files)) }

// Size is the number of bytes of all files together.
func (b *Bundle) Size() int64 {
	var n int64
	for _, data := range b.files {
		n += int64(len(data))
	}
	return n
}

// builder collects the files of a bundle.
type builder struct {
	source Source
	scrub  *scrubber
	files  map[string][]byte
	run    *record.Run
	report *report.Report
	wrote  int64 // bytes of the files of the run
}

// Make reads a run and makes its bundle, in memory: a run has some megabytes
// and as much of logs as the limit says. A damaged run is packed as it is.
func Make(s Source) (*Bundle, error) {
	if _, err := record.Read(s.Run); err != nil {
		return nil, err
	}
	b := &builder{source: s, scrub: newScrubber(s.Home, s.User), files: make(map[string][]byte)}
	if err := b.collect(); err != nil {
		return nil, err
	}
	var err error
	if b.run, err = reread(b.files, s.Temp); err != nil {
		return nil, err
	}
	if b.report, err = rebuild(b.run, b.files); err != nil {
		return nil, err
	}
	for _, add := range []func() error{b.reports, b.setup, b.readme, b.removals} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	b.checksums()
	m := b.run.Manifest
	made := &Bundle{Name: b.name(), Removed: b.scrub.removals(), files: b.files}
	for _, t := range []time.Time{m.Ended, m.Started, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if made.Date.IsZero() {
			made.Date = t.UTC().Truncate(time.Second)
		}
	}
	return made, nil
}

// name is the run's, made fit for a directory.
func (b *builder) name() string {
	name := cmp.Or(b.run.Manifest.ID, filepath.Base(b.source.Run))
	name = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, name), ".-")
	return cmp.Or(name, "run")
}

// reread reads the run as it is in a bundle: whoever unpacks it sees the same.
func reread(files map[string][]byte, temp string) (*record.Run, error) {
	dir, err := os.MkdirTemp(temp, "esched-bundle-")
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{record.ManifestFile, record.TrialsFile, record.EventsFile} {
		if data, ok := files["run/"+name]; ok {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				return nil, fmt.Errorf("bundle: %w", err)
			}
		}
	}
	run, err := record.Read(dir)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	run.Dir = "run" // not where it was read from, which is another place each time
	return run, nil
}

// reports writes the report in all its forms.
func (b *builder) reports() error {
	write := func(name string, to func(*bytes.Buffer) error) error {
		var data bytes.Buffer
		if err := to(&data); err != nil {
			return err
		}
		b.files[name] = data.Bytes()
		return nil
	}
	r := b.report
	for _, err := range []error{
		write("report/report.html", func(w *bytes.Buffer) error { return r.WriteHTML(w) }),
		write("report/report.md", func(w *bytes.Buffer) error { return r.WriteMarkdown(w) }),
		write(reportJSON, func(w *bytes.Buffer) error { return r.WriteJSON(w) }),
	} {
		if err != nil {
			return err
		}
	}
	for dir, files := range map[string][]report.File{"report/figures": r.FigureFiles(), "report/tables": r.TableFiles()} {
		for _, f := range files {
			if err := write(path.Join(dir, f.Name), func(w *bytes.Buffer) error { return f.Write(w) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// setup writes what the run was made with: the experiment file, the locks, the
// packages, the hosts, and which esched packed it.
func (b *builder) setup() error {
	m := b.run.Manifest
	if m.Experiment != "" {
		b.files["experiment.toml"] = []byte(m.Experiment)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Environments)) {
		e := m.Environments[name]
		if lock, ok := b.source.Locks[e.Lock]; ok && e.Lock != "" {
			b.files["environments/"+lock.Name+".lock.txt"] = lock.Text
		}
		var packages strings.Builder
		fmt.Fprintf(&packages, "# Environment %s, Python %s: what was installed.\n", name, e.Python)
		for _, p := range slices.Sorted(maps.Keys(e.Packages)) {
			fmt.Fprintf(&packages, "%s==%s\n", p, e.Packages[p])
		}
		b.files["environments/"+b.environmentFile(name)+".packages.txt"] = []byte(packages.String())
	}
	hosts := m.Hosts
	if hosts == nil {
		hosts = []record.Host{}
	}
	if err := b.addJSON("hosts.json", hosts); err != nil {
		return err
	}
	if err := b.addJSON(ToolFile, b.source.Tool); err != nil {
		return err
	}
	b.files[ToolFile] = b.scrub.json(ToolFile, b.files[ToolFile]) // flags of a build may name directories
	return nil
}

// environmentFile names the files of an environment: by its name, or by the
// last part of its path when that is what it goes by.
func (b *builder) environmentFile(name string) string {
	if safe(name) && !strings.Contains(name, "/") {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("own-%x", sum[:4])
}

func (b *builder) addJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("bundle: %s: %w", name, err)
	}
	b.files[name] = append(data, '\n')
	return nil
}

// removals writes the list of what is not there.
func (b *builder) removals() error { return b.addJSON(RemovedFile, b.scrub.removals()) }

// checksums writes the file that sha256sum --check reads.
func (b *builder) checksums() {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b.files[name]), name)
	}
	b.files[ChecksumsFile] = []byte(text.String())
}
