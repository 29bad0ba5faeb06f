package deploy_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/esched/esched/internal/need"
)

// mending shows each fault, and that the mend is one.
const mending = `
import gc, sys
from collections import defaultdict
import esched_mends

inside = False
collections = 0

def note(phase, info):
    global collections
    collections += inside

plain = getattr(sys._current_frames, "__wrapped__", sys._current_frames)

def watched():
    global inside
    inside = True
    found = plain()
    inside = False
    return found

def collected(frames):
    global collections
    gc.collect()
    collections = 0
    for _ in range(100):
        frames()
    return collections

gc.callbacks.append(note)
gc.set_threshold(1)
if (3, 11) <= sys.version_info < (3, 11, 9):
    assert sys._current_frames is not plain
    assert collected(watched) > 0, "the fault is not there"
assert collected(esched_mends.uncollected(watched)) == 0
assert gc.isenabled()
gc.disable()
esched_mends.uncollected(plain)()
assert not gc.isenabled()

def grows(counters):
    counters["a"] += 1
    counters["b"] += 1
    try:
        for key, _ in counters.items():
            counters[key + "c"] += 1
    except RuntimeError:
        return True
    return False

assert grows(defaultdict(int)), "the fault is not there"
assert not grows(esched_mends.Counters(int))
`

func TestMends(t *testing.T) {
	t.Parallel()
	for name, python := range map[string]string{"current": need.Python(t), "old": need.OldPython(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(python, "-c", mending)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
