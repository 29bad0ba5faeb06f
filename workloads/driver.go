package workloads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"time"
)

// maxLine bounds a line of a driver; the longest have a share per worker.
const maxLine = 16 << 20

// Process is a started command: a deploy.Process fits.
type Process interface {
	// Done is closed when it has ended, and Err tells how.
	Done() <-chan struct{}
	Err() error
}

// Start starts a command that reads stdin, writes stdout, and sends its
// standard error to a log. The process must end with ctx.
type Start func(ctx context.Context, argv, env []string, stdin io.Reader, stdout io.Writer) (Process, error)

// DriverSpec says what to start.
type DriverSpec struct {
	// Python is the interpreter, PythonPath the value of PYTHONPATH, with the
	// directory of [Files]. Required.
	Python, PythonPath string
	// Scheduler is the address of Dask's scheduler, SchedulerFile the path of a
	// file that gets it when the scheduler starts. One of them is required.
	Scheduler, SchedulerFile string
	// Env are further variables, "K=V". Optional.
	Env []string
	// Tail returns the last lines of the driver's log. Optional.
	Tail func() string
}

// Driver is a client process of a deployment. It executes one trial at a
// time; its methods may be called from several goroutines.
type Driver struct {
	// Ready is what the driver said of itself.
	Ready Ready

	process Process
	stdin   *io.PipeWriter
	lines   *lineWriter
	tail    func() string

	mu     sync.Mutex // held for the whole of a call
	id     int64
	broken error
}

// StartDriver starts a driver and returns when it is connected to the
// scheduler. The process lives as long as ctx and ends with [Driver.Close];
// ready bounds the wait for it.
func StartDriver(ctx context.Context, start Start, spec DriverSpec, ready time.Duration) (*Driver, error) {
	in, stdin := io.Pipe()
	d := &Driver{stdin: stdin, tail: spec.Tail, lines: &lineWriter{lines: make(chan []byte, 16), stop: make(chan struct{})}}
	argv := []string{spec.Python, "-m", "esched_client"}
	if spec.SchedulerFile != "" {
		argv = append(argv, "--scheduler-file", spec.SchedulerFile, "--wait", strconv.Itoa(int(math.Ceil(ready.Seconds()))))
	} else {
		argv = append(argv, "--scheduler", spec.Scheduler)
	}
	// The wait has one bound, which is the caller's.
	argv = append(argv, "--connect-timeout", strconv.Itoa(int(math.Ceil(ready.Seconds()))))
	env := append([]string{"PYTHONPATH=" + spec.PythonPath, "PYTHONUNBUFFERED=1"}, spec.Env...)
	var err error
	d.process, err = start(ctx, argv, env, in, d.lines)
	if err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	go func() {
		<-d.process.Done()
		in.CloseWithError(io.ErrClosedPipe) // a write to a dead driver must not wait
	}()
	wait, cancel := context.WithTimeout(ctx, ready)
	defer cancel()
	line, m, err := d.receive(wait, "start of the driver")
	if err == nil && !m.Ready {
		err = garbage(line, errors.New("not the ready line"))
	}
	if err == nil {
		if err = json.Unmarshal(line, &d.Ready); err != nil {
			err = garbage(line, err)
		}
	}
	if err != nil {
		d.abandon()
		return nil, err
	}
	return d, nil
}

// Trial executes a trial. The error is a *FailedError when the workload
// raised; any other wraps [ErrBroken], and is a *DiedError, a *GarbageError or
// a *TimeoutError, or the first such error again.
func (d *Driver) Trial(ctx context.Context, r Request) (Response, error) {
	line, err := d.call(ctx, "trial", r, "trial of "+r.Workload)
	if err != nil {
		return Response{}, err
	}
	response, err := decodeResponse(line)
	if err != nil {
		err = garbage(line, err)
		d.mu.Lock()
		d.broken = err
		d.mu.Unlock()
		return Response{}, err
	}
	return response, nil
}

// Wait returns when so many workers have registered, or a *FailedError after
// timeout. Other errors are those of [Driver.Trial].
func (d *Driver) Wait(ctx context.Context, workers int, timeout time.Duration) error {
	_, err := d.call(ctx, "wait", map[string]any{"workers": workers, "timeout_s": timeout.Seconds()},
		fmt.Sprintf("wait for %d workers", workers))
	return err
}

// Close asks the driver to end and waits for it until ctx is done. The caller
// kills the process if an error is returned.
func (d *Driver) Close(ctx context.Context) error {
	d.stdin.Close() // the end of input is a request to quit
	defer d.lines.close()
	select {
	case <-d.process.Done():
		return nil
	case <-ctx.Done():
		return &TimeoutError{"end of the driver", context.Cause(ctx)}
	}
}

func (d *Driver) abandon() {
	d.stdin.Close()
	d.lines.close()
}

// call sends a request and returns the line that answers it.
func (d *Driver) call(ctx context.Context, op string, fields any, what string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return nil, d.broken
	}
	d.id++
	request, err := encode(d.id, op, fields)
	if err != nil {
		return nil, &FailedError{Reason: "request: " + err.Error()} // nothing was sent
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		d.stdin.Write(request) // an error means that the driver died, which receive sees
	}()
	line, m, err := d.receive(ctx, what)
	if err == nil && (m.Ready || *m.ID != d.id) {
		err = garbage(line, fmt.Errorf("not the answer to request %d", d.id))
	}
	if err != nil {
		d.broken = err
		d.abandon()
		<-sent
		return nil, err
	}
	if m.Status == "failed" {
		return nil, &FailedError{m.Error, m.Traceback, m.Late}
	}
	return line, nil
}

// receive returns the next line. What a driver wrote before it died counts.
func (d *Driver) receive(ctx context.Context, what string) ([]byte, message, error) {
	var line []byte
	select {
	case line = <-d.lines.lines:
	case <-ctx.Done():
		return nil, message{}, &TimeoutError{what, context.Cause(ctx)}
	case <-d.process.Done():
		select {
		case line = <-d.lines.lines:
		default:
			died := &DiedError{Exit: d.process.Err()}
			if d.tail != nil {
				died.Log = d.tail()
			}
			return nil, message{}, died
		}
	}
	m, err := decodeMessage(line)
	if err != nil {
		return nil, message{}, garbage(line, err)
	}
	return line, m, nil
}

func garbage(line []byte, err error) error {
	return &GarbageError{string(line[:min(len(line), 200)]), err}
}

// encode adds id and operation to the fields of a request.
func encode(id int64, op string, fields any) ([]byte, error) {
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"id":%d,"op":%q`, id, op)
	if rest := b[1:]; len(rest) > 1 {
		head = append(head, ',')
	}
	return append(append(head, b[1:]...), '\n'), nil
}

// lineWriter cuts what is written to it into lines.
type lineWriter struct {
	lines chan []byte
	stop  chan struct{}
	once  sync.Once
	part  []byte
}

func (w *lineWriter) close() { w.once.Do(func() { close(w.stop) }) }

// Write never fails before the limit of a line, so that the driver is not
// stopped by a reader that has left.
func (w *lineWriter) Write(b []byte) (int, error) {
	w.part = append(w.part, b...)
	for {
		line, rest, whole := bytes.Cut(w.part, []byte{'\n'})
		if !whole {
			break
		}
		select {
		case w.lines <- bytes.Clone(line):
		case <-w.stop:
		}
		w.part = rest
	}
	if len(w.part) > maxLine {
		return 0, errors.New("driver's line too long")
	}
	return len(b), nil
}
