package deploy

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// The guard speaks with its parent over its standard input and output, the
// only channels that exist on both sides of an SSH connection. Both carry
// frames: one byte of kind, four bytes of length (big endian), payload, line
// end. The guard's output begins with guardMagic, because a login shell may have
// printed something before the guard ran.
//
// The first frame says what the guard is for: to supervise a command (launch),
// to take files (put, see guard_put.go), to end what an earlier run left on the
// node (clean, answered by cleaned), to remove a directory (remove, answered by
// done), or to make room for a run and remove what others left (tidy, answered
// by done).
//
// The parent's side of the conversation about a command:
//
//	launch   first; what to execute (JSON of launch)
//	input    bytes for the command's standard input
//	inputEnd the command's standard input ends
//	signal   name of a signal for the command, not its group
//	ask      report the CPU time used so far
//	stop     end the group; payload: the grace time in milliseconds
//	beat     the parent lives; payload: the milliseconds left as in launch, which
//	         may be more or less than before
//	(end of the stream)  the parent is gone: end the group
//
// The guard's side:
//
//	started  the command runs (JSON of started)
//	refused  it could not be started; payload: why
//	output   bytes of the command's standard output
//	taken    one input frame was written to the command
//	cpu      answer to ask (JSON of a number of nanoseconds)
//	beat     answer to beat
//	exited   command and group have ended (JSON of exited); the last frame
//
// With a lease, each side takes the other for dead when it has heard nothing
// of it for that long: the end of a stream does not arrive when a cable is cut
// or a machine stands still.
const (
	frameLaunch   = 'L'
	frameInput    = 'i'
	frameInputEnd = 'e'
	frameSignal   = 's'
	frameAsk      = 'a'
	frameStop     = 't'
	frameBeat     = 'b'
	framePut      = 'P'
	frameClean    = 'C'
	frameRemove   = 'X'
	frameTidy     = 'T'

	frameStarted = 'S'
	frameRefused = 'R'
	frameOutput  = 'o'
	frameTaken   = 'k'
	frameCPU     = 'c'
	frameExited  = 'x'
	frameWanted  = 'w'
	frameDone    = 'd'
)

// frameEnd follows each frame and is no kind of one: some launchers hold output
// back until a line ends.
const frameEnd = '\n'

const guardMagic = "\x00esched-guard-1\n"

// frameLimit bounds a frame: a larger length is a sign of noise in the stream.
const frameLimit = 1 << 20

// chunk is the size into which streams are cut; window is the number of input
// frames that may be on their way, so that a command that does not read its
// input never keeps a stop frame from arriving.
const (
	chunk  = 32 << 10
	window = 8
)

type launch struct {
	Name   string        `json:"name"`
	Host   string        `json:"host"`
	Argv   []string      `json:"argv"`
	Env    []string      `json:"env,omitempty"`
	Dir    string        `json:"dir,omitempty"`
	Record string        `json:"record,omitempty"` // directory of the process record
	Merge  bool          `json:"merge"`            // standard output goes to standard error
	Input  bool          `json:"input"`            // standard input comes in frames; otherwise /dev/null
	Grace  time.Duration `json:"grace"`            // between SIGTERM and SIGKILL when nobody says otherwise
	Lease  time.Duration `json:"lease,omitempty"`  // the parent is taken for dead after that much silence; 0: never
	Left   time.Duration `json:"left,omitempty"`   // the group is ended after that time, unless a beat tells another; 0: never
}

type started struct {
	PID    int    `json:"pid"`
	Record string `json:"record,omitempty"` // path of the process record
}

type exited struct {
	Code   int           `json:"code"`             // exit status, -1 when ended by a signal
	Signal string        `json:"signal,omitempty"` // name of that signal
	CPU    time.Duration `json:"cpu"`
}

// frameWriter writes whole frames from several goroutines.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frameWriter) write(kind byte, payload []byte) error {
	buf := make([]byte, 5+len(payload)+1)
	buf[0] = kind
	binary.BigEndian.PutUint32(buf[1:], uint32(len(payload)))
	copy(buf[5:], payload)
	buf[len(buf)-1] = frameEnd
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.w.Write(buf)
	return err
}

func (f *frameWriter) writeJSON(kind byte, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.write(kind, payload)
}

func readFrame(r io.Reader) (kind byte, payload []byte, err error) {
	head := [5]byte{frameEnd}
	for head[0] == frameEnd {
		if _, err := io.ReadFull(r, head[:1]); err != nil {
			return 0, nil, err
		}
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > frameLimit {
		return 0, nil, fmt.Errorf("guard frame of %d bytes: larger than the limit of %d", n, frameLimit)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return head[0], payload, err
}
