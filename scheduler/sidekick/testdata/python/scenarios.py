"""Scenarios on one deployment: the right results, and every placement esched's.

Usage: scenarios.py SCHEDULER_FILE DIRECTORY POLICY SLOTS [NAME...]

Prints a JSON line for each scenario. A scenario is right when its own
assertions hold, when the placements in Dask's transition log are as many as
esched's decisions, when nothing fell back to Dask, and when neither side
remembers anything afterwards.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import traceback

# These two register their scenarios, which are played in that order.
import scenarios_basic  # noqa: F401
import scenarios_changes  # noqa: F401
from distributed import Client
from nursery import Nursery
from remote import placements, remains
from stage import SCENARIOS, Stage


def play(stage, name: str, policy: str, slots: str) -> dict:
    """Run one scenario and compare the counts."""
    line: dict = {"name": name}
    begun = time.monotonic()
    stage.restarted = None
    try:
        reply = stage.rpc("esched_begin", policy=policy, seed=7, options={"slots": slots})
        assert reply["status"] == "OK", reply
        before = stage.client.run_on_scheduler(placements)
        SCENARIOS[name](stage)
        left: dict = {}

        def forgotten() -> bool:
            gc.collect()  # tracebacks hold futures in cycles
            left.clear()
            left.update(stage.client.run_on_scheduler(remains))
            return not left

        try:
            stage.until("forgotten", forgotten)
        except TimeoutError:
            pass
        if stage.restarted is not None:
            before = stage.restarted
        end = stage.rpc("esched_end")
        line |= {
            "placements": stage.client.run_on_scheduler(placements) - before,
            "decisions": end["decisions"],
            "fallbacks": end["fallbacks"],
            "misses": end["misses"],
            "sources": end["sources"],
            "latencies": len(end["latency_ns"]) // 4,
            "remains": left,
            "active": end["active"],
        }
    except BaseException:
        line["error"] = traceback.format_exc()
    line["seconds"] = round(time.monotonic() - begun, 2)
    return line


def main() -> None:
    """Start workers and play the scenarios."""
    file, directory, policy, slots, *names = sys.argv[1:]
    nursery = Nursery(file, directory)
    nursery.add("w0", nthreads=1)
    nursery.add("w1", nthreads=1)
    nursery.add("w2", nthreads=2, resources={"gpu": 1})
    nursery.add("w3", nthreads=2, resources={"gpu": 1})
    try:
        with Client(scheduler_file=file, timeout=60) as client:
            client.wait_for_workers(4, timeout=60)
            stage = Stage(client, nursery, file, directory)
            for name in names or SCENARIOS:
                print(json.dumps(play(stage, name, policy, slots)), flush=True)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
