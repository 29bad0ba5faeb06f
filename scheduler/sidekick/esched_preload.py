"""Let esched decide every placement of an unmodified Dask scheduler.

Use it with ``dask scheduler --preload esched_preload.py`` and the path of the
decision service's socket (``esched serve --socket PATH``) in the environment
variable ``ESCHED_SOCKET``. It works with Dask 2024.5 to 2026.7; when a hook it
needs is missing, the scheduler does not start and says which one.

The module mirrors the scheduler's state to the service as fire-and-forget
records, uses placements that the service pushed before they were needed, and
asks, with a deadline, when one is missing. Whatever goes wrong with the
service, Dask's own choice is used instead and counted as a fallback; no
exception of this module reaches Dask's event loop. The protocol is described
in wire.go, next to this file in esched's sources.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import os
import select
import socket
import struct
from array import array
from collections import deque
from functools import wraps
from time import monotonic, perf_counter_ns

import dask
import distributed.scheduler as ds
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin

logger = logging.getLogger("distributed.esched")

VERSION = 1  # of the protocol

# Records to the service.
HELLO, WORKER, GONE, PAUSED, RESUMED, METRICS, GRAPH, QUEUED, PLACED, FINISHED = range(1, 11)
ERRED, RELEASED, FORGOTTEN, SECEDED, REPLICA, NO_REPLICA, ASK, SYNC, STARVING, POLICY = range(11, 21)
# Records from the service.
HINT, NEXT, SLOTS, ANSWER, END = range(1, 6)

ROOT, CONSTRAINED = 1, 2  # flags of a task

REPLY = struct.Struct("<BBHI")
R_HELLO = struct.Struct("<BId").pack
R_WORKER = struct.Struct("<BHHQ").pack
R_MATE = struct.Struct("<BH").pack
R_METRICS = struct.Struct("<BHQf").pack
R_GRAPH = struct.Struct("<BI").pack
R_NODE = struct.Struct("<IIifII").pack
R_TASK = struct.Struct("<BI").pack
R_PLACED = struct.Struct("<BIH").pack
R_FINISHED = struct.Struct("<BIHQI").pack
R_REPLICA = struct.Struct("<BIHQ").pack
R_ASK = struct.Struct("<BIIH").pack
R_POLICY = struct.Struct("<BIQfB").pack
R_LENGTH = struct.Struct("<I").pack_into

HEAD = b"\0\0\0\0"  # room for the frame's length

DEADLINE = 0.2  # s to wait for an answer, plus
DEADLINE_PER_TASK = 2e-4  # s for each task that the service may still have to read
MISSES = 3  # missed deadlines in a row until the breaker opens
RETRY = 1.0  # s between attempts to attach again
ATTACH = 10.0  # s for the service to read a snapshot
FLUSH = 0.005  # s that a record may wait for others,
HURRY = 0.002  # s when a task was placed whose dependents may be hinted now
FLUSH_BYTES = 1024
MAX_BACKLOG = 64 << 20  # bytes unsent before the service counts as dead
HEARTBEAT = 500  # ms between reports of the workers' metrics
MAX_PREFIXES = (1 << 20) - 1  # told apart; all further ones share number 0
SAMPLES = 1 << 22  # latencies kept of one measured stretch
REUSE = 4096  # ids forgotten before the oldest of them is used again

# What the module replaces or relies on: attribute -> parameters it must take.
HOOKS = {
    "_transition": ("key", "finish", "stimulus_id"),
    "_transitions": ("recommendations", "client_msgs", "worker_msgs", "stimulus_id"),
    "transitions": ("recommendations", "stimulus_id"),
    "decide_worker_non_rootish": ("ts",),
    "is_rootish": ("ts",),
    "valid_workers": ("ts",),
    "check_idle_saturated": ("ws", "occ"),
    "stimulus_queue_slots_maybe_opened": ("stimulus_id",),
    "stimulus_task_finished": ("key", "worker", "stimulus_id", "run_id"),
    "add_replica": ("ts", "ws"),
    "remove_replica": ("ts", "ws"),
    "remove_worker": ("address", "stimulus_id"),
    "handle_worker_status_change": ("status", "worker", "stimulus_id"),
    "handle_long_running": ("key", "worker"),
    "handle_stream": ("comm", "extra"),
    "send_all": ("client_msgs", "worker_msgs"),
    "add_plugin": ("plugin",),
    "remove_plugin": (),
    "_add_to_processing": ("ts", "ws", "stimulus_id"),
}
TABLE = [("waiting", "processing"), ("waiting", "queued"), ("queued", "processing")]


def check() -> None:
    """Raise RuntimeError when this version of Dask lacks a hook."""
    missing = []
    for name, parameters in HOOKS.items():
        hook = getattr(ds.Scheduler, name, None)
        if hook is None or not set(parameters) <= set(inspect.signature(hook).parameters):
            missing.append(f"Scheduler.{name}({', '.join(parameters)})")
    missing += [f"transition {a} -> {b}" for a, b in TABLE if (a, b) not in ds.SchedulerState._TRANSITIONS_TABLE]
    if missing:
        version = ds.distributed.__version__ if hasattr(ds, "distributed") else dask.__version__
        raise RuntimeError(f"esched cannot steer Dask {version}: it lacks {'; '.join(missing)}")


class Mate:
    """What is known of a worker beyond Dask's WorkerState."""

    __slots__ = ("id", "next", "slots", "ws")

    def __init__(self, id: int, ws, slots: int) -> None:
        self.id = id
        self.ws = ws
        self.slots = slots  # tasks it may hold before root tasks wait
        self.next: deque = deque()  # tasks reserved for its free slots


