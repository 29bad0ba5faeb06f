"""Where Dask's state changes: the plugin and the functions that tell the service of it."""

from __future__ import annotations

import distributed.scheduler as ds
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin

from .link import Link, logger
from .originals import ORIGINAL
from .wire import GONE, NO_REPLICA, PAUSED, R_MATE, R_PLACED, R_REPLICA, R_TASK, REPLICA, RESUMED, SECEDED, SYNC


class Watcher(SchedulerPlugin):
    """Tells the service of graphs and workers."""

    name = "esched"

    def __init__(self, link: Link) -> None:
        self.link = link

    def update_graph(self, scheduler, *, tasks=(), **kwargs) -> None:
        """Send a new graph, and wait until the service has looked ahead."""
        link = self.link
        if not link.connected:
            return
        try:
            link.rooted.clear()
            link.put_graph([scheduler.tasks[k] for k in tasks if k in scheduler.tasks])
            if link.active:
                link.wait(link.put_request(SYNC))
            else:
                link.schedule()
        except Exception as e:
            link.fail(e)

    def add_worker(self, scheduler, worker: str) -> None:
        """Send a new worker."""
        link = self.link
        if link.connected and worker in scheduler.workers:
            link.mate(scheduler.workers[worker])

    async def close(self) -> None:
        """Let go of the service with the scheduler."""
        self.link.close()


def listening(scheduler) -> list:
    """Return the plugins that want to know of transitions."""
    silent = SchedulerPlugin.transition
    return [p for p in scheduler.plugins.values() if getattr(type(p), "transition", None) is not silent]


def transition(self, key, finish, stimulus_id, **kwargs):
    """Do one transition and tell the service of it.

    Does what the original does, without copying the task's neighbours for
    plugins that do not listen. While Dask decides, or validates, the original
    runs.
    """
    link = self._esched
    if link is None:
        return ORIGINAL["_transition"](self, key, finish, stimulus_id, **kwargs)
    ts = self.tasks.get(key)
    if ts is None:
        return {}, {}, {}
    start = ts._state
    if start == finish:
        return {}, {}, {}
    func = self._TRANSITIONS_TABLE.get((start, finish))
    if (
        func is None
        or not link.active
        or self.validate
        or self.transition_counter_max
        or (finish == "forgotten" and link.listening)
    ):
        result = ORIGINAL["_transition"](self, key, finish, stimulus_id, **kwargs)
    else:
        self.transition_counter += 1
        try:
            result = func(self, key, stimulus_id, **kwargs)
        except Exception:
            logger.exception("Error transitioning %r from %r to %r", key, start, finish)
            raise
        state = ts._state
        self.transition_log.append(
            ds.Transition(key, start, state, result[0], stimulus_id or ds.STIMULUS_ID_UNSET, ds.time())
        )
        for plugin in link.listening:
            try:
                plugin.transition(key, start, state, stimulus_id=stimulus_id, **kwargs)
            except Exception:
                logger.info("Plugin failed with exception", exc_info=True)
        if state == "forgotten":
            forget_group(self, ts)
    if ts._state != start:
        try:
            link.note(ts, start, kwargs)
        except Exception as e:
            link.fail(e)
    return result


def forget_group(self, ts) -> None:
    """Remove a task's group when all its tasks are forgotten."""
    group = ts.group
    if group.name in self.task_groups and all(n == 0 or s == "forgotten" for s, n in group.states.items()):
        if hasattr(ts.prefix, "remove_group"):
            ts.prefix.remove_group(group)
        else:
            ts.prefix.groups.remove(group)
        del self.task_groups[group.name]


def add_replica(self, ts, ws):
    """Note that a worker holds a result."""
    ORIGINAL["add_replica"](self, ts, ws)
    link = self._esched
    if link is not None and link.connected and ts._state != "processing":
        try:
            link.emit(R_REPLICA(REPLICA, link.id(ts), link.mate(ws).id, max(ts.nbytes, 0)))
        except Exception as e:
            link.fail(e)


def remove_replica(self, ts, ws):
    """Note that a worker no longer holds a result."""
    ORIGINAL["remove_replica"](self, ts, ws)
    link = self._esched
    if link is not None and link.connected:
        try:
            mate = link.mates.get(ws.address)
            if mate is not None:
                link.emit(R_PLACED(NO_REPLICA, link.id(ts), mate.id))
        except Exception as e:
            link.fail(e)


async def remove_worker(self, address, *args, **kwargs):
    """Remove a worker; the service hears of it before its tasks are placed anew."""
    link = self._esched
    mate = None
    if link is not None and link.connected:
        try:
            mate = link.mates.get(self.coerce_address(address))
            if mate is not None:
                link.rooted.clear()
                link.withdraw(mate, GONE)
        except Exception as e:
            link.fail(e)
    try:
        return await ORIGINAL["remove_worker"](self, address, *args, **kwargs)
    finally:
        # Only now: the original still names the worker.
        gone = mate is not None and self.workers.get(mate.ws.address) is not mate.ws
        if gone and link.by_id.get(mate.id) is mate:
            del link.by_id[mate.id]
            if link.mates.get(mate.ws.address) is mate:
                del link.mates[mate.ws.address]


def handle_worker_status_change(self, status, worker, stimulus_id):
    """Follow a worker that pauses, resumes or leaves."""
    link = self._esched
    ws = self.workers.get(worker) if isinstance(worker, str) else worker
    if link is not None and link.connected and ws is not None:
        try:
            new = Status[status] if isinstance(status, str) else status
            mate = link.mate(ws)
            if new != ws.status:
                if new == Status.running:
                    link.emit(R_MATE(RESUMED, mate.id))
                else:
                    link.withdraw(mate, PAUSED)
        except Exception as e:
            link.fail(e)
    return ORIGINAL["handle_worker_status_change"](self, status, worker, stimulus_id)


def handle_long_running(self, key=None, worker=None, **kwargs):
    """Follow a task that left its worker's thread pool."""
    result = ORIGINAL["handle_long_running"](self, key=key, worker=worker, **kwargs)
    link = self._esched
    ts = self.tasks.get(key)
    ws = ts.processing_on if ts is not None else None
    if link is not None and link.connected and ws is not None and ts in ws.long_running:
        try:
            link.emit(R_TASK(SECEDED, link.id(ts)))
        except Exception as e:
            link.fail(e)
        self.check_idle_saturated(ws)
    return result


def add_plugin(self, *args, **kwargs):
    """Add a plugin and note whether it listens to transitions."""
    result = ORIGINAL["add_plugin"](self, *args, **kwargs)
    if self._esched is not None:
        self._esched.listening = listening(self)
    return result


def remove_plugin(self, *args, **kwargs):
    """Remove a plugin."""
    result = ORIGINAL["remove_plugin"](self, *args, **kwargs)
    if self._esched is not None:
        self._esched.listening = listening(self)
    return result
