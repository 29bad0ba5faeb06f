"""Tell how far the trial is that a Dask scheduler works on, in one small message.

Nothing is counted for it: a question adds up what Dask counts anyway, and costs
the scheduler some microseconds for each kind of task and each worker.
"""

import time
from collections import Counter


class Progress:
    """Answers the operation ``esched_progress``, since the last mark."""

    def __init__(self, scheduler):
        self.scheduler = scheduler
        self.begin(0)

    def answer(self, mark=None):
        """Return what happened since the mark; with ``mark``, set it first."""
        if mark is not None:
            self.begin(mark)
        scheduler = self.scheduler
        counts = self.count()
        loads = [(len(ws.processing), ws.nthreads) for ws in scheduler.workers.values()]
        facts = {
            "mark": self.mark,
            "seconds": time.monotonic() - self.since,
            "submitted": counts["waiting"] - self.before["waiting"],
            "finished": counts["memory"] - self.before["memory"],
            "erred": counts["erred"] - self.before["erred"],
            "queued": len(scheduler.queued),
            "workers": len(loads),
            "busy": sum(tasks > 0 for tasks, _ in loads),
            "threads": sum(threads for _, threads in loads),
            "occupied": sum(min(load) for load in loads),
        }
        if decisions := scheduler.handlers.get("esched_decisions"):
            facts["decisions"] = decisions()
        return facts

    def begin(self, mark):
        """Count from now on, under a number by which the asker knows the trial."""
        self.mark = mark
        self.since = time.monotonic()
        self.before = self.count()

    def count(self):
        """Return how often tasks came into each state, over all kinds of task."""
        total = Counter()
        for prefix in self.scheduler.task_prefixes.values():
            for state in ("waiting", "memory", "erred"):
                total[state] += prefix.state_counts.get(state, 0)
        return total


def dask_setup(scheduler):
    """Add the operation; Dask calls this when the scheduler has started."""
    scheduler.handlers["esched_progress"] = Progress(scheduler).answer
