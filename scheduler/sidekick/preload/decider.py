"""Decisions: the placements that the service pushed, and questions where one is missing."""

from __future__ import annotations

import math
from array import array
from time import perf_counter_ns

from distributed.core import Status

from .channel import SAMPLES
from .mirror import Mate, Mirror
from .originals import ORIGINAL
from .wire import ANEW, ANSWER, ASK, END, HINT, NEXT, R_ASK, REPLY, SLOTS, STARVING


class Decider(Mirror):
    """Gives Dask the service's placements, each counted with its source."""

    def reset(self) -> None:
        """Drop what was about to be placed too."""
        super().reset()
        self.yielding = False
        self.chosen = None

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
                if i == self.fence:
                    self.free += self.fenced
                    self.fence, self.fenced = 0, []
            elif kind == ANEW:
                hints.clear()
                for mate in by_id.values():
                    mate.next.clear()
            else:
                raise ValueError(f"the service sent an unknown record of kind {kind}")

    # ---- tasks that Dask asks for ----

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
        request = self.number()
        self.buf += R_ASK(ASK, request, i, n) + workers
        if not self.wait(request):
            return None
        return self.hints.pop(ts.key, None)

    # ---- queued tasks ----

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
