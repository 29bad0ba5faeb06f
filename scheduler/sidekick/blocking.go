package sidekick

import (
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// blocking reads and writes a file descriptor in blocking mode, without the
// network poller and, while a conversation is lively, without telling Go's
// scheduler.
//
// A system call that Go knows of wakes its monitor thread, which then looks
// around every 20 us for a while: work without use at a frame every few
// milliseconds. A raw call costs only itself, but holds up a stop of the world;
// so raw calls wait no longer than lively.
type blocking int

// lively is how long a raw call may wait for the peer: several of the peer's
// intervals between frames, and little enough for a collector to wait.
const lively = 20 * time.Millisecond

// Read implements io.Reader.
func (fd blocking) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		var n int
		var err error
		if fd.readable(lively) {
			r, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
			if n = int(r); errno != 0 {
				err = errno
			}
		} else {
			n, err = unix.Read(int(fd), p)
		}
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// readable waits until there is something to read, or the end.
func (fd blocking) readable(wait time.Duration) bool {
	set := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	limit := unix.NsecToTimespec(wait.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&set)), 1,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	return errno == 0 && n == 1
}

// Write implements io.Writer. It does not wait in a raw call: the peer may be
// slow to read.
func (fd blocking) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		rest := p[done:]
		// Not write(2): the peer may be gone, and SIGPIPE must not end us.
		r, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&rest[0])),
			uintptr(len(rest)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		n, err := int(r), error(nil)
		if errno == unix.EAGAIN {
			n, err = unix.SendmsgN(int(fd), rest, nil, nil, unix.MSG_NOSIGNAL)
		} else if errno != 0 {
			err = errno
		}
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}
