package cmd

import (
	"bytes"
	"context"
	"errors"
	"os/exec"

	"github.com/esched/esched/internal/failpoint"
	"github.com/esched/esched/reserve/slurm"
)

// notFound tells whether an error is about a program that is not on PATH.
func notFound(err error) bool { return errors.Is(err, exec.ErrNotFound) }

// exec runs a program of a queue to its end and returns what it printed. The
// error of a program that is not there wraps exec.ErrNotFound. Messages and
// dates are those of the C locale, as they are read by a program, and the user's
// defaults for SLURM's commands do not count.
func (p Process) exec(ctx context.Context, argv []string) (stdout, stderr []byte, err error) {
	path, err := p.LookPath(argv[0])
	if err != nil {
		return nil, nil, err
	}
	var out, complaint bytes.Buffer
	c := exec.CommandContext(ctx, path, argv[1:]...)
	c.Dir, c.Env = p.Dir, append(slurm.Environment(p.Environ()), "LC_ALL=C")
	c.Stdout, c.Stderr = &out, &complaint
	c.WaitDelay = pipeGrace
	p.Failpoints.Reach(failpoint.Before(argv[0]))
	err = c.Run()
	p.Failpoints.Reach(failpoint.After(argv[0]))
	return out.Bytes(), complaint.Bytes(), err
}
