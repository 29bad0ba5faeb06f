"""A client for the fault tests: does what it is told on its standard input.

Usage: faults.py SCHEDULER_FILE DIRECTORY

    begin       count anew (fails when the service does not decide for long)
    graph N     start a graph of N tasks and of what sums them up; answers when
                a tenth of it is done. The third that comes first runs at once,
                the others wait behind two gates
    open GATE   let the tasks behind gate 1 or 2 run
    finish      wait for the graph's end: the result's rightness and the counts
    status      tell the counts and what the mirror holds

Answers are JSON lines. However slow the machine: what happens before a gate is
opened happens in the middle of the graph.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time

from distributed import Client
from nursery import Nursery


def inc(x, gates):
    """Add one, when this task's gate is open: its third of the graph is known when it runs."""
    fd = os.open(gates, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, b".")
    third = 3 * (os.lseek(fd, 0, os.SEEK_CUR) - 1) // int(gates.rpartition("-")[2])
    os.close(fd)
    while third and not os.path.exists(f"{gates}-{min(third, 2)}"):
        time.sleep(0.005)
    return x + 1


def add(*xs):
    """Sum the arguments."""
    return sum(xs)


def total(xs):
    """Sum a list."""
    return sum(xs)


def done(dask_scheduler):
    """Count the results in memory."""
    return sum(1 for ts in dask_scheduler.tasks.values() if ts.state == "memory")


def mirror(dask_scheduler):
    """Return how much the mirror holds."""
    link = dask_scheduler._esched
    return {
        "active": link.active,
        "tasks": len(dask_scheduler.tasks),
        "ids": len(link.ids),
        "hints": len(link.hints),
        "mates": len(link.by_id),
        "bytes": len(link.buf) + len(link.backlog) + len(link.partial),
    }


class Driver:
    """The commands."""

    def __init__(self, client, directory: str) -> None:
        self.client = client
        self.directory = directory
        self.graphs = 0
        self.tasks = 0
        self.begun = 0.0
        self.future = None

    def gates(self) -> str:
        """Return the file in which the graph's tasks count themselves; with -1 or -2, the one that opens a gate."""
        return os.path.join(self.directory, f"gates-{self.graphs}-{self.tasks}")

    def begin(self) -> dict:
        """Count anew."""
        return self.client.sync(self.client.scheduler.esched_begin, policy="earliest-start", seed=1)

    def graph(self, n: str) -> dict:
        """Start a graph and wait for its middle."""
        self.tasks = n = int(n)
        self.graphs += 1
        k = self.graphs
        g = {(f"a-{k}", i): (inc, i, self.gates()) for i in range(n)}
        g.update({(f"b-{k}", i): (add, (f"a-{k}", i), (f"a-{k}", (i + 1) % n)) for i in range(n)})
        g[f"c-{k}"] = (total, [(f"b-{k}", i) for i in range(n)])
        self.begun = time.monotonic()
        self.future = self.client.get(g, f"c-{k}", sync=False)
        while self.client.run_on_scheduler(done) < n // 10:
            time.sleep(0.002)
        return {"running": True}

    def open(self, which: str) -> dict:
        """Let tasks run."""
        with open(f"{self.gates()}-{which}", "w"):
            return {"running": True}

    def finish(self) -> dict:
        """Wait for the graph's end."""
        right = self.future.result(timeout=120) == self.tasks * (self.tasks + 1)
        seconds = time.monotonic() - self.begun
        self.future = None
        gc.collect()
        end = time.monotonic() + 60
        while self.client.run_on_scheduler(mirror)["tasks"] and time.monotonic() < end:
            time.sleep(0.01)
        return {"right": right, "seconds": seconds, **self.status()}

    def status(self) -> dict:
        """Tell the counts."""
        end = self.client.sync(self.client.scheduler.esched_end)
        counts = {k: end[k] for k in ("decisions", "fallbacks", "misses", "reattached")}
        return counts | {"mirror": self.client.run_on_scheduler(mirror)}


def main() -> None:
    """Start workers and obey."""
    file, directory = sys.argv[1:]
    nursery = Nursery(file, directory)
    for i in range(4):
        nursery.add(f"w{i}", nthreads=1)
    try:
        with Client(scheduler_file=file, timeout=60) as client:
            client.wait_for_workers(4, timeout=60)
            driver = Driver(client, directory)
            print(json.dumps({"ready": True}), flush=True)
            for line in sys.stdin:
                name, *args = line.split()
                print(json.dumps(getattr(driver, name)(*args)), flush=True)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
