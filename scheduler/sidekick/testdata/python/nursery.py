"""Worker processes by fork: each costs milliseconds, not an interpreter's start.

A nursery is forked off before any thread exists. It imports Dask once, forks a
worker for each line it reads, and ends all of them when its pipe closes, so
that nothing outlives the test, however that ends.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import signal
import sys

import distributed


class Nursery:
    """The parent's handle on the process that forks workers."""

    def __init__(self, scheduler_file: str, directory: str) -> None:
        ask, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        self.pids: dict[str, int] = {}
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._ask)
            os.close(self._answer)
            try:
                _nurse(ask, answer, scheduler_file, directory)
            finally:
                os._exit(0)
        os.close(ask)
        os.close(answer)
        self._in = os.fdopen(self._answer)

    def add(self, name: str, **options) -> int:
        """Start a worker and return its process id."""
        os.write(self._ask, (json.dumps({"name": name, **options}) + "\n").encode())
        self.pids[name] = pid = int(self._in.readline())
        return pid

    def kill(self, name: str, sig: int = signal.SIGKILL) -> None:
        """Send a signal to a worker."""
        os.kill(self.pids[name], sig)

    def close(self) -> None:
        """End all workers."""
        os.close(self._ask)
        os.waitpid(self._pid, 0)


def _nurse(ask: int, answer: int, scheduler_file: str, directory: str) -> None:
    faulthandler.enable()
    living: dict[int, str] = {}

    def reap(*_) -> None:
        """Forget who ended, as the number may be another process's next."""
        while living:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            name, code = living.pop(pid), os.waitstatus_to_exitcode(status)
            if code:
                print(f"worker {name} (process {pid}) ended with {code}", file=sys.stderr, flush=True)

    signal.signal(signal.SIGCHLD, reap)
    for line in os.fdopen(ask):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        options = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.close(answer)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            try:
                asyncio.run(_work(scheduler_file, directory, options))
            except BaseException as e:
                print(f"worker {line.strip()}: {e!r}", file=sys.stderr, flush=True)
            os._exit(0)
        living[pid] = options["name"]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        os.write(answer, f"{pid}\n".encode())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in living:  # those that ended meanwhile are not reaped and keep their numbers
        os.kill(pid, signal.SIGKILL)


async def _work(scheduler_file: str, directory: str, options: dict) -> None:
    worker = distributed.Worker(
        scheduler_file=scheduler_file, local_directory=directory, dashboard=False, host="127.0.0.1", **options
    )
    async with worker:
        await worker.finished()
