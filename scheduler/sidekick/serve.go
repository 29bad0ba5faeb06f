package sidekick

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxSocketPath is the longest path that fits sockaddr_un on Linux with its
// final zero.
const maxSocketPath = 107

// Config of a decision service.
type Config struct {
	// Socket is the path to listen on. A socket that nobody listens on is
	// replaced. Required.
	Socket string
	// Policy and Seed decide until a connection chooses otherwise. Required.
	Policy string
	Seed   uint64
	// Stock lets workers hold as many tasks as Dask gives them by itself, unless
	// a connection chooses otherwise, and not as many as their duration suggests.
	Stock bool
	// Record, when set, gets the frames of every connection for Replay.
	Record io.Writer
	// Ready is called once when connections are accepted. Optional.
	Ready func()
	// Warn gets one line for each connection that ended by an error. Optional.
	Warn func(error)
}

// Serve answers Dask schedulers until ctx is done, each connection with a
// core of its own. It returns nil when ctx ended it.
func Serve(ctx context.Context, cfg Config) error {
	if len(cfg.Socket) > maxSocketPath {
		return fmt.Errorf("socket path %s has %d bytes, at most %d fit", cfg.Socket, len(cfg.Socket), maxSocketPath)
	}
	if _, err := NewSession(cfg.Policy, cfg.Seed, cfg.Stock); err != nil {
		return err
	}
	listener, err := listen(cfg.Socket)
	if err != nil {
		return err
	}
	defer listener.Close() // removes the socket too
	if cfg.Ready != nil {
		cfg.Ready()
	}
	return accept(ctx, listener, cfg)
}

// acceptPause is what accept waits when the process has no descriptor left,
// until connections that end give some back.
const acceptPause = 100 * time.Millisecond

// accept serves connections until ctx is done or the listener fails for good;
// then it ends those that live.
func accept(ctx context.Context, listener *net.UnixListener, cfg Config) error {
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	log := &frameLog{w: cfg.Record}
	warn := func(err error) {
		if cfg.Warn != nil {
			cfg.Warn(err)
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	live, end := context.WithCancel(ctx)
	defer end() // before the wait: a conversation does not end by itself
	scarce := false
	for id := uint32(1); ; {
		fd, err := detach(listener.AcceptUnix())
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case passing(err):
			if !scarce {
				warn(fmt.Errorf("socket %s: %w", cfg.Socket, err))
			}
			scarce = true
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		default:
			return fmt.Errorf("socket %s: %w", cfg.Socket, err)
		}
		scarce = false
		number := id
		id++
		wg.Go(func() {
			if err := serveConn(live, fd, cfg, log, number); err != nil {
				warn(fmt.Errorf("connection %d: %w", number, err))
			}
		})
	}
}

// detach takes an accepted connection away from Go's network poller, which
// would be woken by every frame that arrives, and returns its descriptor in
// blocking mode.
func detach(conn *net.UnixConn, err error) (int, error) {
	if err != nil {
		return -1, err
	}
	defer conn.Close() // ends the poller's interest too
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dup error
	if err := raw.Control(func(own uintptr) { fd, dup = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, err
	}
	if dup != nil {
		return -1, dup
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// passing reports whether accept may succeed later.
func passing(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// listen makes the socket, readable by its owner only.
func listen(path string) (*net.UnixListener, error) {
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("socket %s: another service listens there", path)
	} else if errors.Is(err, unix.ECONNREFUSED) { // as a file of another kind does
		if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("socket %s: a file that is no socket is there", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("stale socket: %w", err)
		}
	}
	old := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(old)
	return l, err
}

// serveConn speaks with one Dask scheduler. It keeps its thread and uses plain
// blocking reads and writes: waking a goroutine through the network poller
// would cost more than a decision.
func serveConn(ctx context.Context, fd int, cfg Config, log *frameLog, id uint32) error {
	defer unix.Close(fd)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	})
	defer func() { // the descriptor's number may belong to another soon
		if !stop() {
			<-ended
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	session, err := NewSession(cfg.Policy, cfg.Seed, cfg.Stock)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(blocking(fd), 256<<10)
	var frame []byte
	for {
		frame, err = readFrame(in, frame)
		if err != nil {
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil
			}
			return err
		}
		out, err := session.Frame(frame)
		if err != nil {
			return err
		}
		if err := log.add(cfg, id, frame); err != nil {
			return err
		}
		if len(out) > 0 {
			if _, err := blocking(fd).Write(out); err != nil {
				if ctx.Err() != nil || errors.Is(err, unix.EPIPE) {
					return nil
				}
				return err
			}
		}
	}
}

// readFrame reads one frame into buf, which it grows as needed.
func readFrame(in io.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if n > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes, at most %d are accepted", n, maxFrame)
	}
	if cap(buf) < n {
		buf = make([]byte, n+n/2)
	}
	buf = buf[:n]
	_, err := io.ReadFull(in, buf)
	return buf, err
}

// frameLog writes the frames of all connections to one stream: a JSON line
// that names policy, seed and slots, then u32 connection, u32 length, frame, ...
type frameLog struct {
	mu    sync.Mutex
	w     io.Writer
	begun bool
}

type logHeader struct {
	Version int    `json:"version"`
	Policy  string `json:"policy"`
	Seed    uint64 `json:"seed"`
	Stock   bool   `json:"stock,omitempty"`
}

func (l *frameLog) add(cfg Config, id uint32, frame []byte) error {
	if l.w == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun = true
		head, err := json.Marshal(logHeader{Version, cfg.Policy, cfg.Seed, cfg.Stock})
		if err != nil {
			return err
		}
		if _, err := l.w.Write(append(head, '\n')); err != nil {
			return fmt.Errorf("record of events: %w", err)
		}
	}
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], id)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(frame)))
	if _, err := l.w.Write(append(head[:], frame...)); err != nil {
		return fmt.Errorf("record of events: %w", err)
	}
	return nil
}

// Replay feeds a recorded stream of frames to fresh sessions and writes every
// reply to out, each connection's replies in the order of the record. The same
// record gives the same bytes.
func Replay(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("record's first line: %w", err)
	}
	var head logHeader
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("record's first line: %w", err)
	}
	sessions := map[uint32]*Session{}
	var frame []byte
	for {
		var raw [4]byte
		if _, err := io.ReadFull(r, raw[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		id := binary.LittleEndian.Uint32(raw[:])
		if frame, err = readFrame(r, frame); err != nil {
			return fmt.Errorf("record of connection %d: %w", id, err)
		}
		if sessions[id] == nil {
			if sessions[id], err = NewSession(head.Policy, head.Seed, head.Stock); err != nil {
				return err
			}
		}
		replies, err := sessions[id].Frame(frame)
		if err != nil {
			return err
		}
		if _, err := out.Write(replies); err != nil {
			return err
		}
	}
}
