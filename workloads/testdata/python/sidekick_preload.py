"""A scheduler preload with the sidekick's two handlers, for tests."""

import struct


def dask_setup(scheduler):
    """Add the handlers."""

    def begin(policy, seed=0, options=None):
        if policy != "random":
            return {"status": "error", "error": f"unknown policy {policy!r}"}
        return {"status": "OK"}

    def end():
        return {
            "decisions": 4,
            "fallbacks": 1,
            "sources": {"hint": 1, "next": 2, "ask": 1},
            "latency_ns": struct.pack("<4I", 1000, 2000, 3000, 1_000_000),
            "asked_ns": struct.pack("<I", 1_000_000),
        }

    scheduler.handlers["esched_begin"] = begin
    scheduler.handlers["esched_end"] = end
