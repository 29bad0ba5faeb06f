package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Put implements deploy.Host. Only directories and regular files are copied;
// anything else in src is refused.
func (h *Host) Put(ctx context.Context, src fs.FS, dir string) error {
	err := fs.WalkDir(src, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: neither a file nor a directory", path)
		}
		content, err := fs.ReadFile(src, path)
		if err != nil {
			return err
		}
		return replace(target, content, info.Mode().Perm())
	})
	if err != nil {
		return fmt.Errorf("files for %s on %s: %w", dir, h.Name(), err)
	}
	return nil
}

// replace makes path a file with this content and mode, unless it is one. A
// reader sees the old file or the new one, never a part.
func replace(path string, content []byte, mode fs.FileMode) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(content)) {
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			if info.Mode().Perm() == mode {
				return nil
			}
			return os.Chmod(path, mode)
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
