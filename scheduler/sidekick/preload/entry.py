"""Where Dask comes in: what it finds replaced when it imports this, and what it calls for a scheduler.

The messages of workers are here too, since they come in by the same door.
"""

from __future__ import annotations

import asyncio
import os
from functools import wraps

import dask
import distributed.scheduler as ds

from .link import Link, logger
from .originals import ORIGINAL
from .placing import queued_processing, stimulus_queue_slots_maybe_opened, waiting_processing, waiting_queued
from .telling import (
    Watcher,
    add_plugin,
    add_replica,
    handle_long_running,
    handle_worker_status_change,
    listening,
    remove_plugin,
    remove_replica,
    remove_worker,
    transition,
)

HEARTBEAT = 500  # ms between reports of the workers' metrics


class Grouped:
    """A worker's comm whose task-finished messages arrive grouped.

    Dask handles each of them to its end before it looks at the next; together
    they cost one pass over the recommendations and one message to each worker.
    While Dask decides it gets them as they came.
    """

    def __init__(self, comm, link: Link) -> None:
        self.comm = comm
        self.link = link

    def __getattr__(self, name):
        return getattr(self.comm, name)

    async def read(self):
        msgs = await self.comm.read()
        if not self.link.active or not isinstance(msgs, (tuple, list)) or len(msgs) < 2:
            return msgs
        out: list = []
        group: list = []
        for msg in msgs:
            if isinstance(msg, dict) and msg.get("op") == "task-finished":
                if not group:
                    group = []
                    out.append({"op": "esched-tasks-finished", "msgs": group})
                group.append(msg)
            else:
                group = []
                out.append(msg)
        return out


async def handle_stream(self, comm, extra=None):
    """Serve a stream; the finished tasks of a worker's message are handled together."""
    if self._esched is not None and extra and "worker" in extra:
        comm = Grouped(comm, self._esched)
    return await ORIGINAL["handle_stream"](self, comm, extra)


def tasks_finished(self, worker, msgs):
    """Handle several task-finished messages of one worker."""
    if worker not in self.workers:
        return
    for msg in msgs:
        msg.pop("op", None)
    if not self._esched.active:  # any more
        for msg in msgs:
            self.handle_task_finished(worker=worker, **msg)
        return
    recs: dict = {}
    client_msgs: dict = {}
    worker_msgs: dict = {}
    stimulus_id = ""
    for msg in msgs:
        stimulus_id = msg["stimulus_id"]
        new, cmsgs, wmsgs = self.stimulus_task_finished(worker=worker, **msg)
        recs.update(new)
        for c, m in cmsgs.items():
            client_msgs.setdefault(c, []).extend(m)
        for w, m in wmsgs.items():
            worker_msgs.setdefault(w, []).extend(m)
    self._transitions(recs, client_msgs, worker_msgs, stimulus_id)
    self.send_all(client_msgs, worker_msgs)
    self.stimulus_queue_slots_maybe_opened(stimulus_id=stimulus_id)


def install() -> None:
    """Put the replacements in place. Nothing changes until a Link exists."""
    ds.Scheduler._esched = None
    ds.Scheduler._transition = wraps(ORIGINAL["_transition"])(transition)
    for function in (
        stimulus_queue_slots_maybe_opened,
        add_replica,
        remove_replica,
        remove_worker,
        handle_worker_status_change,
        handle_long_running,
        handle_stream,
        add_plugin,
        remove_plugin,
    ):
        setattr(ds.Scheduler, function.__name__, wraps(ORIGINAL[function.__name__])(function))
    ds.SchedulerState._TRANSITIONS_TABLE = {
        **ORIGINAL["table"],
        ("waiting", "processing"): waiting_processing,
        ("waiting", "queued"): waiting_queued,
        ("queued", "processing"): queued_processing,
    }
    # Stealing would move tasks behind the policy's back.
    dask.config.set({"distributed.scheduler.work-stealing": False})


install()


async def dask_setup(scheduler) -> None:
    """Attach the scheduler to the service named by ESCHED_SOCKET."""
    path = os.environ.get("ESCHED_SOCKET")
    if not path:
        logger.error("ESCHED_SOCKET is not set: Dask decides by itself. Set it to the socket of 'esched serve'.")
        return
    from tornado.ioloop import PeriodicCallback

    link = Link(scheduler, path)
    scheduler._esched = link
    scheduler.add_plugin(Watcher(link), name=Watcher.name)
    link.listening = listening(scheduler)
    scheduler.stream_handlers["esched-tasks-finished"] = lambda worker, msgs: tasks_finished(scheduler, worker, msgs)
    scheduler.handlers["esched_begin"] = link.begin
    scheduler.handlers["esched_end"] = link.end
    scheduler.handlers["esched_decisions"] = link.decisions
    link.attach()
    scheduler.periodic_callbacks["esched"] = PeriodicCallback(link.tick, HEARTBEAT)
    scheduler.periodic_callbacks["esched"].start()
    # The service may have started together with us.
    for _ in range(200):
        if link.active:
            return
        await asyncio.sleep(0.01)
    logger.warning("esched is not reached at %s (%s); Dask decides until it is", path, link.reason or "no answer")
