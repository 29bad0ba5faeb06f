// Package slurm is the reserve.Reserver of clusters with SLURM.
//
// A [Reserver] submits a job that does nothing but hold whole nodes (sbatch),
// asks for it (squeue) and cancels it (scancel). The job carries a mark as its
// name, which the ledger has before sbatch is called: should the answer of
// sbatch get lost, the job is found by its mark; and a job that has got the id of
// one that a crash of the controller lost is not taken for it. What squeue says
// is read as JSON, in the shapes of SLURM 21.08 and later, or as text where
// squeue writes no JSON. The states of a job become states of a reservation by
// evidence only; see status.go.
//
// Variables such as SQUEUE_FORMAT, SBATCH_TIMELIMIT or SCANCEL_STATE stand for
// options of SLURM's commands that nobody gave, and change what these print, ask
// for or cancel; SLURM_NTASKS and its like stay behind where esched runs in a job.
// [Environment] is an environment without them. In it remain the variables that
// say where SLURM is and who the user is there, and the user's defaults for
// sbatch that are no business of an experiment: account, quality of service and
// accounting key. The default partition remains, too, as many clusters have no
// other, but it decides on which nodes one measures: whoever makes a Reserver
// names it in Batch.Partition, so that Check looks at it and the ledger has it.
//
// Each command has a time limit. The package does not start anything on the
// nodes, and it cancels no job that the ledger does not name.
package slurm
