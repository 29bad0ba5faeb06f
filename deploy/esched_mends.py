"""Mend two faults that freeze or end a Dask server in the middle of a run.

A module that Dask's schedulers and workers load before they start. It changes
nothing of how tasks are placed, executed or measured, and each mend is made
only in the versions that have the fault.
"""

from __future__ import annotations

import functools
import gc
import sys
import threading
from collections import defaultdict

import distributed


def uncollected(frames):
    """Wrap ``sys._current_frames`` so that no garbage is collected inside of it.

    Dask's profilers call it in two threads of each server, many times a second.
    It holds a lock of the interpreter while it allocates; if that starts a
    collection, and Dask's note of the collection lets the other thread run,
    each waits for what the other holds, and the process stands still for ever.
    Fixed in Python 3.11.9 in this way (python/cpython#106883).
    """
    alone = threading.Lock()

    @functools.wraps(frames)
    def current_frames():
        with alone:
            collects = gc.isenabled()
            gc.disable()
            try:
                return frames()
            finally:
                if collects:
                    gc.enable()

    current_frames.__module__ = __name__
    return current_frames


class Counters(defaultdict):
    """Counters that may be read while other threads add to them.

    Until 2024.6 the heartbeat of Dask's worker goes through the counters that a
    shuffle's threads add to. An addition meanwhile is an error in the
    heartbeat, after which the worker closes itself (dask/distributed#8669).
    """

    def items(self):
        """Return the items of this moment."""
        return dict(self).items()


if (3, 11) <= sys.version_info < (3, 11, 9):
    sys._current_frames = uncollected(sys._current_frames)


def dask_setup(server):
    """Mend a worker; Dask calls this before its first heartbeat."""
    version = tuple(int(n) for n in distributed.__version__.split(".")[:2])
    if version < (2024, 6) and isinstance(server, distributed.Worker):
        server.digests_total_since_heartbeat = Counters(int)
