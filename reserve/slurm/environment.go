package slurm

import (
	"slices"
	"strings"
)

// options begin the names of variables that stand for options of SLURM's
// commands.
var options = []string{"SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "SALLOC_", "SRUN_", "SLURM_"}

// wishes are variables of that form that stay: where SLURM is and who one is
// there, and who pays. A name that ends in an underscore stands for all that it
// begins.
var wishes = []string{
	"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT", "SLURM_SACK_",
	"SBATCH_ACCOUNT", "SBATCH_QOS", "SBATCH_WCKEY", Partition,
}

// Partition is the variable with the user's default partition. sbatch takes it
// from there; who names partitions to SLURM's other commands has to read it.
const Partition = "SBATCH_PARTITION"

// Environment returns what SLURM's commands may see of an environment, which
// has the form of os.Environ.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		stands := func(start string) bool { return strings.HasPrefix(name, start) }
		wished := func(w string) bool { return name == w || strings.HasSuffix(w, "_") && strings.HasPrefix(name, w) }
		return slices.ContainsFunc(options, stands) && !slices.ContainsFunc(wishes, wished)
	})
}
