"""What the scenarios have workers and the scheduler run.

These processes import the module, which therefore imports little.
"""

from __future__ import annotations

import os
import time

import distributed
from distributed import get_client, rejoin, secede, worker_client

# ---- on workers ----


def passes(gate):
    """Wait until a gate is open, if there is one."""
    while gate and not os.path.exists(gate):
        time.sleep(0.005)


def inc(x, delay=0.0, gate=""):
    """Add one, after a while, behind a gate."""
    time.sleep(delay)
    passes(gate)
    return x + 1


def notes(x, gate, journal):
    """Write down that this task ran, and where."""
    passes(gate)
    with open(journal, "a") as file:
        file.write(f"{x} {distributed.get_worker().address}\n")
    return x


def add(*xs):
    """Sum the arguments."""
    return sum(xs)


def total(xs, gate=""):
    """Sum a list, behind a gate."""
    passes(gate)
    return sum(xs)


def where(*_args, delay=0.0, gate=""):
    """Return the address of the worker that runs this."""
    time.sleep(delay)
    passes(gate)
    return distributed.get_worker().address


def alone(name, delay):
    """Check that no other task with the same resource runs in this process."""
    worker = distributed.get_worker()
    marks = worker.__dict__.setdefault("esched_marks", [])
    marks.append(name)
    assert len(marks) == 1, marks
    time.sleep(delay)
    marks.remove(name)
    return worker.name


class Counter:
    """An actor."""

    def __init__(self):
        self.n = 0

    def more(self):
        """Count."""
        self.n += 1
        return self.n


def secedes(x):
    """Leave the thread pool, and come back."""
    secede()
    time.sleep(0.02)
    rejoin()
    return x + 1


def nested(n):
    """Run tasks from within a task."""
    with worker_client() as c:
        return sum(c.gather(c.map(inc, range(n), pure=False)))


def waits(x):
    """Wait for a task of one's own, without a thread."""
    c = get_client()
    f = c.submit(inc, x, pure=False)
    secede()
    return f.result()


def breaks(x):
    """Raise."""
    raise ZeroDivisionError(x)


def flaky(x):
    """Raise at the first attempts on this worker's process."""
    worker = distributed.get_worker()
    tries = worker.__dict__.setdefault("esched_tries", {})
    tries[x] = tries.get(x, 0) + 1
    if tries[x] < 2:
        raise ValueError(x)
    return x


def fails_once(x, mark):
    """Raise unless a file is there, and make it."""
    if os.path.exists(mark):
        return x
    with open(mark, "w"):
        raise ValueError(x)


def set_status(dask_worker, status):
    """Pause or resume this worker."""
    dask_worker.status = distributed.Status[status]
    dask_worker.memory_manager.memory_pause_fraction = False


# ---- in the scheduler ----


def placements(dask_scheduler):
    """Count the placements in Dask's own log."""
    return sum(1 for t in dask_scheduler.transition_log if t.finish == "processing" != t.start)


def remains(dask_scheduler):
    """Say what either side still remembers of tasks."""
    link = dask_scheduler._esched
    known = {
        "tasks": len(dask_scheduler.tasks),
        "ids": len(link.ids),
        "by id": len(link.tasks),
        "hints": len(link.hints),
        "reserved": sum(1 for m in link.mates.values() for ts in m.next if ts.key in dask_scheduler.tasks),
        "mates": len(link.mates) - len(dask_scheduler.workers),
        "mates by id": len(link.by_id) - len(link.mates),
    }
    return {k: v for k, v in known.items() if v}


def unrunnable(dask_scheduler):
    """Count the tasks that no worker may run."""
    return sum(1 for ts in dask_scheduler.tasks.values() if ts.state == "no-worker")


def known(keys, dask_scheduler):
    """Count the keys that the scheduler has heard of."""
    return sum(1 for key in keys if key in dask_scheduler.tasks)


def status_of(address, dask_scheduler):
    """Return the status that the scheduler knows of a worker."""
    return dask_scheduler.workers[address].status.name


def stored(address, dask_scheduler):
    """Count the results on a worker."""
    return len(dask_scheduler.workers[address].has_what)
