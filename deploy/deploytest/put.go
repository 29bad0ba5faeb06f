package deploytest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func testClose(t *testing.T, f *fixture) {
	p := f.start(t, t.Context(), f.family("closed", "sleep 100"))
	all := pids(t, f.pidFile(), familySize)
	if err := f.host.Close(); err != nil {
		t.Error(err)
	}
	ended(t, p)
	allGone(t, all)
	c := shell("late", "sleep 100")
	c.Log = filepath.Join(f.dir, "late.log")
	if p, err := f.host.Start(t.Context(), c); err == nil {
		t.Errorf("start after Close: want an error, have process %d", p.PID())
	}
}

func testPut(t *testing.T, f *fixture) {
	src, dst := filepath.Join(f.dir, "src"), filepath.Join(f.dir, "dst")
	for path, mode := range map[string]fs.FileMode{"a.py": 0o644, "bin/run": 0o755, "empty": 0o600} {
		path = filepath.Join(src, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.TrimSuffix(path, filepath.Join(src, "empty"))), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	inode := func(path string) uint64 {
		info, err := os.Stat(filepath.Join(dst, path))
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	put := func() {
		t.Helper()
		if err := f.host.Put(t.Context(), os.DirFS(src), dst); err != nil {
			t.Fatal(err)
		}
	}
	put()
	info, err := os.Stat(filepath.Join(dst, "bin/run"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("want mode 0755, have %v, %v", info, err)
	}
	same, other := inode("a.py"), inode("bin/run")
	if err := os.WriteFile(filepath.Join(src, "bin/run"), []byte("new"), 0o755); err != nil {
		t.Fatal(err)
	}
	put()
	if have := inode("a.py"); have != same {
		t.Error("an unchanged file: want it kept, have it replaced")
	}
	if have := inode("bin/run"); have == other {
		t.Error("a changed file: want a new one in its place, have the old one overwritten")
	}
	if text, _ := os.ReadFile(filepath.Join(dst, "bin/run")); string(text) != "new" {
		t.Errorf("want content %q, have %q", "new", text)
	}
	files, _ := os.ReadDir(dst)
	if len(files) != 3 {
		t.Errorf("want 3 entries and no temporary files, have %v", files)
	}
}
