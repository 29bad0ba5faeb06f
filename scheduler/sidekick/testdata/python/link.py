"""Checks of the preload's own bookkeeping, against a real scheduler.

Usage: link.py PRELOAD

The scheduler runs in this process, and the checks play the service at the
other end of the socket, so that they decide when it reads and what it says.
Prints a JSON line for each check: its name and, when it failed, the error.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import json
import logging
import os
import socket
import struct
import sys
import tempfile
import traceback

import distributed
from distributed.scheduler import TaskState

CHECKS = []


def check(function):
    """Register a check."""
    CHECKS.append(function)
    return function


def load(path: str):
    """Import the preload from its file."""
    spec = importlib.util.spec_from_file_location("esched_preload", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Service:
    """The other end of the link."""

    def __init__(self, conn: socket.socket) -> None:
        self.conn = conn
        conn.settimeout(20)

    def frame(self) -> bytes:
        """Read one frame."""
        (n,) = struct.unpack("<I", self.exactly(4))
        return self.exactly(n)

    def exactly(self, n: int) -> bytes:
        """Read n bytes."""
        data = b""
        while len(data) < n:
            more = self.conn.recv(n - len(data))
            assert more, "the link was closed"
            data += more
        return data

    def say(self, kind: int, worker: int = 0, id: int = 0, status: int = 0) -> None:
        """Send one record."""
        self.conn.send(struct.pack("<BBHI", kind, status, worker, id))


class World:
    """A scheduler with a link, attached to a service that the check plays."""

    def __init__(self, module, scheduler, listener, path) -> None:
        self.module, self.scheduler, self.listener = module, scheduler, listener
        self.link = module.Link(scheduler, path)
        scheduler._esched = self.link
        self.service: Service | None = None
        self.tasks = 0

    async def attach(self) -> None:
        """Go live."""
        self.link.attach()
        self.service = Service(self.listener.accept()[0])
        self.service.frame()
        self.service.say(self.module.END, id=self.link.awaited)
        for _ in range(2000):
            if self.link.active:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the link did not go live")

    def task(self) -> TaskState:
        """Make a task."""
        self.tasks += 1
        return self.scheduler.new_task(f"task-{self.tasks}", None, "released")

    def worker(self, name: str):
        """Make a worker's state."""
        return distributed.scheduler.WorkerState(
            address=f"tcp://127.0.0.1:{name}",
            pid=0,
            name=name,
            nthreads=1,
            memory_limit=0,
            local_directory="",
            nanny="",
            server_id=name,
            status=distributed.core.Status.running,
        )

    def forget(self, ts) -> None:
        """Have a task forgotten."""
        ts.state = "forgotten"
        self.link.note(ts, "released", {})


@check
async def ids_wait_for_replies(world) -> None:
    """An id is used again only when no reply on its way can mean the old task."""
    await world.attach()
    link = world.link
    old = [link.id(world.task()) for _ in range(5000)]
    for i in old:
        world.forget(link.tasks[i])
    fresh = [link.id(world.task()) for _ in range(5000)]
    assert not set(old) & set(fresh)
    request = link.put_request(world.module.SYNC)
    late = link.id(world.task())
    world.forget(link.tasks[late])
    link.flush()
    world.service.say(world.module.END, id=request)
    while link.ended != request:
        link.drain()
    reused = {link.id(world.task()) for _ in range(6000)}
    assert set(old) <= reused and late not in reused


@check
async def workers_come_and_go(world) -> None:
    """Numbers of workers are used again, those of living workers are not."""
    await world.attach()
    link = world.link
    first = link.mate(world.worker("1"))
    link.next_worker = 0xFFFF - 1
    have = [link.mate(world.worker(str(n))).id for n in range(2, 5)]
    assert have == [0xFFFF, 2, 3], have
    assert link.by_id[1] is first
    link.fail("test")
    link.loop.call_soon(link.retry.cancel)
    assert link.mate(world.worker("9")).id == 1  # a new connection counts anew


