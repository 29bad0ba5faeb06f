"""Frames to the service and from it, the deadline for an answer, and what is counted.

All is called from the scheduler's event loop, and nothing waits but ``wait``.
"""

from __future__ import annotations

import asyncio
import select
import struct
from abc import ABC, abstractmethod
from time import monotonic

from .wire import HEAD, POLICY, R_LENGTH, R_POLICY, R_TASK

DEADLINE = 0.2  # s to wait for an answer, plus
DEADLINE_PER_TASK = 2e-4  # s for each task that the service may still have to read
MISSES = 3  # missed deadlines in a row until the breaker opens
FLUSH = 0.005  # s that a record may wait for others
FLUSH_BYTES = 1024
MAX_BACKLOG = 64 << 20  # bytes unsent, besides graphs, before the service counts as dead
SAMPLES = 1 << 22  # latencies kept of one measured stretch


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
        self.blocked = self.summed = 0  # the sum of asked, up to this index


def pack_ns(values: list[int]) -> bytes:
    """Pack nanoseconds as little-endian u32, larger ones cut."""
    return struct.pack(f"<{len(values)}I", *(min(v, 0xFFFFFFFF) for v in values))


class Channel(ABC):
    """One connection to the decision service, at a time.

    ``connected`` says that records flow; ``active`` that the service decides.
    What arrives, and a loss, are for the subclasses to handle.
    """

    def __init__(self, scheduler, path: str) -> None:
        self.scheduler = scheduler
        self.path = path
        self.loop = asyncio.get_running_loop()
        self.connected = self.active = False
        self.sock = self.poll = None
        self.stats = Stats()
        self.request = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything that belongs to one connection."""
        self.buf = bytearray(HEAD)  # the frame that is being collected
        self.backlog = bytearray()  # frames that are not sent yet
        self.allowed = MAX_BACKLOG
        self.partial = b""
        self.scheduled = self.hurried = False
        self.spent: list[int] = []  # ids that replies on their way may name
        self.fence, self.fenced = 0, []  # a request, and the ids that its end frees
        self.ended = self.refused = 0
        self.missed = 0
        self.unread = 0  # tasks sent since the last answer

    @abstractmethod
    def absorb(self, data: bytes) -> None:
        """Take in records of the service."""

    @abstractmethod
    def fail(self, reason) -> None:
        """Open the breaker: Dask decides until the service can be reached again."""

    # ---- sending ----

    def seal(self) -> None:
        """End the frame that is being collected."""
        buf = self.buf
        R_LENGTH(buf, 0, len(buf) - len(HEAD))
        if self.backlog:
            self.backlog += buf
        else:
            self.backlog = buf
        self.buf = bytearray(HEAD)

    def flush(self) -> None:
        """Send what was collected, without waiting."""
        self.scheduled = self.hurried = False
        if not self.connected:
            return
        try:
            if len(self.buf) > len(HEAD):
                self.seal()
            backlog = self.backlog
            if not backlog:
                return
            try:
                sent = self.poll.send(backlog)
            except BlockingIOError:
                sent = 0
            if sent == len(backlog):
                self.backlog = bytearray()
                self.allowed = MAX_BACKLOG
            else:
                del backlog[:sent]  # moves the start, not the bytes
            # Hints that are read now cost nothing when they are needed; and a
            # service that cannot send does not read.
            self.drain()
            if len(self.backlog) > self.allowed:
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

    def number(self) -> int:
        """Return the number of a new request.

        Its end tells that the service has read all before it, so that no reply
        names the ids that were forgotten by now.
        """
        self.request = self.request % 0x7FFFFFFF + 1
        if not self.fence and self.spent:
            self.fence = self.request
            self.fenced, self.spent = self.spent, []
        return self.request

    def put_request(self, kind: int) -> int:
        """Collect a request without content and return its number."""
        request = self.number()
        self.buf += R_TASK(kind, request)
        return request

    def put_policy(self, policy: str, seed: int, window: float) -> int:
        """Collect the choice of a policy."""
        request = self.number()
        name = policy.encode()[:255]
        self.buf += R_POLICY(POLICY, request, seed & (2**64 - 1), window, len(name)) + name
        return request

    # ---- receiving ----

    def take(self, sock) -> bool:
        """Take in what has arrived; False when nothing did, or the service is lost."""
        try:
            data = sock.recv(1 << 18)
            if not data:
                raise ConnectionError("the service closed the connection")
            self.absorb(data)
        except (BlockingIOError, TimeoutError):
            return False
        except Exception as e:
            self.fail(e)
            return False
        return True

    def drain(self) -> bool:
        """Take in what the service has sent, without waiting."""
        return self.take(self.poll)

    def wait(self, request: int) -> bool:
        """Wait for the end of a request; False when the deadline passed."""
        end = monotonic() + DEADLINE + DEADLINE_PER_TASK * self.unread
        self.flush()
        while self.connected and self.ended != request:
            left = end - monotonic()
            if left <= 0:
                break
            if self.backlog:
                # More than the socket's buffer takes: send and read in turns.
                ready = select.poll()
                ready.register(self.sock, select.POLLIN | select.POLLOUT)
                ready.poll(left * 1000)
                self.flush()
                continue
            self.sock.settimeout(left)
            if not self.take(self.sock):
                break
        if not self.connected:
            return False
        if self.ended == request:
            self.missed = self.unread = 0
            return True
        self.stats.misses += 1
        self.missed += 1
        if self.missed >= MISSES:
            self.fail(f"{self.missed} answers in a row missed their deadline")
        return False
