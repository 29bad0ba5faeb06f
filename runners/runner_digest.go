package runners

import (
	"fmt"

	"github.com/esched/esched/runners/record"
)

// digest is the first good result of a workload with certain parameters.
type digest struct {
	value string
	trial record.Trial
}

// digestKey names what must have equal results whoever schedules it.
func digestKey(t record.Trial) string { return t.Workload + " " + t.ParamString() }

// agree compares a result with the first one of the same workload and
// parameters, or makes it the first. Workloads without a digest always agree.
func (r *Runner) agree(t record.Trial, value string) error {
	if value == "" {
		return nil
	}
	first, ok := r.digests[digestKey(t)]
	if !ok || first.value == "" {
		r.digests[digestKey(t)] = digest{value, t}
		return nil
	}
	if first.value != value {
		return fmt.Errorf("result differs: digest %s, but %s under %s (repetition %d)",
			value, first.value, first.trial.Series(), first.trial.Repetition)
	}
	return nil
}
