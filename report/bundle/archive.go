package bundle

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/esched/esched/internal/hint"
)

// maxArchive bounds what an archive may unpack to, in bytes, maxFiles the
// number of its files: an archive from elsewhere is not to be trusted.
const (
	maxArchive = 4 << 30
	maxFiles   = 200_000
)

// Write writes the bundle as tar.gz. The bytes depend on nothing but the files
// and the date.
func (b *Bundle) Write(w io.Writer) error {
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	for _, name := range b.Files() {
		data := b.files[name]
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: b.Name + "/" + name, Size: int64(len(data)), Mode: 0o644,
			ModTime: b.Date, Format: tar.FormatPAX,
		}
		if err := archive.WriteHeader(head); err != nil {
			return fmt.Errorf("bundle: %s: %w", name, err)
		}
		if _, err := archive.Write(data); err != nil {
			return fmt.Errorf("bundle: %s: %w", name, err)
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	return nil
}

// read reads the files of an archive: regular files below one directory.
func read(r io.Reader) (*Bundle, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, foreign(fmt.Errorf("no gzip: %w", err))
	}
	b := &Bundle{files: make(map[string][]byte)}
	left := int64(maxArchive)
	for archive := tar.NewReader(packed); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, foreign(fmt.Errorf("damaged after %d files: %w", len(b.files), err))
		}
		top, name, _ := strings.Cut(head.Name, "/")
		switch {
		case head.Typeflag == tar.TypeDir:
			continue
		case head.Typeflag != tar.TypeReg:
			return nil, foreign(fmt.Errorf("%q is no regular file", head.Name))
		case !safe(top) || !safe(name):
			return nil, foreign(fmt.Errorf("%q is no name of a file in a directory", head.Name))
		case b.Name != "" && b.Name != top:
			return nil, foreign(fmt.Errorf("%q is not in the directory %s", head.Name, b.Name))
		case head.Size > left || len(b.files) == maxFiles:
			return nil, foreign(fmt.Errorf("larger than %d bytes or %d files", int64(maxArchive), maxFiles))
		}
		if _, twice := b.files[name]; twice {
			return nil, foreign(fmt.Errorf("%q is there twice", head.Name))
		}
		data, err := io.ReadAll(io.LimitReader(archive, left))
		if err != nil {
			return nil, foreign(fmt.Errorf("%s: damaged: %w", head.Name, err))
		}
		left -= int64(len(data))
		b.Name, b.files[name] = top, data
	}
	if len(b.files) == 0 {
		return nil, foreign(errors.New("no files"))
	}
	return b, nil
}

// foreign is the error of a file that is no bundle.
func foreign(err error) error {
	return hint.With(fmt.Errorf("not a bundle: %w", err), "name a file that esched bundle RUN wrote, and get it anew if it was cut short")
}
