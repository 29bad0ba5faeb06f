"""A client for the fault tests: does what it is told on its standard input.

Usage: faults.py SCHEDULER_FILE DIRECTORY

    begin       count anew (fails while the service does not decide)
    graph N MS  run N tasks of MS ms and what sums them up: prints "running" in
                the middle, then the result's rightness and the counts
    status      print the counts and what the mirror holds

Answers are JSON lines.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from distributed import Client
from nursery import Nursery


def inc(x, delay):
    """Add one, after a while."""
    time.sleep(delay)
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

    def __init__(self, client) -> None:
        self.client = client
        self.graphs = 0

    def begin(self) -> dict:
        """Count anew."""
        return self.client.sync(self.client.scheduler.esched_begin, policy="earliest-start", seed=1)

    def graph(self, n: str, ms: str) -> dict:
        """Run a graph."""
        n, delay = int(n), int(ms) / 1000
        self.graphs += 1
        k = self.graphs
        g = {(f"a-{k}", i): (inc, i, delay) for i in range(n)}
        g.update({(f"b-{k}", i): (add, (f"a-{k}", i), (f"a-{k}", (i + 1) % n)) for i in range(n)})
        g[f"c-{k}"] = (total, [(f"b-{k}", i) for i in range(n)])
        begun = time.monotonic()
        future = self.client.get(g, f"c-{k}", sync=False)
        while self.client.run_on_scheduler(done) < n // 10:
            time.sleep(0.002)
        print(json.dumps({"running": True}), flush=True)
        right = future.result(timeout=60) == n * (n + 1)
        seconds = time.monotonic() - begun
        del future
        gc.collect()
        end = time.monotonic() + 10
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
            driver = Driver(client)
            print(json.dumps({"ready": True}), flush=True)
            for line in sys.stdin:
                name, *args = line.split()
                print(json.dumps(getattr(driver, name)(*args)), flush=True)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
