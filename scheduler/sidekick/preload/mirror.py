"""The mirror: what the service is told of Dask's state, and the ids that both sides use for it."""

from __future__ import annotations

import math
from array import array
from collections import deque

from distributed.core import Status

from .channel import Channel
from .wire import (
    CONSTRAINED,
    ERRED,
    FINISHED,
    FORGOTTEN,
    GRAPH,
    METRICS,
    PAUSED,
    PLACED,
    QUEUED,
    R_FINISHED,
    R_GRAPH,
    R_MATE,
    R_METRICS,
    R_NODE,
    R_PLACED,
    R_REPLICA,
    R_TASK,
    R_WORKER,
    RELEASED,
    REPLICA,
    ROOT,
    SECEDED,
    WORKER,
)

HURRY = 0.002  # s that one may wait that tells of a placement which hints may follow
MAX_FRAME = 32 << 20  # bytes after which a large graph goes on in another frame
PART = 1 << 16  # tasks of a graph that share a record
MAX_PREFIXES = (1 << 20) - 1  # told apart; all further ones share number 0


class Mate:
    """What is known of a worker beyond Dask's WorkerState."""

    __slots__ = ("id", "next", "slots", "ws")

    def __init__(self, id: int, ws, slots: int) -> None:
        self.id = id
        self.ws = ws
        self.slots = slots  # tasks it may hold before root tasks wait
        self.next: deque = deque()  # tasks reserved for its free slots


def constrained(ts) -> bool:
    """Whether only some workers may run a task, or it is an actor."""
    return bool(ts.worker_restrictions or ts.host_restrictions or ts.resource_restrictions or ts.actor)


