package deploy

import (
	"context"
	"io"
	"io/fs"
	"net"
	"time"
)

// Host runs commands on one node. Methods may be called from several
// goroutines.
type Host interface {
	// Name is the node's name as the reservation gave it.
	Name() string
	// Run executes a command to its end and returns its standard output. An
	// error tells the exit status and the end of standard error.
	Run(ctx context.Context, c Command) ([]byte, error)
	// Start starts a supervised process in a process group of its own and
	// returns when it runs. It ends with Process.Stop, when ctx is done, or with
	// esched, whatever happens to esched.
	Start(ctx context.Context, c Command) (Process, error)
	// Put copies the files of src under dir on the node, replacing each file
	// atomically. Files that are there with the same content are kept.
	Put(ctx context.Context, src fs.FS, dir string) error
	// Close ends what Start started on this host and lets go of the node.
	Close() error
}

// Addresser is a Host that is reached by other nodes under another address
// than its name.
type Addresser interface {
	// Addr is an IP address or a host name, without a port.
	Addr() string
}

// Dialer is a Host that can connect to ports that are open only on itself. A
// Host that is not is expected to be reachable over the network.
type Dialer interface {
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// Carrier is a Host that has esched's own binary on its node.
type Carrier interface {
	// Binary is the path of the binary on the node.
	Binary(ctx context.Context) (string, error)
}

// Command is a program to run on a Host.
type Command struct {
	// Name is a short name for logs and messages: "dask-worker-1". Required.
	Name string
	// Argv is the program and its arguments, executed without a shell. Required.
	Argv []string
	// Env are variables added to the node's environment, "K=V". Optional.
	Env []string
	// Dir is the working directory. Optional.
	Dir string
	// Stdin is the process's standard input, Stdout its standard output; nil is
	// /dev/null for Stdin and the log for Stdout. Optional.
	Stdin  io.Reader
	Stdout io.Writer
	// Log is the path of a file on the machine esched runs on that gets the
	// standard error (and standard output when Stdout is nil). Required for
	// Start.
	Log string
}

// Process is a supervised process on a Host.
type Process interface {
	// PID is the process id of the command on its node.
	PID() int
	// Done is closed when the process and its whole group have ended.
	Done() <-chan struct{}
	// Err tells how it ended, after Done: nil for exit status 0 or after Stop.
	Err() error
	// Stop asks the process group to end (SIGTERM), kills it after the grace
	// time, and waits for its end.
	Stop(grace time.Duration) error
	// Signal sends a signal to the process, not its group ("KILL", "STOP").
	Signal(name string) error
	// CPU returns the CPU time (user and system) that the process used so far.
	CPU() (time.Duration, error)
}

// Spec says what to start on the hosts of a reservation.
type Spec struct {
	// Python is the interpreter of the environment on the nodes. Required.
	Python string
	// PythonPath is a directory on the nodes with the workloads' modules.
	// Required.
	PythonPath string
	// WorkersPerNode and Threads shape the workers. Required.
	WorkersPerNode int
	Threads        int
	// MemoryLimit, in bytes, is that of each worker: 0 for an equal share of the
	// memory that its node has (or the node's control group allows), negative for
	// Dask's own choice, the share of the node's cores for which it has threads,
	// of which several workers may together have more than there is. Instant
	// workers hold nothing; they have a limit of their own unless it is positive.
	MemoryLimit int64
	// Instant starts one process on each node that stands for all its workers
	// and executes nothing: the module esched_client.instant_worker of PythonPath.
	Instant bool
	// Settings are Dask configuration values ("distributed.scheduler.worker-
	// saturation": 12) set for scheduler, workers and clients. Optional.
	Settings map[string]any
	// Apart keeps workers off the first host: it has the scheduler, the service
	// and the driver, and there must be another.
	Apart bool
	// Addresses are those at which processes listen on a host, by its name; a
	// host that is not in it listens at its Addresser's address, or else at its
	// name. Optional.
	Addresses map[string]string
	// TLS encrypts all connections between processes; nil leaves them open to
	// everybody who can reach the hosts' ports. Optional.
	TLS *TLS
	// Service is the command line of the external decision service, which gets
	// the path of the socket to listen on as {socket}, and where {esched} stands
	// the path of esched's binary on the first host, a [Carrier]; empty for
	// unmodified Dask.
	Service []string
	// Preload is the text of the module that connects Dask's scheduler to the
	// service. Required with Service.
	Preload []byte
	// Dir is a directory for sockets and scratch files on each node; Logs one
	// for the log files on this machine. Required.
	Dir  string
	Logs string
	// Ready bounds the wait until every worker has registered. Required.
	Ready time.Duration
	// Beside, when set, is called once the files of the deployment are in place,
	// while its processes start: for a client, whose start takes as long as
	// theirs. The deployment is ready when it has returned; its error is one of
	// the start. Its context lives as long as the deployment does, and ends when
	// the start fails. Optional.
	Beside func(ctx context.Context, d *Deployment) error
	// Observe, when set, is told of each step of the ladder that a host or a
	// process takes or misses. It must not block. Optional.
	Observe func(Step)

	over <-chan struct{} // when closed, the time of Ready is over; nil: by the clock alone
}