class Stats:
    """Counters of one measured stretch, from begin to end."""

    def __init__(self, measured: bool = False) -> None:
        self.measured = measured  # only then latencies are kept
        self.sources = {"hint": 0, "next": 0, "ask": 0}
        self.fallbacks = 0
        self.misses = 0
        self.attached = 0
        self.latency: list[int] = []  # ns, one for each decision
        self.asked: list[int] = []  # ns, those of the blocking questions among them


class Link:
    """The connection to the decision service and the mirror's bookkeeping.

    ``connected`` says that records flow; ``active`` that the service decides.
    Between the two the service reads a snapshot.
    """

    def __init__(self, scheduler, path: str) -> None:
        self.scheduler = scheduler
        self.path = path
        self.loop = asyncio.get_running_loop()
        self.connected = self.active = False
        self.sock = self.poll = None
        saturation = scheduler.WORKER_SATURATION
        self.saturation = 1.1 if math.isinf(saturation) else saturation
        self.choice: tuple | None = None  # policy, seed, window
        self.stats = Stats()
        self.next_worker = 0
        self.request = 0
        self.listening: list = []
        self.reason = ""
        self.retry = None
        self.reset()

    def reset(self) -> None:
        """Forget everything that belongs to one connection."""
        self.buf = bytearray(HEAD)
        self.backlog = b""
        self.partial = b""
        self.scheduled = self.hurried = False
        self.ids: dict = {}  # key -> id
        self.tasks: dict[int, object] = {}  # id -> TaskState
        self.free: deque[int] = deque()
        self.last = 0
        self.mates: dict[str, Mate] = {}  # address -> Mate
        self.by_id: dict[int, Mate] = {}
        self.hints: dict = {}  # key -> WorkerState
        self.prefixes: dict[str, int] = {}
        self.rooted: dict = {}  # TaskGroup -> bool
        self.ended = self.refused = 0
        self.missed = 0
        self.unread = 0  # tasks sent since the last answer
        self.unfilled = False
        self.yielding = False
        self.chosen = None
        self.source: str | None = None

    # ---- connection ----

    def connect(self) -> None:
        """Connect and send hello and a snapshot; the answer is awaited elsewhere."""
        self.reset()
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)
        # A timeout makes every recv poll first; the duplicate never waits.
        self.poll = self.sock.dup()
        self.poll.setblocking(False)
        self.connected = True
        self.buf += R_HELLO(HELLO, VERSION, self.saturation)
        if self.choice:
            self.put_policy(*self.choice)
        self.snapshot()

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
        self.put_metrics()

    def attach(self) -> None:
        """Try to reach the service; Dask decides until it has read the snapshot."""
        self.retry = None
        try:
            self.connect()
            self.awaited = self.put_request(SYNC)
            self.patience = monotonic() + ATTACH + DEADLINE_PER_TASK * self.unread
            self.flush()
            if self.connected:
                self.attached()
        except Exception as e:
            self.fail(e)

    def attached(self) -> None:
        """Check whether the service has read the snapshot, and go live if so."""
        self.retry = None
        if not self.connected:
            return
        try:
            self.flush()
            self.drain()
            if not self.connected:
                return
            if self.ended != self.awaited:
                if monotonic() > self.patience:
                    raise TimeoutError("the service did not read the snapshot")
                self.retry = self.loop.call_later(0.005, self.attached)
                return
        except Exception as e:
            self.fail(e)
            return
        self.active = True
        self.unread = 0
        self.reason = ""
        self.stats.attached += 1
        logger.info("esched decides (socket %s)", self.path)
        for ws in self.scheduler.workers.values():
            self.scheduler.check_idle_saturated(ws)
        self.scheduler.stimulus_queue_slots_maybe_opened(stimulus_id="esched-attached")

    def fail(self, reason) -> None:
        """Open the breaker: Dask decides until the service can be reached again."""
        was_active = self.active
        self.connected = self.active = False
        self.reason = str(reason) or type(reason).__name__
        for s in (self.sock, self.poll):
            if s is not None:
                s.close()
        self.sock = self.poll = None
        self.reset()
        if was_active:
            logger.warning("esched does not decide any more, Dask does: %s", self.reason)
        if self.loop.is_closed():
            return
        if was_active:
            self.loop.call_soon(self.relieve)
        if self.retry is not None:
            self.retry.cancel()
        self.retry = self.loop.call_later(RETRY, self.attach)

    def relieve(self) -> None:
        """Give Dask back its own view of free slots, and its queue a push."""
        if self.active:
            return
        for ws in self.scheduler.workers.values():
            ORIGINAL["check_idle_saturated"](self.scheduler, ws)
        self.yield_queue("esched-detached")

    def yield_queue(self, stimulus_id: str) -> None:
        """Let Dask choose for the queued tasks that fit free slots."""
        scheduler = self.scheduler
        self.yielding = True
        try:
            if math.isinf(scheduler.WORKER_SATURATION):  # Dask has no queue of its own then
                scheduler.transitions({ts.key: "processing" for ts in scheduler.queued.sorted()}, stimulus_id)
            else:
                ORIGINAL["stimulus_queue_slots_maybe_opened"](scheduler, stimulus_id=stimulus_id)
        finally:
            self.yielding = False

    def close(self) -> None:
        """Let go of the service for good."""
        self.loop = asyncio.new_event_loop()
        self.loop.close()
        if self.retry is not None:
            self.retry.cancel()
        self.fail("scheduler closes")

    # ---- sending ----

    def flush(self) -> None:
        """Send what was collected, without waiting."""
        self.scheduled = self.hurried = False
        if not self.connected:
            return
        if len(self.buf) == len(HEAD) and not self.backlog:
            return
        try:
            buf = self.buf
            if len(buf) > 4:
                R_LENGTH(buf, 0, len(buf) - 4)
                self.backlog = self.backlog + buf if self.backlog else buf
                self.buf = bytearray(HEAD)
            backlog = self.backlog
            if backlog:
                try:
                    sent = self.poll.send(backlog)
                except BlockingIOError:
                    sent = 0
                self.backlog = backlog[sent:] if sent < len(backlog) else b""
                # Hints that are read now cost nothing when they are needed; and a
                # service that cannot send does not read.
                self.drain()
                if len(self.backlog) > MAX_BACKLOG:
                    raise BufferError("the service does not read")
                if self.backlog and self.connected:
                    self.schedule()
        except Exception as e:
            self.fail(e)

    def schedule(self) -> None:
        """Have the collected records sent soon."""
        if not self.scheduled:
            self.scheduled = True
            self.loop.call_later(FLUSH, self.flush)

    def emit(self, record: bytes) -> None:
        """Collect a record."""
        self.buf += record
        if not self.scheduled:
            self.schedule()
        elif len(self.buf) > FLUSH_BYTES:
            self.flush()

    def put_request(self, kind: int) -> int:
        """Collect a request without content and return its number."""
        self.request = self.request % 0x7FFFFFFF + 1
        self.buf += R_TASK(kind, self.request)
        return self.request

    def put_policy(self, policy: str, seed: int, window: float) -> int:
        """Collect the choice of a policy."""
        self.request = self.request % 0x7FFFFFFF + 1
        name = policy.encode()[:255]
        self.buf += R_POLICY(POLICY, self.request, seed & (2**64 - 1), window, len(name)) + name
        return self.request

    def put_graph(self, tasks) -> None:
        """Collect tasks that the service does not know yet."""
        ids = self.ids
        fresh = [ts for ts in tasks if ts.key not in ids]
        if not fresh:
            return
        for ts in fresh:
            self.identify(ts)
        self.unread += len(fresh)
        out = [R_GRAPH(GRAPH, len(fresh))]
        stubs: list = []
        for ts in fresh:
            deps = []
            for d in ts.dependencies:
                i = ids.get(d.key)
                if i is None:
                    i = self.identify(d)
                    stubs.append(d)
                deps.append(i)
            out.append(self.node(ts, len(deps)))
            out.append(array("I", deps).tobytes())
        self.buf += b"".join(out)
        for ts in stubs:
            self.buf += R_GRAPH(GRAPH, 1) + self.node(ts, 0)

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

    def put_metrics(self) -> None:
        """Collect what the workers' last heartbeats told."""
        for ws in self.scheduler.workers.values():
            memory = ws.metrics.get("memory") or 0
            self.buf += R_METRICS(METRICS, self.mate(ws).id, max(0, int(memory)), abs(ws.time_delay or 0.0))

    # ---- receiving ----

    def drain(self) -> bool:
        """Read what the service has sent, without waiting."""
        try:
            data = self.poll.recv(1 << 18)
        except BlockingIOError:
            return False
        except Exception as e:
            self.fail(e)
            return False
        if not data:
            self.fail("the service closed the connection")
            return False
        try:
            self.absorb(data)
        except Exception as e:
            self.fail(e)
            return False
        return True

    def absorb(self, data: bytes) -> None:
        """Take in records of the service."""
        if self.partial:
            data = self.partial + data
        if rest := len(data) % 8:
            self.partial, data = data[-rest:], data[:-rest]
        else:
            self.partial = b""
        tasks, by_id, hints = self.tasks, self.by_id, self.hints
        for kind, status, worker, i in REPLY.iter_unpack(data):
            if kind == HINT or kind == ANSWER:
                ts = tasks.get(i)
                mate = by_id.get(worker)
                if ts is not None and mate is not None:
                    hints[ts.key] = mate.ws
            elif kind == NEXT:
                ts = tasks.get(i)
                mate = by_id.get(worker)
                if ts is not None and mate is not None:
                    mate.next.append(ts)
            elif kind == SLOTS:
                mate = by_id.get(worker)
                if mate is not None:
                    mate.slots = i
                    if self.active:
                        self.scheduler.check_idle_saturated(mate.ws)
            elif kind == END:
                self.ended, self.refused = i, status
            else:
                raise ValueError(f"the service sent an unknown record of kind {kind}")

    def wait(self, request: int) -> bool:
        """Wait for the end of a request; False when the deadline passed."""
        end = monotonic() + DEADLINE + DEADLINE_PER_TASK * self.unread
        self.flush()
        while self.connected and self.ended != request:
            left = end - monotonic()
            if left <= 0:
                break
            try:
                if self.backlog:
                    # A frame larger than the socket's buffer: send and read in turns.
                    ready = select.poll()
                    ready.register(self.sock, select.POLLIN | select.POLLOUT)
                    ready.poll(left * 1000)
                    self.flush()
                    continue
                self.sock.settimeout(left)
                data = self.sock.recv(1 << 18)
            except TimeoutError:
                break
            except Exception as e:
                self.fail(e)
                return False
            if not data:
                self.fail("the service closed the connection")
                return False
            try:
                self.absorb(data)
            except Exception as e:
                self.fail(e)
                return False
        if self.connected and self.ended == request:
            self.missed = self.unread = 0
            return True
        self.stats.misses += 1
        self.missed += 1
        if self.missed >= MISSES and self.connected:
            self.fail(f"{self.missed} answers in a row missed their deadline")
        return False

    # ---- the mirror ----

    def identify(self, ts) -> int:
        """Give a task an id."""
        if len(self.free) > REUSE:
            i = self.free.popleft()
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

    def mate(self, ws) -> Mate:
        """Return the Mate of a worker, telling the service of it when it is new."""
        mate = self.mates.get(ws.address)
        if mate is None or mate.ws is not ws:
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

    def is_root(self, ts) -> bool:
        """Whether a task without restrictions waits in the queue (see is_rootish)."""
        group = ts.group
        root = self.rooted.get(group)
        if root is None:
            root = self.rooted[group] = self.scheduler.is_rootish(ts) and getattr(ts, "_queueable", True)
        return root

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
                self.free.append(i)
                self.emit(R_TASK(FORGOTTEN, i))

    # ---- decisions ----

    def usable(self, ws, pool) -> bool:
        """Whether a placement that was decided earlier still holds."""
        return (
            ws is not None
            and ws.status is Status.running
            and self.scheduler.workers.get(ws.address) is ws
            and (pool is None or ws in pool)
        )

    def place(self, ts, pool):
        """Return the worker for a ready task, or None when the service has none.

        ``pool`` is the set of workers that may run it, None for all running.
        """
        begun = perf_counter_ns()
        ws = self.hints.pop(ts.key, None)
        source = "hint"
        if not self.usable(ws, pool):
            ws = None
            if self.drain():
                ws = self.hints.pop(ts.key, None)
            if not self.usable(ws, pool):
                ws = self.ask(ts, pool) if self.active else None
                source = "ask"
                if not self.usable(ws, pool):
                    return None
        self.source = source
        self.took(perf_counter_ns() - begun, source == "ask")
        return ws

    def took(self, ns: int, asked: bool) -> None:
        """Keep how long a decision took."""
        stats = self.stats
        if stats.measured and len(stats.latency) < SAMPLES:
            stats.latency.append(ns)
            if asked:
                stats.asked.append(ns)

    def ask(self, ts, pool):
        """Ask for one placement and wait for it."""
        i = self.id(ts)
        workers = b""
        n = 0
        if pool is not None:
            mates = sorted(self.mate(ws).id for ws in pool)[:0xFFFF]
            n = len(mates)
            workers = array("H", mates).tobytes()
        self.request = self.request % 0x7FFFFFFF + 1
        self.buf += R_ASK(ASK, self.request, i, n) + workers
        if not self.wait(self.request):
            return None
        return self.hints.pop(ts.key, None)

    def fill(self, stimulus_id: str) -> None:
        """Send queued tasks to the free slots that they are reserved for."""
        scheduler = self.scheduler
        self.unfilled = False
        client_msgs: dict = {}
        worker_msgs: dict = {}
        for chance in range(3):
            for ws in list(scheduler.idle_task_count):
                mate = self.mates.get(ws.address)
                if mate is not None and mate.ws is ws:
                    self.load(mate, client_msgs, worker_msgs, stimulus_id)
            if not self.active or not scheduler.queued or not scheduler.idle_task_count:
                break
            if chance == 0:
                if self.drain():
                    continue
            elif chance == 2:
                break
            begun = perf_counter_ns()
            answered = self.wait(self.put_request(STARVING))
            if not answered:
                break
            if self.stats.measured and len(self.stats.asked) < SAMPLES:
                self.stats.asked.append(perf_counter_ns() - begun)
        scheduler.send_all(client_msgs, worker_msgs)
        if not self.active:
            return
        # The service is late, or it holds tasks while nothing runs, after which
        # nobody would ask it again: Dask chooses.
        if scheduler.queued and scheduler.idle_task_count and (self.missed or not self.busy()):
            self.yield_queue(stimulus_id)

    def busy(self) -> bool:
        """Whether any worker has anything to do."""
        return any(len(ws.processing) > len(ws.long_running) for ws in self.scheduler.workers.values())

    def load(self, mate: Mate, client_msgs: dict, worker_msgs: dict, stimulus_id: str) -> None:
        """Fill the free slots of one worker."""
        scheduler = self.scheduler
        ws, tasks = mate.ws, mate.next
        processing, seceded = ws.processing, ws.long_running
        while self.active and tasks and len(processing) - len(seceded) < mate.slots:
            begun = perf_counter_ns()
            ts = tasks.popleft()
            if ts._state != "queued" or ws.status is not Status.running:
                continue
            self.took(perf_counter_ns() - begun, False)
            self.source = "next"
            self.chosen = ws
            try:
                recs, cmsgs, wmsgs = scheduler._transition(ts.key, "processing", stimulus_id)
            finally:
                self.chosen = self.source = None
            for c, msgs in cmsgs.items():
                client_msgs.setdefault(c, []).extend(msgs)
            for w, msgs in wmsgs.items():
                worker_msgs.setdefault(w, []).extend(msgs)
            if recs:
                scheduler._transitions(recs, client_msgs, worker_msgs, stimulus_id)

    # ---- measured stretches ----

    def begin(self, policy: str, seed: int = 0, options: dict | None = None) -> dict:
        """Choose a policy and start counting anew."""
        options = options or {}
        slots = options.get("slots", "adaptive")
        if slots not in ("adaptive", "stock"):
            return {"status": "error", "error": f"slots must be adaptive or stock, not {slots!r}"}
        window = float(options.get("window", 0.010)) if slots == "adaptive" else 0.0
        if not self.active:
            return {"status": "error", "error": f"the decision service is not attached: {self.reason}"}
        if not self.wait(self.put_policy(policy, int(seed), window)):
            return {"status": "error", "error": "the decision service did not answer"}
        if self.refused:
            return {"status": "error", "error": f"unknown policy {policy!r}"}
        self.choice = (policy, int(seed), window)
        self.put_metrics()
        self.stats = Stats(measured=True)
        return {"status": "OK"}

    def end(self) -> dict:
        """Return the counts since begin."""
        stats = self.stats
        return {
            "decisions": sum(stats.sources.values()),
            "fallbacks": stats.fallbacks,
            "sources": stats.sources,
            "misses": stats.misses,
            "reattached": stats.attached,
            "active": self.active,
            "latency_ns": pack_ns(stats.latency),
            "asked_ns": pack_ns(stats.asked),
            "work_stealing": bool(dask.config.get("distributed.scheduler.work-stealing")),
        }

    def tick(self) -> None:
        """Tell the service of the workers' metrics, and refresh what changes slowly."""
        scheduler = self.scheduler
        if self.active:
            for ws in list(scheduler.workers.values()):
                # Dask's idle and saturated sets serve scaling, not placement.
                ORIGINAL["check_idle_saturated"](scheduler, ws)
                scheduler.check_idle_saturated(ws)
        if self.connected:
            self.put_metrics()
            self.schedule()