class Mirror(Channel):
    """The tasks and workers that the service knows by id."""

    def __init__(self, scheduler, path: str) -> None:
        saturation = scheduler.WORKER_SATURATION
        self.saturation = 1.1 if math.isinf(saturation) else saturation
        super().__init__(scheduler, path)

    def reset(self) -> None:
        """Forget the ids too: a new connection begins with none."""
        super().reset()
        self.ids: dict = {}  # key -> id
        self.tasks: dict[int, object] = {}  # id -> TaskState
        self.last = 0
        self.free: list[int] = []  # ids to use again
        self.next_worker = 0
        self.mates: dict[str, Mate] = {}  # address -> Mate
        self.by_id: dict[int, Mate] = {}
        self.hints: dict = {}  # key -> WorkerState
        self.prefixes: dict[str, int] = {}
        self.rooted: dict = {}  # TaskGroup -> bool
        self.unfilled = False
        self.source: str | None = None  # of the placement that is being made

    # ---- tasks ----

    def identify(self, ts) -> int:
        """Give a task an id."""
        if self.free:
            i = self.free.pop()
        else:
            self.last += 1
            i = self.last
        self.ids[ts.key] = i
        self.tasks[i] = ts
        return i

    def id(self, ts) -> int:
        """Return the id of a task, telling the service of it when it is new."""
        i = self.ids.get(ts.key)
        if i is None:
            self.put_graph([ts])
            i = self.ids[ts.key]
        return i

    def put_graph(self, tasks) -> None:
        """Collect tasks that the service does not know yet."""
        ids = self.ids
        fresh = [ts for ts in tasks if ts.key not in ids]
        for ts in fresh:
            self.identify(ts)
        self.unread += len(fresh)
        for at in range(0, len(fresh), PART):
            self.put_part(fresh[at : at + PART])

    def put_part(self, tasks: list) -> None:
        """Collect a part of a graph, all of whose tasks have ids."""
        ids = self.ids
        out = [R_GRAPH(GRAPH, len(tasks))]
        stubs: list = []
        for ts in tasks:
            deps = []
            for d in ts.dependencies:
                i = ids.get(d.key)
                if i is None:
                    i = self.identify(d)
                    stubs.append(d)
                deps.append(i)
            out.append(self.node(ts, len(deps)))
            out.append(array("I", deps).tobytes())
        for ts in stubs:
            out.append(R_GRAPH(GRAPH, 1) + self.node(ts, 0))
        records = b"".join(out)
        self.buf += records
        self.allowed += len(records)
        if len(self.buf) > MAX_FRAME:
            self.seal()

    def node(self, ts, ndeps: int) -> bytes:
        """Pack one task of a graph, without its inputs."""
        flags = 0
        if constrained(ts):
            flags = CONSTRAINED
        elif self.is_root(ts):
            flags = ROOT
        prefix = self.prefixes.get(ts.prefix.name, 0)
        if not prefix and len(self.prefixes) < MAX_PREFIXES:
            prefix = self.prefixes[ts.prefix.name] = len(self.prefixes) + 1
        user, generation, order = ts.priority if ts.priority and len(ts.priority) == 3 else (0, 0, 0)
        user = max(-(2**31), min(2**31 - 1, int(user)))
        return R_NODE(self.ids[ts.key], prefix << 8 | flags, user, generation, int(order) & 0xFFFFFFFF, ndeps)

    def is_root(self, ts) -> bool:
        """Whether a task without restrictions waits in the queue (see is_rootish)."""
        group = ts.group
        root = self.rooted.get(group)
        if root is None:
            root = self.rooted[group] = self.scheduler.is_rootish(ts) and getattr(ts, "_queueable", True)
        return root

    # ---- workers ----

    def mate(self, ws) -> Mate:
        """Return the Mate of a worker, telling the service of it when it is new."""
        mate = self.mates.get(ws.address)
        if mate is None or mate.ws is not ws:
            if len(self.by_id) == 0xFFFF:
                raise OverflowError("esched serves at most 65,535 workers")
            self.next_worker = self.next_worker % 0xFFFF + 1
            while self.next_worker in self.by_id:  # after 65,535 workers have come and gone
                self.next_worker = self.next_worker % 0xFFFF + 1
            stock = max(math.ceil(self.saturation * ws.nthreads), 1)
            mate = self.mates[ws.address] = Mate(self.next_worker, ws, stock)
            self.by_id[mate.id] = mate
            self.rooted.clear()
            self.emit(R_WORKER(WORKER, mate.id, min(ws.nthreads, 0xFFFF), max(0, ws.memory_limit or 0)))
            if ws.status != Status.running:
                self.emit(R_MATE(PAUSED, mate.id))
        return mate

    def withdraw(self, mate: Mate, kind: int) -> None:
        """Tell that a worker takes no more tasks, and drop what was meant for it."""
        mate.next.clear()
        ws = mate.ws
        for key in [k for k, w in self.hints.items() if w is ws]:
            del self.hints[key]
        self.emit(R_MATE(kind, mate.id))

    def put_metrics(self) -> None:
        """Collect what the workers' last heartbeats told."""
        for ws in self.scheduler.workers.values():
            memory = ws.metrics.get("memory") or 0
            self.buf += R_METRICS(METRICS, self.mate(ws).id, max(0, int(memory)), abs(ws.time_delay or 0.0))

    # ---- all of it, and what changes ----

    def snapshot(self) -> None:
        """Send all that Dask knows."""
        scheduler = self.scheduler
        for ws in scheduler.workers.values():
            self.mate(ws)
        self.put_graph(scheduler.tasks.values())
        for ts in scheduler.tasks.values():
            i = self.ids[ts.key]
            if ts.state == "queued":
                self.buf += R_TASK(QUEUED, i)
            elif ts.state == "processing" and ts.processing_on:
                self.buf += R_PLACED(PLACED, i, self.mate(ts.processing_on).id)
                if ts in ts.processing_on.long_running:
                    self.buf += R_TASK(SECEDED, i)
            for ws in ts.who_has or ():
                self.buf += R_REPLICA(REPLICA, i, self.mate(ws).id, max(ts.nbytes, 0))
            if len(self.buf) > MAX_FRAME:
                self.seal()
        self.put_metrics()
        self.allowed += len(self.backlog) + len(self.buf)

    def note(self, ts, start: str, kwargs: dict) -> None:
        """Tell of a task's transition that has just happened."""
        state = ts._state
        if state == "processing":
            source = self.source
            if source is None:
                self.stats.fallbacks += 1
            else:
                self.stats.sources[source] += 1
                self.source = None
            if self.connected:
                self.emit(R_PLACED(PLACED, self.id(ts), self.mate(ts.processing_on).id))
                if source != "next" and not self.hurried and ts.dependents:
                    self.hurried = True
                    self.loop.call_later(HURRY, self.flush)
            return
        if not self.connected:
            return
        if state == "memory":
            if start == "processing":
                seconds = 0.0
                for s in kwargs.get("startstops") or ():
                    if s["action"] == "compute":
                        seconds += s["stop"] - s["start"]
                mate = self.mates.get(kwargs.get("worker"))
                if mate is not None:
                    micros = min(0xFFFFFFFF, max(0, int(seconds * 1e6)))
                    self.emit(R_FINISHED(FINISHED, self.id(ts), mate.id, max(0, ts.nbytes), micros))
        elif state == "queued":
            self.unfilled = True
            self.emit(R_TASK(QUEUED, self.id(ts)))
        elif state == "released":
            self.emit(R_TASK(RELEASED, self.id(ts)))
        elif state == "erred":
            self.emit(R_TASK(ERRED, self.id(ts)))
        elif state == "forgotten":
            i = self.ids.pop(ts.key, None)
            if i is not None:
                self.tasks.pop(i, None)
                self.hints.pop(ts.key, None)
                self.spent.append(i)
                self.emit(R_TASK(FORGOTTEN, i))

    def sweep(self) -> None:
        """Let go of tasks that left the queue by other ways, and of groups that are gone."""
        for mate in self.by_id.values():
            if any(ts._state != "queued" for ts in mate.next):
                mate.next = deque(ts for ts in mate.next if ts._state == "queued")
        groups = self.scheduler.task_groups
        for group in [g for g in self.rooted if groups.get(g.name) is not g]:
            del self.rooted[group]
