package slurm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/esched/esched/internal/slurmworld"
	"github.com/esched/esched/reserve"
	"github.com/esched/esched/reserve/slurm"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	have := slurm.Environment([]string{
		"PATH=/bin", "SQUEUE_FORMAT=%i", "SLURM_CONF=/etc/slurm.conf", "SLURM_TIME_FORMAT=relative", "SLURM_SACK_KEY=x", "SLURMWORLD=x",
		"SBATCH_ACCOUNT=a", "SBATCH_PARTITION=p", "SBATCH_TIMELIMIT=1", "SINFO_FORMAT=", "SLURM_NTASKS=4", "SCANCEL_STATE", "MY_SLURM_X=1",
	})
	want := "PATH=/bin SLURM_CONF=/etc/slurm.conf SLURM_SACK_KEY=x SLURMWORLD=x SBATCH_ACCOUNT=a SBATCH_PARTITION=p MY_SLURM_X=1"
	if strings.Join(have, " ") != want {
		t.Errorf("want %s\nhave %s", want, have)
	}
}

// hostile are variables that break what is read, or ask for something else.
var hostile = []string{
	"SQUEUE_FORMAT=%j", "SQUEUE_FORMAT2=name", "SQUEUE_STATES=COMPLETED", "SQUEUE_PARTITION=short", "SQUEUE_USERS=eve", "SQUEUE_NAMES=x",
	"SINFO_FORMAT=%N", "SINFO_PARTITION=closed", "SLURM_TIME_FORMAT=relative", "SLURM_NTASKS=99",
	"SBATCH_TIMELIMIT=1", "SBATCH_ARRAY_INX=1-3", "SBATCH_CONSTRAINT=nope", "SBATCH_RESERVATION=nope", "SBATCH_DEBUG=3",
	"SCANCEL_STATE=PENDING", "SCANCEL_PARTITION=short", "SCANCEL_USER=eve", "SCANCEL_VERBOSE=3",
}

// TestUsersVariables reserves nodes for a user whose environment has defaults
// for SLURM's commands, with and without squeue's JSON.
func TestUsersVariables(t *testing.T) {
	t.Parallel()
	slurmworld.Run(t, slurmworld.Config{Nodes: 2}, func(t *testing.T, w *slurmworld.World) {
		_, free := w.Occupy(t, 2)
		q := newQueue(t, w, func(b *reserve.Batch) { b.Exec = w.Runner(t, slurmworld.User, slurm.Environment(hostile)...) })
		v := q.obtain(t, 1)
		await(t, v, reserve.Pending)
		free()
		s := await(t, v, reserve.Running)
		if left := s.Deadline.Sub(s.Start); len(s.Hosts) != 1 || left != request(1).Claim {
			t.Errorf("have %+v, %v long", s, left)
		}
		wrapWithoutJSON(t, w)
		text := newQueue(t, w, func(b *reserve.Batch) { b.Exec, b.Ledger = q.config.Exec, q.ledger })
		again, err := text.Attach(q.entries(t, 1)[0])
		if err != nil {
			t.Fatal(err)
		}
		if have := await(t, again, reserve.Running); !slices.Equal(have.Hosts, s.Hosts) || !have.Start.Equal(s.Start) || !have.Deadline.Equal(s.Deadline) {
			t.Errorf("as text: want %+v, have %+v", s, have)
		}
		// With the variables this cancels nothing.
		if _, _, err := w.Runner(t, slurmworld.User, hostile...)(t.Context(), []string{"scancel", v.ID()}); err != nil {
			t.Log(err)
		}
		if have := await(t, v, reserve.Running); len(have.Hosts) != 1 {
			t.Errorf("have %+v", have)
		}
		if err := v.Release(t.Context()); err != nil {
			t.Error(err)
		}
		noJobs(t, w)
	})
}
