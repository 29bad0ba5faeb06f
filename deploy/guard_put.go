package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Files travel to a node like this. The parent sends put (JSON of placement)
// and then, in one conversation:
//
//	parent  put       a directory and the files that shall be in it, in parts; an
//	                  empty list ends it
//	guard   wanted    indexes of the files that are not there yet (JSON)
//	parent  input     the bytes of the wanted files, one after the other
//	parent  inputEnd  the end of each of them
//	guard   done      all are in their place, or refused with the reason
//
// beat keeps a silent conversation alive in both directions.
type placement struct {
	Dir   string        `json:"dir"`
	Files []placedFile  `json:"files"`
	Lease time.Duration `json:"lease,omitempty"`
}

// placedFile is a file, or with Sum "" a directory.
type placedFile struct {
	Path string      `json:"path"` // below the directory, with slashes
	Mode fs.FileMode `json:"mode"`
	Size int64       `json:"size"`
	Sum  string      `json:"sum,omitempty"` // SHA-256, hexadecimal
}

// putSilence is how long a guard waits for the next frame of a conversation
// about files when the parent set no lease.
const putSilence = 30 * time.Second

// receiver is the guard's side of a placement.
type receiver struct {
	in    io.Reader
	out   *frameWriter
	lease time.Duration
}

// receiveFiles serves a put frame.
func receiveFiles(payload []byte, stdin io.Reader, out *frameWriter) error {
	var part placement
	if err := json.Unmarshal(payload, &part); err != nil {
		return fmt.Errorf("guard: put: %w", err)
	}
	dir, files := part.Dir, part.Files
	r := receiver{in: stdin, out: out, lease: part.Lease}
	if r.lease <= 0 {
		r.lease = putSilence
	}
	for len(part.Files) > 0 {
		payload, err := r.next()
		if err != nil {
			return err
		}
		part = placement{}
		if err := json.Unmarshal(payload, &part); err != nil {
			return fmt.Errorf("guard: put: %w", err)
		}
		files = append(files, part.Files...)
	}
	wanted := []int{}
	for i, f := range files {
		missing, err := f.missing(dir)
		if err != nil {
			return err
		}
		if missing {
			wanted = append(wanted, i)
		}
	}
	if err := r.out.writeJSON(frameWanted, wanted); err != nil {
		return err
	}
	for _, i := range wanted {
		if err := r.take(dir, files[i]); err != nil {
			return err
		}
	}
	return r.out.write(frameDone, nil)
}

// next returns the payload of the next frame, which must tell more files.
func (r *receiver) next() ([]byte, error) {
	kind, payload, err := r.frame()
	if err == nil && kind != framePut {
		err = fmt.Errorf("guard: put: frame of kind %q among the files", kind)
	}
	return payload, err
}

// frame reads one frame that is not a beat, and ends the guard's work when the
// parent is silent for too long.
func (r *receiver) frame() (byte, []byte, error) {
	for {
		kind, payload, err := readWithin(r.in, r.lease)
		if err != nil || kind != frameBeat {
			return kind, payload, err
		}
	}
}

// readWithin reads a frame, or gives up after that time: the parent may be on a
// machine that stands still.
func readWithin(in io.Reader, bound time.Duration) (byte, []byte, error) {
	got := make(chan heard, 1)
	go func() {
		kind, payload, err := readFrame(in)
		got <- heard{kind, payload, err}
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case f := <-got:
		return f.kind, f.payload, f.err
	case <-timer.C:
		return 0, nil, fmt.Errorf("guard: nothing heard of esched for %v", bound)
	}
}

// missing tells whether the file has to be sent. It makes directories, and
// mends the mode of a file whose content is right.
func (f placedFile) missing(dir string) (bool, error) {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
		return false, fmt.Errorf("%s: not below the directory", f.Path)
	}
	if f.Sum == "" {
		return false, os.MkdirAll(path, 0o700)
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Size() != f.Size) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	sum, err := sumOf(os.Open(path))
	if err != nil || sum != f.Sum {
		return true, nil // what cannot be read is replaced, if that can be done
	}
	if info.Mode().Perm() == f.Mode.Perm() {
		return false, nil
	}
	return false, os.Chmod(path, f.Mode.Perm())
}

// sumOf returns the SHA-256 of a file, which it closes.
func sumOf(file fs.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// take receives one file. A reader of its path sees the old content or the new
// one, never a part.
func (r *receiver) take(dir string, f placedFile) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = r.fill(tmp, f)
	err = errors.Join(err, tmp.Chmod(f.Mode.Perm()), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (r *receiver) fill(w io.Writer, f placedFile) error {
	h := sha256.New()
	for {
		kind, payload, err := r.frame()
		if err != nil {
			return err
		}
		switch kind {
		case frameInput:
			h.Write(payload)
			if _, err := w.Write(payload); err != nil {
				return err
			}
		case frameInputEnd:
			if have := hex.EncodeToString(h.Sum(nil)); have != f.Sum {
				return fmt.Errorf("content changed on its way: SHA-256 is %s, not %s", have, f.Sum)
			}
			return nil
		default:
			return fmt.Errorf("guard: put: frame of kind %q in a file", kind)
		}
	}
}

// cleaned is the answer to clean, whose payload is the directory of the run.
type cleaned struct {
	Ended []Ended `json:"ended"`
	Error string  `json:"error,omitempty"`
}

// answerRemove removes a directory with all that is in it. A refusal tells why
// some of it is still there.
func answerRemove(payload []byte, out *frameWriter) error {
	dir := string(payload)
	if !filepath.IsAbs(dir) || filepath.Dir(filepath.Clean(dir)) == filepath.Clean(dir) {
		return fmt.Errorf("guard: remove: %q is no directory to remove", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("guard: remove: %w", err)
	}
	return out.write(frameDone, nil)
}

func answerClean(payload []byte, out *frameWriter) error {
	ended, err := Clean(string(payload))
	c := cleaned{Ended: ended}
	if err != nil {
		c.Error = err.Error()
	}
	return out.writeJSON(frameDone, c)
}
