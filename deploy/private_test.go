package deploy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/internal/hint"
)

func TestMakePrivate(t *testing.T) {
	t.Parallel()
	h := hosts(t, t.TempDir(), "a")[0]
	for _, c := range []struct {
		name string
		make func(dir string) error
		want bool
	}{
		{"new", func(string) error { return nil }, true},
		{"own", func(dir string) error { return os.MkdirAll(dir, 0o700) }, true},
		{"open", func(dir string) error { return os.MkdirAll(dir, 0o755) }, false},
		{"link", func(dir string) error {
			if err := os.MkdirAll(dir+"-to", 0o700); err != nil {
				return err
			}
			return os.Symlink(dir+"-to", dir)
		}, false},
		{"file", func(dir string) error {
			if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o700)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a b", "c")
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			err := deploy.MakePrivate(t.Context(), h, dir)
			if (err == nil) != c.want || err != nil && hint.Of(err) == "" {
				t.Errorf("accepted: want %v, have %v", c.want, err)
			}
			if info, err := os.Stat(dir); c.want && (err != nil || info.Mode().Perm() != 0o700) {
				t.Errorf("want mode 0700, have %v, %v", info, err)
			}
		})
	}
}