def pack_ns(values: list[int]) -> bytes:
    """Pack nanoseconds as little-endian u32, larger ones cut."""
    return struct.pack(f"<{len(values)}I", *(min(v, 0xFFFFFFFF) for v in values))


def constrained(ts) -> bool:
    """Whether only some workers may run a task, or it is an actor."""
    return bool(ts.worker_restrictions or ts.host_restrictions or ts.resource_restrictions or ts.actor)


class Mirror(SchedulerPlugin):
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


class Grouped:
    """A worker's comm whose task-finished messages arrive grouped.

    Dask handles each of them to its end before it looks at the next; together
    they cost one pass over the recommendations and one message to each worker.
    """

    def __init__(self, comm) -> None:
        self.comm = comm

    def __getattr__(self, name):
        return getattr(self.comm, name)

    async def read(self):
        msgs = await self.comm.read()
        if not isinstance(msgs, (tuple, list)) or len(msgs) < 2:
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


# ---- what replaces Dask's own functions ----

if not hasattr(ds, "_esched_original"):  # --preload FILE executes this module twice
    check()
    ds._esched_original = {name: getattr(ds.Scheduler, name) for name in HOOKS}
    ds._esched_original["table"] = dict(ds.SchedulerState._TRANSITIONS_TABLE)
ORIGINAL = ds._esched_original


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