@check
async def large_graph(world) -> None:
    """A graph larger than the limit of the backlog is sent; more than it is not."""
    await world.attach()
    link, module = world.link, world.module
    module.MAX_FRAME, module.PART, module.MAX_BACKLOG = 1 << 16, 1 << 10, 1 << 18
    link.allowed = module.MAX_BACKLOG
    tasks = [world.task() for _ in range(40_000)]
    for a, b in itertools.pairwise(tasks):
        b.add_dependency(a)
    link.put_graph(tasks)
    link.flush()
    assert link.active, link.reason
    left = len(link.backlog)
    assert left > 2 * module.MAX_BACKLOG, left
    frames = known = 0
    while known < len(tasks):
        world.service.conn.settimeout(0.05)
        link.flush()
        frame = world.service.frame()
        assert len(frame) < 2 * module.MAX_FRAME, len(frame)
        frames += 1
        at = 0
        while at < len(frame):  # records of graphs only
            kind, n = struct.unpack_from("<BI", frame, at)
            assert kind == module.GRAPH
            at += 5
            for _ in range(n):
                i, _, _, _, _, deps = struct.unpack_from("<IIifII", frame, at)
                known += 1
                assert i == known, (i, known)
                at += 24 + 4 * deps
    assert frames > 10, frames
    link.flush()
    assert link.active and not link.backlog and link.allowed == module.MAX_BACKLOG
    for _ in range(200_000):  # 5 bytes each, which nobody reads
        link.emit(module.R_TASK(module.QUEUED, 1))
        if not link.active:
            break
    assert not link.active and "does not read" in link.reason, link.reason


@check
async def attempts_become_rare(world) -> None:
    """A service that does not last is tried less and less often; an absent one is not spared."""
    link, module = world.link, world.module
    waits = []
    for _ in range(7):
        await world.attach()
        waits.append(link.pause)
        link.fail("test")
        link.retry.cancel()
    assert waits == [1, 2, 4, 8, 16, 16, 16], waits
    await world.attach()
    link.since -= module.STEADY + 1
    link.fail("it lasted")
    link.retry.cancel()
    assert link.pause == 2 * module.RETRY, link.pause
    world.listener.close()
    os.unlink(link.path)
    link.attach()
    link.retry.cancel()
    assert link.pause == module.RETRY, link.pause


@check
async def new_policy(world) -> None:
    """What was said of hints and reservations before a new policy is void, what comes after it is not."""
    await world.attach()
    link, module = world.link, world.module
    mate = link.mate(world.worker("1"))
    old, new = world.task(), world.task()
    for ts in old, new:
        link.id(ts)
    for ts in old, new:
        world.service.say(module.HINT, mate.id, link.ids[ts.key])
        world.service.say(module.NEXT, mate.id, link.ids[ts.key])
        if ts is old:
            world.service.say(module.ANEW)
    while new not in mate.next:
        link.drain()
    assert list(mate.next) == [new] and list(link.hints) == [new.key]


@check
async def nothing_is_kept(world) -> None:
    """Tasks that were cancelled in the queue, and groups that ended, are let go."""
    await world.attach()
    link = world.link
    mate = link.mate(world.worker("1"))
    stays, goes = world.task(), world.task()
    stays.state, goes.state = "queued", "forgotten"
    mate.next += [goes, stays]
    ended = world.scheduler.new_task("ended-1", None, "released").group
    link.rooted = {stays.group: True, ended: True}
    del world.scheduler.task_groups[ended.name]
    link.sweep()
    assert list(mate.next) == [stays] and list(link.rooted) == [stays.group]


@check
async def groups_end_with_the_service(world) -> None:
    """Finished tasks are grouped only while the service decides."""

    class Comm:
        async def read(self):
            return [{"op": "task-finished", "key": k, "stimulus_id": "s", "run_id": 0} for k in "ab"]

    await world.attach()
    comm = world.module.Grouped(Comm(), world.link)
    (group,) = await comm.read()
    assert group["op"] == "esched-tasks-finished" and len(group["msgs"]) == 2
    world.link.fail("test")
    world.link.retry.cancel()
    assert len(await comm.read()) == 2
    seen = []
    scheduler = world.scheduler
    scheduler.workers["w"] = None
    scheduler.handle_task_finished = lambda **msg: seen.append(msg["key"])
    try:
        world.module.tasks_finished(scheduler, "w", group["msgs"])
    finally:
        del scheduler.workers["w"], scheduler.handle_task_finished
    assert seen == ["a", "b"], seen


async def main() -> None:
    """Run each check with a scheduler of its own."""
    logging.disable(logging.WARNING)
    module = load(sys.argv[1])
    constants = {k: v for k, v in vars(module).items() if k.isupper()}
    for function in CHECKS:
        vars(module).update(constants)
        error = ""
        with tempfile.TemporaryDirectory(prefix="es") as directory:
            path = directory + "/s"
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(path)
                listener.listen()
                listener.settimeout(20)
                async with distributed.Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
                    world = World(module, scheduler, listener, path)
                    try:
                        await asyncio.wait_for(function(world), 60)
                    except Exception:
                        error = traceback.format_exc()
                    world.link.close()
                    scheduler._esched = None
                    scheduler.tasks.clear()
        print(json.dumps({"name": function.__name__, "error": error}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
