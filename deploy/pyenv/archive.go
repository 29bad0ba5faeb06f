package pyenv

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// packedLife is how long a packed environment is kept that no run uses.
const packedLife = 30 * 24 * time.Hour

// pack returns the packed files of a directory, from the cache when they are
// there. name stands for their content.
func (m *Manager) pack(ctx context.Context, name, from string, skip func(string, fs.DirEntry) bool, tell func(string)) (string, error) {
	dir := filepath.Join(m.CacheDir, "esched", "packed")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(dir, name+packedSuffix)
	now := time.Now()
	if os.Chtimes(file, now, now) == nil {
		return file, nil
	}
	forget(dir, now.Add(-packedLife))
	tell("packing " + from)
	tmp, err := os.MkdirTemp(dir, "new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	made := filepath.Join(tmp, name)
	if err := archive(ctx, from, made, skip); err != nil {
		return "", err
	}
	return file, os.Rename(made, file)
}

const packedSuffix = ".tar.gz"

// forget removes packed files that were last used before then, and what was
// left by packing that was killed.
func forget(dir string, then time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().Before(then) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // it only takes room
		}
	}
}

// archive packs a directory for another machine: a compressed tar file at
// path. skip leaves out what nobody needs there; it gets paths below dir.
func archive(ctx context.Context, dir, path string, skip func(name string, d fs.DirEntry) bool) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// The nodes of a cluster are near, the files many: speed counts.
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == "." {
			return err
		}
		if skip(name, d) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return add(w, dir, name)
	})
	err = errors.Join(err, w.Close(), z.Close(), f.Close())
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// add adds a file, a directory or a link.
func add(w *tar.Writer, dir, name string) error {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	target := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err = os.Readlink(path); err != nil {
			return err
		}
		target = within(dir, path, target)
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil // a socket or the like, which no package has
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name = filepath.ToSlash(name)
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	// Python compares a compiled file with the whole seconds of its source.
	h.ModTime, h.AccessTime, h.ChangeTime = info.ModTime().Truncate(time.Second), time.Time{}, time.Time{}
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// within makes the absolute target of a link that stays inside dir relative, so
// that it leads to the copy's own file.
func within(dir, link, target string) string {
	if !filepath.IsAbs(target) {
		return target
	}
	inside, err := filepath.Rel(dir, target)
	if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
		return target
	}
	rel, err := filepath.Rel(filepath.Dir(link), target)
	if err != nil {
		return target
	}
	return rel
}

// needless are parts of a Python installation that no environment made with it
// uses: packages of its own, tests, what C programs are built with, manuals.
var needless = regexp.MustCompile(`^(include|share|lib/pkgconfig|lib/python[0-9.]+t?/(site-packages|test|idlelib|config-[^/]*))$|\.a$`)

func skipNeedless(name string, _ fs.DirEntry) bool {
	return needless.MatchString(filepath.ToSlash(name))
}

func skipNothing(string, fs.DirEntry) bool { return false }

// sizeOf is the size of a file in megabytes, for people.
func sizeOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "?"
	}
	return fmt.Sprintf("%d MB", (info.Size()+1<<20-1)>>20)
}
