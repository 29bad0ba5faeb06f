package das

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/esched/esched/internal/hint"
	"github.com/esched/esched/reserve"
)

// Kind is the name of this kind of cluster.
const Kind = "das"

// Limits of preserve's commands. They talk to a queue, whose own clients give
// up after about ten seconds.
const (
	makeLimit   = time.Minute
	listLimit   = 30 * time.Second
	cancelLimit = time.Minute
	// listingLag is how long a new reservation may be missing in the listing.
	listingLag = time.Minute
)

// Config describes a Reserver. Exec runs preserve; Native are options of the
// queue behind it, each with its value ("-C cpunode").
type Config struct {
	reserve.Batch
	// User is the login name in preserve's listing. Required.
	User string
}

// Reserver reserves nodes with preserve. Its methods may be called from
// several goroutines.
type Reserver struct {
	config Config
}

// New returns a Reserver.
func New(c Config) *Reserver { return &Reserver{c} }

// Kind implements reserve.Reserver.
func (r *Reserver) Kind() string { return Kind }

// Check implements reserve.Reserver.
func (r *Reserver) Check(ctx context.Context, q reserve.Request) error {
	if err := r.config.Check(ctx, q); err != nil {
		return err
	}
	return r.checkPartition(ctx, q.Nodes)
}

// Reserve implements reserve.Reserver.
func (r *Reserver) Reserve(ctx context.Context, q reserve.Request) (reserve.Reservation, error) {
	if err := r.Check(ctx, q); err != nil {
		return nil, err
	}
	e, _, err := r.config.Announce(q, Kind, r.terms())
	if err != nil {
		return nil, err
	}
	out, err := r.run(ctx, makeLimit, r.command(q)...)
	if err != nil && errors.Is(err, reserve.ErrUnknown) {
		// It may have been made all the same: the entry stays.
		return nil, hint.With(err, "look for a new reservation of yours: preserve -llist; esched clean tells more")
	}
	id, numberErr := parseNumber(out)
	if err == nil || numberErr == nil {
		err = numberErr // a number is a reservation, whatever else preserve says
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reservation of %d node(s): %w", q.Nodes, err), r.config.Ledger.Remove(Kind, e.ID))
	}
	if e, err = r.config.Ledger.Rename(e, id); err != nil {
		// Without an entry nobody would give the nodes back.
		v := &reservation{reserver: r, entry: e}
		return nil, errors.Join(err, v.cancel(context.WithoutCancel(ctx)))
	}
	return r.Attach(e)
}

// command is the command line that makes a reservation.
func (r *Reserver) command(q reserve.Request) []string {
	seconds := int64((q.Claim + time.Second - 1) / time.Second)
	argv := []string{"preserve", "-np", fmt.Sprint(q.Nodes),
		"-t", fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)}
	return append(argv, r.options()...)
}

// options are those that the profile gives preserve.
func (r *Reserver) options() []string {
	var argv, native []string
	if r.config.Partition != "" {
		argv = append(argv, "-q", r.config.Partition)
	}
	if r.config.Account != "" {
		native = append(native, "-A "+r.config.Account)
	}
	if r.config.Constraint != "" {
		native = append(native, "-C "+r.config.Constraint)
	}
	if native = append(native, r.config.Native...); len(native) > 0 {
		argv = append(argv, "-native", strings.Join(native, " "))
	}
	return argv
}

func (r *Reserver) terms() string { return strings.Join(r.options(), " ") }

// Attach implements reserve.Reserver.
func (r *Reserver) Attach(e reserve.Entry) (reserve.Reservation, error) {
	if err := e.Own(Kind); err != nil {
		return nil, err
	}
	if _, unnamed := e.Mark(); !unnamed && !number(e.ID) {
		return nil, fmt.Errorf("reservation %q: not a number of preserve", e.ID)
	}
	return reserve.Book(r.config.Ledger, e, &reservation{reserver: r, entry: e}), nil
}

// Adopt implements reserve.Adopter.
func (r *Reserver) Adopt(ctx context.Context, q reserve.Request, e reserve.Entry) (reserve.Reservation, error) {
	return r.config.Adopt(ctx, r, q, e, r.terms())
}

// checkPartition refuses more nodes than the partition has, and a partition
// that SLURM does not list. preserve does not need SLURM's commands, so where
// there are none nothing is refused.
func (r *Reserver) checkPartition(ctx context.Context, nodes int) error {
	where := "partition " + r.config.Partition
	argv := []string{"sinfo", "-h", "-o", "%D %P", "-p", r.config.Partition}
	if r.config.Partition == "" {
		argv, where = argv[:4], "the default partition"
	}
	out, err := r.run(ctx, listLimit, argv...)
	if err != nil {
		return nil
	}
	size := 0
	for line := range strings.Lines(out) {
		var some int
		var name string
		if n, _ := fmt.Sscan(line, &some, &name); n == 2 && (r.config.Partition != "" || strings.HasSuffix(name, "*")) {
			size += some
		}
	}
	switch {
	case size == 0 && r.config.Partition != "":
		return hint.Usage(fmt.Errorf("the cluster has no partition %q", r.config.Partition),
			"set partition of the cluster's profile to one that this lists: sinfo -s")
	case size > 0 && nodes > size:
		return hint.Usage(fmt.Errorf("%s has %d node(s) for one reservation, %d asked", where, size, nodes),
			fmt.Sprintf("ask for up to %d nodes, or choose another cluster with --cluster", size))
	}
	return nil
}

// run executes a command within a time limit and returns what it said.
func (r *Reserver) run(ctx context.Context, limit time.Duration, argv ...string) (string, error) {
	stdout, stderr, err := r.config.Exec.Run(ctx, limit, argv...)
	if errors.Is(err, exec.ErrNotFound) {
		err = hint.With(err, "module load prun, on the head node of the cluster")
	}
	return strings.TrimSpace(stdout + "\n" + stderr), err
}

// list asks preserve for all reservations.
func (r *Reserver) list(ctx context.Context) ([]row, error) {
	out, err := r.run(ctx, listLimit, "preserve", "-llist")
	if err != nil {
		return nil, err
	}
	rows, err := parseListing(out, r.config.Now())
	if err != nil {
		return nil, fmt.Errorf("preserve -llist: %w (it said %q)", err, firstBytes(out))
	}
	return rows, nil
}

func firstBytes(s string) string { return s[:min(len(s), 300)] }

// reservation implements reserve.Queue.
type reservation struct {
	reserver *Reserver
	entry    reserve.Entry

	mu     sync.Mutex
	listed bool      // it was in a listing
	stop   time.Time // as told last
}

var _ reserve.Adopter = (*Reserver)(nil)
