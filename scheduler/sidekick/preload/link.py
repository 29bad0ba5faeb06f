"""The life of the link: attaching, the breaker, and measured stretches."""

from __future__ import annotations

import asyncio
import logging
import socket
from time import monotonic

import dask

from .channel import DEADLINE, DEADLINE_PER_TASK, Stats, pack_ns
from .decider import Decider
from .originals import ORIGINAL
from .wire import HELLO, OWN_WINDOW, R_HELLO, SYNC, VERSION

logger = logging.getLogger("distributed.esched")

RETRY = 1.0  # s until the first attempt to attach again; the time doubles while
RETRY_MAX = 16.0  # s a service is there, but does not last
STEADY = 30.0  # s of decisions after which a service has lasted
ATTACH = 10.0  # s for the service to read a snapshot
PRESENCE = 30.0  # s for the service to be there and to answer when a stretch begins


class Link(Decider):
    """The scheduler's link to the decision service.

    Connected, but not yet active, the service reads a snapshot. When it is
    lost the breaker opens: Dask decides, and the link tries to attach again.
    """

    def __init__(self, scheduler, path: str) -> None:
        super().__init__(scheduler, path)
        self.choice: tuple | None = None  # policy, seed, window
        self.pause = RETRY
        self.since = 0.0  # when the service began to decide
        self.listening: list = []
        self.reason = ""
        self.retry = None

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
        self.since = monotonic()
        self.unread = 0
        self.reason = ""
        self.stats.attached += 1
        logger.info("esched decides (socket %s)", self.path)
        for ws in self.scheduler.workers.values():
            self.scheduler.check_idle_saturated(ws)
        self.scheduler.stimulus_queue_slots_maybe_opened(stimulus_id="esched-attached")

    # ---- the breaker ----

    def fail(self, reason) -> None:
        """Open the breaker: Dask decides until the service can be reached again."""
        was_connected, was_active = self.connected, self.active
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
        # A snapshot of a large graph costs both sides; to find nobody does not.
        if not was_connected or was_active and monotonic() - self.since > STEADY:
            self.pause = RETRY
        self.retry = self.loop.call_later(self.pause, self.attach)
        if was_connected:
            self.pause = min(2 * self.pause, RETRY_MAX)

    def relieve(self) -> None:
        """Give Dask back its own view of free slots, and its queue a push."""
        if self.active:
            return
        for ws in self.scheduler.workers.values():
            ORIGINAL["check_idle_saturated"](self.scheduler, ws)
        self.yield_queue("esched-detached")

    def close(self) -> None:
        """Let go of the service for good."""
        self.loop = asyncio.new_event_loop()
        self.loop.close()
        if self.retry is not None:
            self.retry.cancel()
        self.fail("scheduler closes")

    # ---- measured stretches ----

    async def begin(self, policy: str, seed: int = 0, options: dict | None = None) -> dict:
        """Choose a policy and start counting anew.

        Without slots (and window) among the options it is the service's own
        choice how many tasks a worker holds. Nothing is measured yet, so a
        service that is slow, or is about to be attached again, is waited for.
        """
        options = options or {}
        slots = options.get("slots")
        if slots not in (None, "adaptive", "stock"):
            return {"status": "error", "error": f"slots must be adaptive or stock, not {slots!r}"}
        if slots == "stock":
            window = 0.0
        else:
            window = float(options.get("window", OWN_WINDOW if slots is None else 0.010))
        end = monotonic() + PRESENCE
        while not (self.active and self.wait(self.put_policy(policy, int(seed), window))):
            if monotonic() > end:
                what = "did not answer" if self.active else f"is not attached: {self.reason}"
                return {"status": "error", "error": f"the decision service {what}"}
            await asyncio.sleep(0.05)
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

    def decisions(self) -> dict:
        """Return how many decisions were made since begin, and how long Dask waited for them.

        The times are added up here, when somebody asks, and not where they
        are taken.
        """
        stats = self.stats
        stats.blocked += sum(stats.asked[stats.summed :])
        stats.summed = len(stats.asked)
        return {
            "decisions": sum(stats.sources.values()),
            "fallbacks": stats.fallbacks,
            "blocked_s": stats.blocked / 1e9,
        }

    def tick(self) -> None:
        """Tell the service of the workers' metrics, and refresh what changes slowly."""
        scheduler = self.scheduler
        if self.active:
            for ws in list(scheduler.workers.values()):
                # Dask's idle and saturated sets serve scaling, not placement.
                ORIGINAL["check_idle_saturated"](scheduler, ws)
                scheduler.check_idle_saturated(ws)
        self.sweep()
        if self.connected:
            self.put_metrics()
            self.schedule()
