package runners

import "time"

// Defaults of an experiment with a precision. Intervals of fewer than ten
// repetitions hold the truth too seldom when the data decide how many there
// are.
const (
	leastOfSequence = 10
	mostOfSequence  = 50
)

// repetitions reads how often trials are repeated and what ends that.
func (l *loader) repetitions(e *Experiment, t *table) {
	least := int64(3)
	value, path, sequential := t.take("precision")
	if sequential {
		least = leastOfSequence
		p, ok := t.parameter(Parameter{Name: "precision", Type: Float, Min: 0.001, Max: 0.5}, path, value)
		if ok {
			e.Stop.Precision = p.(float64)
		}
	}
	given := t.integer("repetitions", 0, 1, maxRepetitions)
	most := t.integer("max_repetitions", 0, 1, maxRepetitions)
	e.Stop.Time = t.duration("max_time", 0, time.Second, longest)
	for _, key := range []string{"max_repetitions", "max_time"} {
		if _, ok := t.values[key]; ok && !sequential {
			l.wrongKey(child("", key), "add precision = 0.05 to repeat until intervals are within 5 %, or remove the line",
				"%s bounds repetitions that a precision asks for, and there is none", key)
		}
	}
	e.Repetitions = int(least)
	switch {
	case given > 0:
		e.Repetitions = int(given)
	case most > 0:
		e.Repetitions = int(min(least, most))
	}
	if !sequential {
		return
	}
	e.Stop.Most = int(most)
	if most == 0 {
		e.Stop.Most = max(mostOfSequence, e.Repetitions)
	}
	if e.Stop.Most < e.Repetitions {
		l.wrongValue(child("", "max_repetitions"), "make max_repetitions larger or repetitions smaller",
			"max_repetitions = %d is less than repetitions = %d, the least number", e.Stop.Most, e.Repetitions)
	}
}
