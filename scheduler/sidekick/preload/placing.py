"""Where Dask places tasks: the functions that take the service's placements instead of Dask's.

Each begins with "no service, or Dask decides: the original".
"""

from __future__ import annotations

import math
from functools import wraps

import distributed.scheduler as ds
from distributed.core import Status

from .mirror import constrained
from .originals import ORIGINAL


def steered(name: str):
    """Replace a method, which gets the Link when the service decides.

    Without a service, or while Dask decides, the original runs untouched.
    """
    original = ORIGINAL[name]

    def decorate(function):
        @wraps(original)
        def method(self, *args, **kwargs):
            link = self._esched
            if link is None or not link.active:
                return original(self, *args, **kwargs)
            return function(self, link, *args, **kwargs)

        setattr(ds.Scheduler, name, method)
        return method

    return decorate


@steered("decide_worker_non_rootish")
def decide_worker_non_rootish(self, link, ts):
    """Choose a worker for a ready task that is not queued."""
    if not self.running:
        return None
    pool = None
    if ts.worker_restrictions or ts.host_restrictions or ts.resource_restrictions:
        pool = self.valid_workers(ts)
        if pool is not None:
            pool = {ws for ws in pool if ws in self.running}
            if not pool:
                if not ts.loose_restrictions:
                    return None
                pool = None
    try:
        ws = link.place(ts, pool)
    except Exception as e:
        link.fail(e)
        ws = None
    return ws if ws is not None else ORIGINAL["decide_worker_non_rootish"](self, ts)


@steered("check_idle_saturated")
def check_idle_saturated(self, link, ws, occ: float = -1.0):
    """Keep the set of workers with a free slot, by the service's slots."""
    mate = link.mates.get(ws.address)
    if mate is not None and ws.status is Status.running and len(ws.processing) - len(ws.long_running) < mate.slots:
        self.idle_task_count.add(ws)
    else:
        self.idle_task_count.discard(ws)


def stimulus_queue_slots_maybe_opened(self, *, stimulus_id):
    """Send queued tasks to free slots."""
    link = self._esched
    if link is None:
        ORIGINAL["stimulus_queue_slots_maybe_opened"](self, stimulus_id=stimulus_id)
    elif self.queued:
        if link.active:
            link.fill(stimulus_id)
        else:
            link.yield_queue(stimulus_id)


@steered("transitions")
def transitions(self, link, recommendations, stimulus_id):
    """Process transitions; a new graph may have queued its first tasks."""
    ORIGINAL["transitions"](self, recommendations, stimulus_id)
    if link.unfilled and link.active and self.queued:
        link.fill(stimulus_id)


def waiting_processing(self, key, stimulus_id):
    """Queue a ready root task; send any other to its worker."""
    link = self._esched
    if link is None or not link.active:
        return ORIGINAL["table"]["waiting", "processing"](self, key, stimulus_id)
    ts = self.tasks[key]
    if not constrained(ts) and link.is_root(ts):
        return {key: "queued"}, {}, {}
    ws = self.decide_worker_non_rootish(ts)
    if ws is None:
        return {key: "no-worker"}, {}, {}
    return self._add_to_processing(ts, ws, stimulus_id=stimulus_id)


def waiting_queued(self, key, stimulus_id):
    """Queue a task. The original asserts that no slot is free; here one may be."""
    link = self._esched
    if link is None or not link.active:
        return ORIGINAL["table"]["waiting", "queued"](self, key, stimulus_id)
    ts = self.tasks[key]
    ts.state = "queued"
    self.queued.add(ts)
    return {}, {}, {}


def queued_processing(self, key, stimulus_id):
    """Send a queued task to the worker that it is reserved for."""
    link = self._esched
    if link is None or not link.active or link.yielding:
        if math.isinf(self.WORKER_SATURATION):  # the original asserts that it is not
            ts = self.tasks[key]
            ws = self.decide_worker_rootish_queuing_disabled(ts)
            if ws is None:
                return {}, {}, {}
            self.queued.discard(ts)
            return self._add_to_processing(ts, ws, stimulus_id=stimulus_id)
        return ORIGINAL["table"]["queued", "processing"](self, key, stimulus_id)
    ws = link.chosen
    if ws is None:
        return {}, {}, {}  # fill sends it when its turn comes
    ts = self.tasks[key]
    self.queued.discard(ts)
    return self._add_to_processing(ts, ws, stimulus_id=stimulus_id)
