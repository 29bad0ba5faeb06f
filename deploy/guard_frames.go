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
// frames: one byte of kind, four bytes of length (big endian), payload. The
// guard's output begins with guardMagic, because a login shell may have
// printed something before the guard ran.
//
// The parent's side of the conversation:
//
//	launch   first; what to execute (JSON of launch)
//	input    bytes for the command's standard input
//	inputEnd the command's standard input ends
//	signal   name of a signal for the command, not its group
//	ask      report the CPU time used so far
//	stop     end the group; payload: the grace time in milliseconds
//	(end of the stream)  the parent is gone: end the group
//
// The guard's side:
//
//	started  the command runs (JSON of started)
//	refused  it could not be started; payload: why
//	output   bytes of the command's standard output
//	taken    one input frame was written to the command
//	cpu      answer to ask (JSON of a number of nanoseconds)
//	exited   command and group have ended (JSON of exited); the last frame
const (
	frameLaunch   = 'L'
	frameInput    = 'i'
	frameInputEnd = 'e'
	frameSignal   = 's'
	frameAsk      = 'a'
	frameStop     = 't'

	frameStarted = 'S'
	frameRefused = 'R'
	frameOutput  = 'o'
	frameTaken   = 'k'
	frameCPU     = 'c'
	frameExited  = 'x'
)

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
	buf := make([]byte, 5+len(payload))
	buf[0] = kind
	binary.BigEndian.PutUint32(buf[1:], uint32(len(payload)))
	copy(buf[5:], payload)
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
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
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
