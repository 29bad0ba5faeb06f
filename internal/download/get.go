package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/esched/esched/internal/hint"
)

const (
	// silence bounds the wait for the next byte. It is also the bound on a list
	// of checksums.
	silence = 30 * time.Second
	// attempts in a row may bring nothing; one that brings something counts anew.
	attempts = 5
	// firstPause is the pause after the first attempt that failed; each further
	// one is twice as long.
	firstPause = 500 * time.Millisecond
)

// File says what to get and where to put it.
type File struct {
	// Source is an http or https URL, or a path on this machine.
	Source string
	// Path is where it is to be. Its directory is made. While it is not whole,
	// it is beside that, with the suffix ".part".
	Path string
	// SHA256 of its content in hexadecimal digits; "" when unknown.
	SHA256 string
}

// errFinal marks what another attempt would not mend.
var errFinal = errors.New("given up")

// Get makes the file complete. What is there already under its name is left
// alone; what an earlier attempt left is continued if the server still has the
// same. A connection that breaks, or is silent for half a minute, is made
// again; only five attempts in a row that brought nothing end it. progress takes
// the bytes that are there, and how many there will be (0 while unknown).
//
// It returns soon after ctx is done and leaves what a later call continues
// with. Errors wrap [ErrMissing] when the source has no such file. It may be
// called concurrently for different paths.
func Get(ctx context.Context, client *http.Client, f File, progress func(done, total int64)) error {
	if info, err := os.Stat(f.Path); err == nil {
		progress(info.Size(), info.Size())
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	part := f.Path + ".part"
	if err := fetch(ctx, client, f, part, progress); err != nil {
		return fmt.Errorf("%s: %w", f.Source, err)
	}
	if err := Matches(ctx, part, f.SHA256); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", f.Source, err), discard(part))
	}
	if err := os.Rename(part, f.Path); err != nil {
		return err
	}
	return forget(part)
}

// fetch makes part complete.
func fetch(ctx context.Context, client *http.Client, f File, part string, progress func(done, total int64)) error {
	if !remote(f.Source) {
		return duplicate(ctx, f.Source, part, progress)
	}
	pause := firstPause
	for fruitless := 0; ; {
		got, err := request(ctx, client, f.Source, part, progress)
		if err == nil || errors.Is(err, errFinal) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if fruitless++; got > 0 {
			fruitless, pause = 1, firstPause
		}
		if fruitless >= attempts {
			err = fmt.Errorf("%w (%d attempts in a row brought nothing)", err, attempts)
			return hint.With(err, "run the same command again later; it continues with what is there")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// duplicate copies a file of this machine.
func duplicate(ctx context.Context, source, part string, progress func(done, total int64)) error {
	from, err := os.Open(source)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrMissing
	}
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.Create(part)
	if err != nil {
		return err
	}
	_, err = pour(ctx, to, from, 0, info.Size(), progress)
	return settle(to, err)
}

// pour copies until the end, and tells how far it is.
func pour(ctx context.Context, to io.Writer, from io.Reader, done, total int64, progress func(done, total int64)) (int64, error) {
	buffer := make([]byte, 1<<18)
	var got int64
	progress(done, total)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return got, fmt.Errorf("%w: %w", errFinal, err)
			}
			got += int64(n)
			progress(done+got, total)
		}
		switch {
		case err == io.EOF:
			return got, nil
		case err != nil:
			return got, err
		case ctx.Err() != nil:
			return got, context.Cause(ctx)
		}
	}
}

// settle closes a file so that its content is on the disk.
func settle(f *os.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// checkStep is the number of bytes between two looks at whether to stop.
const checkStep = 64 << 20

// Matches compares a file's content with a checksum in hexadecimal digits; any
// content matches "". It ends soon after ctx is done.
func Matches(ctx context.Context, name, want string) error {
	if want == "" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_, err := io.CopyN(sum, f, checkStep)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if have := hex.EncodeToString(sum.Sum(nil)); have != want {
		err := fmt.Errorf("content has the SHA-256 %.12s, not %.12s as its list says", have, want)
		return hint.With(err, "run the same command again; if it stays, the list or the file at the source is wrong")
	}
	return nil
}

// discard removes what cannot be continued.
func discard(part string) error {
	err := os.Remove(part)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, forget(part))
}
