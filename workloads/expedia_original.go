package workloads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/esched/esched/internal/download"
	"github.com/esched/esched/internal/hint"
)

// convertExpedia makes the data set of the original's CSV files. What was
// downloaded for it is removed afterwards.
func convertExpedia(ctx context.Context, o Obtain, path string) error {
	from, _ := o.Options["source"].(string) // the command accepts texts only
	remote := strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
	mend := "esched data expedia --source DIRECTORY"
	switch {
	case from == "":
		return hint.WithExit(hint.With(errors.New("nobody said where the original's files are"), mend), hint.ExitUsage)
	case !remote && !filepath.IsAbs(from):
		return hint.WithExit(hint.With(fmt.Errorf("%q is neither an absolute path nor a URL", from), mend), hint.ExitUsage)
	}
	downloads := filepath.Join(path, "csv")
	var files [2]string
	for i, table := range []string{"train", "test"} {
		name, _ := o.Options[table].(string)
		if name == "" || name != filepath.Base(name) {
			err := fmt.Errorf("--%s: %q is not the name of a file", table, name)
			return hint.WithExit(hint.With(err, "name the directory with --source, the file in it with --"+table), hint.ExitUsage)
		}
		var err error
		if files[i], err = originalFile(ctx, o, from, name, downloads); errors.Is(err, download.ErrMissing) {
			err = hint.With(err, "name the file with --"+table+", where it is with --source")
		}
		if err != nil {
			return err
		}
	}
	err := o.Python(ctx, &counting{tell: o.Progress, what: "convert"}, expediaModule, "convert", path,
		"--train", files[0], "--test", files[1], "--part-rows", fmt.Sprint(mostPartRows))
	if err != nil {
		return err
	}
	return os.RemoveAll(downloads)
}

// originalFile returns the path of one of the original's files with the right
// content. A file of this machine is used where it is.
func originalFile(ctx context.Context, o Obtain, from, name, downloads string) (string, error) {
	sums, err := download.Checksums(ctx, o.HTTP, download.Within(from, checksumList))
	if err != nil {
		return "", err
	}
	source := download.Within(from, name)
	if filepath.IsAbs(from) {
		return source, present(ctx, source, sums[name])
	}
	file := download.File{Source: source, Path: filepath.Join(downloads, name), SHA256: sums[name]}
	return file.Path, download.Get(ctx, o.HTTP, file, func(done, total int64) {
		o.Progress(Progress{What: name, Done: done, Total: total, Unit: "B"})
	})
}

// present checks that a file of this machine is there, and that it has a
// checksum if one is given.
func present(ctx context.Context, name, want string) error {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, download.ErrMissing)
	}
	if err == nil {
		err = download.Matches(ctx, name, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
