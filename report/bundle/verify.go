package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Check is what looking into an archive found.
type Check struct {
	Bundle string `json:"bundle"`
	// Esched is the version that packed it.
	Esched string `json:"esched"`
	// Files counts the files, Damaged names those that are missing, not listed,
	// or not as listed.
	Files   int      `json:"files"`
	Damaged []string `json:"damaged"`
	// Numbers counts the numbers of the report that were computed again from the
	// run's records, Different tells those that are not as packed.
	Numbers   int      `json:"numbers"`
	Different []string `json:"different"`
	// Headline is that of the report made anew.
	Headline string `json:"headline"`
}

// OK reports whether nothing was damaged or different.
func (c *Check) OK() bool { return len(c.Damaged) == 0 && len(c.Different) == 0 }

// maxNamed is how many damaged files and different numbers are named.
const maxNamed = 20

// Verify reads an archive, compares its files with their checksums, makes the
// report anew from the run in it, and compares the numbers of the two reports.
// Temporary files go to temp. What is wrong is in the Check; an error means
// that the archive cannot be read at all.
func Verify(r io.Reader, temp string) (*Check, error) {
	b, err := read(r)
	if err != nil {
		return nil, err
	}
	c := &Check{Bundle: b.Name, Files: len(b.files), Damaged: []string{}, Different: []string{}}
	var tool Tool
	if err := json.Unmarshal(b.files[ToolFile], &tool); err == nil {
		c.Esched = tool.Version
	}
	c.checksums(b.files)
	if err := c.rerender(b.files, temp); err != nil {
		c.Different = append(c.Different, err.Error())
	}
	return c, nil
}

// checksums holds every file against the list, and the list against the files.
func (c *Check) checksums(files map[string][]byte) {
	list, ok := files[ChecksumsFile]
	if !ok {
		c.Damaged = append(c.Damaged, ChecksumsFile+": missing")
		return
	}
	want := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		if sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			want[name] = sum
		}
	}
	for name, sum := range want {
		data, ok := files[name]
		switch {
		case !ok:
			c.Damaged = append(c.Damaged, name+": missing")
		case fmt.Sprintf("%x", sha256.Sum256(data)) != sum:
			c.Damaged = append(c.Damaged, name+": not as listed in "+ChecksumsFile)
		}
	}
	for name := range files {
		if _, ok := want[name]; !ok && name != ChecksumsFile {
			c.Damaged = append(c.Damaged, name+": not listed in "+ChecksumsFile)
		}
	}
	slices.Sort(c.Damaged)
	c.Damaged = firstOf(c.Damaged)
}

func firstOf(all []string) []string {
	if len(all) > maxNamed {
		return append(all[:maxNamed:maxNamed], fmt.Sprintf("and %d more", len(all)-maxNamed))
	}
	return all
}

// rerender makes the report anew and compares it with the one packed.
func (c *Check) rerender(files map[string][]byte, temp string) error {
	run, err := reread(files, temp)
	if err != nil {
		return err
	}
	again, err := rebuild(run, files)
	if err != nil {
		return err
	}
	c.Headline = again.Headline
	var data, page bytes.Buffer
	if err := again.WriteJSON(&data); err != nil {
		return err
	}
	if err := again.WriteHTML(&page); err != nil {
		return err
	}
	packed, made, err := decodeBoth(files[reportJSON], data.Bytes())
	if err != nil {
		return err
	}
	d := differ{}
	// Sentences may be put in other words by another version; numbers may not.
	for _, part := range []string{"cells", "ratios"} {
		d.compare(part, packed[part], made[part])
	}
	d.tables(packed["tables"], made["tables"])
	if d.numbers == 0 && len(run.Records) > 0 {
		d.found = append(d.found, reportJSON+": has no numbers")
	}
	c.Numbers, c.Different = d.numbers, append(c.Different, firstOf(d.found)...)
	return nil
}

func decodeBoth(packed, made []byte) (a, b map[string]any, err error) {
	if err := json.Unmarshal(packed, &a); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", reportJSON, err)
	}
	if err := json.Unmarshal(made, &b); err != nil {
		return nil, nil, fmt.Errorf("report made anew: %w", err)
	}
	return a, b, nil
}
