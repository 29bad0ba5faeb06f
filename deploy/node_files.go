package deploy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// cleanAnswer bounds cleaning a node, which deals with several records.
const cleanAnswer = 2 * time.Minute

// putPart is the number of files told in one frame; with paths of ordinary
// length that stays far below the limit of a frame.
const putPart = 1000

// Put implements [Host]. Only directories and regular files are copied;
// anything else in src is refused. Content travels through one guard, and only
// that of files which the node does not have.
func (n *Node) Put(ctx context.Context, src fs.FS, dir string) error {
	files, err := inventory(ctx, src)
	if err == nil {
		err = n.converse(ctx, "put", func(c *conversation) error { return c.put(src, dir, files) })
	}
	if err != nil {
		return fmt.Errorf("files for %s on %s: %w", dir, n.name, err)
	}
	return nil
}

// Clean ends the processes that the run in the node's directory runDir recorded
// on that node and left, like the function Clean on the node itself.
func (n *Node) Clean(ctx context.Context, runDir string) ([]Ended, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cleanAnswer, fmt.Errorf("no answer within %v", cleanAnswer))
	defer cancel()
	var answer cleaned
	err := n.converse(ctx, "clean", func(c *conversation) error {
		if err := c.out.write(frameClean, []byte(runDir)); err != nil {
			return err
		}
		payload, err := c.next(frameDone)
		if err != nil {
			return err
		}
		return json.Unmarshal(payload, &answer)
	})
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return answer.Ended, fmt.Errorf("clean %s on %s: %w", runDir, n.name, err)
	}
	return answer.Ended, nil
}

// Remove removes a directory on the node with all that is in it, records of
// processes included: none of them may be running.
func (n *Node) Remove(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cleanAnswer, fmt.Errorf("no answer within %v", cleanAnswer))
	defer cancel()
	err := n.converse(ctx, "remove", func(c *conversation) error {
		if err := c.out.write(frameRemove, []byte(dir)); err != nil {
			return err
		}
		_, err := c.next(frameDone)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove %s on %s: %w", dir, n.name, err)
	}
	return nil
}

// inventory lists what src has, with the sums of contents.
func inventory(ctx context.Context, src fs.FS) ([]placedFile, error) {
	var files []placedFile
	err := fs.WalkDir(src, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := placedFile{Path: path, Mode: info.Mode().Perm(), Size: info.Size()}
		switch {
		case d.IsDir():
		case info.Mode().IsRegular():
			if f.Sum, err = sumOf(src.Open(path)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s: neither a file nor a directory", path)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// conversation is one exchange with a guard that supervises nothing.
type conversation struct {
	ctx    context.Context // done also when the guard has been silent for its lease
	out    *frameWriter
	lease  time.Duration
	frames chan heard
}

// heard is a frame of the guard, or the end of them.
type heard struct {
	kind    byte
	payload []byte
	err     error
}

// converse opens a guard and talks with it until talk returns or ctx is done.
func (n *Node) converse(ctx context.Context, name string, talk func(*conversation) error) error {
	var complaint Tail
	link, err := n.guard(ctx, name, &complaint)
	if err != nil {
		return err
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	c := &conversation{ctx: ctx, out: &frameWriter{w: link.In}, lease: link.Lease, frames: make(chan heard)}
	done := make(chan struct{})
	go c.listen(link.Out, giveUp)
	if c.lease > 0 {
		go beat(c.out, c.lease, done, nil)
	}
	result := make(chan error, 1)
	go func() { result <- talk(c) }()
	select {
	case err = <-result:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	close(done)
	link.In.Close()
	link.Close()
	giveUp(nil)
	if text := complaint.String(); errors.Is(err, errNotAnnounced) && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// listen reads the guard's frames. It gives the conversation up when none has
// come for as long as the lease.
func (c *conversation) listen(out io.Reader, giveUp context.CancelCauseFunc) {
	lease := c.lease
	if lease <= 0 {
		lease = cleanAnswer // on one machine silence means work
	}
	silence := time.AfterFunc(lease, func() { giveUp(fmt.Errorf("%w (nothing heard of it for %v)", errGuardLost, lease)) })
	defer silence.Stop()
	in := bufio.NewReader(out)
	err := skipTo(in, []byte(guardMagic))
	for {
		var h heard
		if h.err = err; err == nil {
			h.kind, h.payload, h.err = readFrame(in)
			if h.err != nil {
				h.err = fmt.Errorf("%w (%w)", errGuardLost, h.err)
			}
		}
		silence.Reset(lease)
		if h.err == nil && h.kind == frameBeat {
			continue
		}
		select {
		case c.frames <- h:
		case <-c.ctx.Done():
			return
		}
		if h.err != nil {
			return
		}
	}
}

// next returns the payload of the guard's next frame, which must be of that
// kind.
func (c *conversation) next(kind byte) ([]byte, error) {
	var h heard
	select {
	case h = <-c.frames:
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	switch {
	case h.err != nil:
		return nil, h.err
	case h.kind == frameRefused:
		return nil, errors.New(string(h.payload))
	case h.kind != kind:
		return nil, fmt.Errorf("guard: frame of kind %q instead of %q", h.kind, kind)
	}
	return h.payload, nil
}

func (c *conversation) put(src fs.FS, dir string, files []placedFile) error {
	for rest := files; ; {
		part := rest[:min(putPart, len(rest))]
		rest = rest[len(part):]
		if err := c.out.writeJSON(framePut, placement{Dir: dir, Files: part, Lease: c.lease}); err != nil {
			return c.refusal(err)
		}
		if len(part) == 0 {
			break
		}
	}
	payload, err := c.next(frameWanted)
	if err != nil {
		return err
	}
	var wanted []int
	if err := json.Unmarshal(payload, &wanted); err != nil {
		return fmt.Errorf("guard: wanted: %w", err)
	}
	for _, i := range wanted {
		if i < 0 || i >= len(files) {
			return fmt.Errorf("guard: wanted: file %d of %d", i, len(files))
		}
		if err := c.send(src, files[i].Path); err != nil {
			return err
		}
	}
	_, err = c.next(frameDone)
	return err
}

// send sends the content of one file.
func (c *conversation) send(src fs.FS, path string) error {
	file, err := src.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, chunk)
	for {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		n, err := io.ReadFull(file, buf)
		if n > 0 {
			if err := c.out.write(frameInput, buf[:n]); err != nil {
				return c.refusal(err)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := c.out.write(frameInputEnd, nil); err != nil {
		return c.refusal(err)
	}
	return nil
}

// refusal is the guard's reason for no longer taking what is sent, or else err.
func (c *conversation) refusal(err error) error {
	if _, said := c.next(frameRefused); said != nil && !errors.Is(said, errGuardLost) {
		return said
	}
	return err
}