async def handle_stream(self, comm, extra=None):
    """Serve a stream; the finished tasks of a worker's message are handled together."""
    if self._esched is not None and extra and "worker" in extra:
        comm = Grouped(comm)
    return await ORIGINAL["handle_stream"](self, comm, extra)


def tasks_finished(self, worker, msgs):
    """Handle several task-finished messages of one worker."""
    if worker not in self.workers:
        return
    recs: dict = {}
    client_msgs: dict = {}
    worker_msgs: dict = {}
    stimulus_id = ""
    for msg in msgs:
        msg.pop("op", None)
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
    scheduler.add_plugin(Mirror(link), name=Mirror.name)
    link.listening = listening(scheduler)
    scheduler.stream_handlers["esched-tasks-finished"] = lambda worker, msgs: tasks_finished(scheduler, worker, msgs)
    scheduler.handlers["esched_begin"] = link.begin
    scheduler.handlers["esched_end"] = link.end
    link.attach()
    scheduler.periodic_callbacks["esched"] = PeriodicCallback(link.tick, HEARTBEAT)
    scheduler.periodic_callbacks["esched"].start()
    # The service may have started together with us.
    for _ in range(200):
        if link.active:
            return
        await asyncio.sleep(0.01)
    logger.warning("esched is not reached at %s (%s); Dask decides until it is", path, link.reason or "no answer")
