"""What a decision costs Dask's event loop with 64 workers.

Starts a decision service, a Dask scheduler with the preload, and 64 workers
that execute nothing, and prints a line of Markdown: the time that decisions
took which had been made ahead, and those for which the scheduler had to wait.
Tasks that only some workers may run are never decided ahead.

Run it with a Python that has Dask, and with workloads/python in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
from distributed import Client, wait

from esched_client import decisions

#: Seconds to wait for anything: a busy machine takes long to start 64 workers.
PATIENCE = 120


def same(index):
    """Return the index."""
    return index


def add(left, right):
    """Add two numbers."""
    return left + right


def reduction(leaves, label):
    """Return a graph that adds pairs until one is left, and its root."""
    level = [(f"leaf-{label}", index) for index in range(leaves)]
    graph = {key: (same, key[1]) for key in level}
    height = 0
    while len(level) > 1:
        height += 1
        above = [(f"sum{height}-{label}", index) for index in range(len(level) // 2)]
        for key in above:
            graph[key] = (add, level[2 * key[1]], level[2 * key[1] + 1])
        level = above
    return graph, level[0]


def patient(preload):
    """Return the preload with another deadline: late answers are measured too, and not left to Dask."""
    text, found = re.subn(rb"(?m)^DEADLINE = [0-9.]+", b"DEADLINE = %d" % PATIENCE, preload)
    if found != 1:
        raise RuntimeError("the preload has no line DEADLINE = ...")
    return text


@contextlib.contextmanager
def processes(esched, workers):
    """Start service, scheduler and workers; yield the scheduler's address."""
    with tempfile.TemporaryDirectory(prefix="eb", dir="/tmp") as name, contextlib.ExitStack() as stack:
        home = Path(name)
        file = home / "scheduler.json"
        preload = subprocess.run([esched, "preload"], check=True, capture_output=True).stdout
        (home / "esched_preload.py").write_bytes(patient(preload))
        path = os.pathsep.join([name, os.environ.get("PYTHONPATH", "")])
        env = os.environ | {"PYTHONPATH": path, "ESCHED_SOCKET": str(home / "s")}
        log = stack.enter_context(open(home / "log", "wb"))

        def start(*command, **options):
            process = subprocess.Popen(command, env=env, stderr=log, **options)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        service = start(esched, "serve", "--socket", str(home / "s"), "--policy", "earliest-start", stdout=subprocess.PIPE)
        late = threading.Timer(PATIENCE, service.kill)
        late.start()
        line = service.stdout.readline()
        late.cancel()
        if not line.startswith(b"ready "):
            raise RuntimeError(f"the service did not start: {(home / 'log').read_text()}")
        scheduler = start(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
                          "--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file),
                          "--preload", "esched_preload", stdout=log)  # fmt: skip
        start(sys.executable, "-m", "esched_client.instant_worker", "--scheduler-file", str(file),
              "--workers", str(workers), stdout=log)  # fmt: skip
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError, ValueError):
                address = json.loads(file.read_text())["address"]
                break
            if time.monotonic() > end or scheduler.poll() is not None:
                raise RuntimeError(f"the scheduler did not start: {(home / 'log').read_text()}")
            time.sleep(0.05)
        yield address


def measured(client, submit):
    """Run a graph; return what the sidekick counted."""
    begun = client.sync(client.scheduler.esched_begin, policy="earliest-start", seed=1, options={})
    if begun["status"] != "OK":
        raise RuntimeError(f"sidekick: {begun}")
    futures = submit()
    wait(futures, timeout=PATIENCE)
    counted = dict(client.sync(client.scheduler.esched_end))
    if counted["fallbacks"]:
        raise RuntimeError(f"{counted['fallbacks']} decisions were Dask's own")
    return counted["sources"], decisions.summarise(counted["latency_ns"], counted["asked_ns"])


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--esched", default="bin/esched", help="the binary")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--tasks", type=int, default=4096, help="tasks of each kind, a power of two")
    arguments = parser.parse_args()
    with processes(arguments.esched, arguments.workers) as address:
        client = Client(address, timeout=PATIENCE)
        client.wait_for_workers(arguments.workers, timeout=PATIENCE)
        few = sorted(client.ncores())[: arguments.workers // 2]

        def ahead():
            graph, root = reduction(arguments.tasks // 2, "ahead")
            return client.get(graph, [root], sync=False)

        def asked():
            return client.map(same, range(arguments.tasks), pure=False, workers=few, allow_other_workers=False)

        measured(client, lambda: client.map(same, range(200), pure=False))  # the first trial pays for imports
        sources, hits = measured(client, ahead)
        asks, forced = measured(client, asked)
        client.close()
    hit, ask = hits["hit_us"], forced["ask_us"]
    print(f"## Decisions with {arguments.workers} workers, Dask {dask.__version__}\n")
    version = subprocess.run([arguments.esched, "version"], check=True, capture_output=True, text=True).stdout.strip()
    print(f"Made by {version} on {datetime.datetime.now(datetime.UTC).date()}.\n")
    print("| kind | decisions | p50 (µs) | p99 (µs) |\n| --- | ---: | ---: | ---: |")
    print(f"| made ahead | {sources['hint'] + sources['next']} | {hit['p50']:.2f} | {hit['p99']:.2f} |")
    print(f"| asked | {asks['ask']} | {ask['p50']:.0f} | {ask['p99']:.0f} |\n")


if __name__ == "__main__":
    main()
