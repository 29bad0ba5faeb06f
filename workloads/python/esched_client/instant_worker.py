"""Workers that answer at once, to measure a scheduler alone.

``python -m esched_client.instant_worker --scheduler-file FILE --workers 24``
registers that many workers from one process. They execute nothing: each task
is reported as finished, with the result 0, as soon as it arrives, and nothing
is ever fetched from a peer. What a graph then takes is the cost of the client
and of the scheduler.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import pickle
import time

from distributed.comm.core import CommClosedError
from distributed.core import Server, Status, connect
from distributed.protocol import to_serialize
from distributed.security import Security
from distributed.versions import get_versions

from esched_client import address

INT = pickle.dumps(int)
SECONDS = 1e-5  # that a task claims to have taken: Dask's stealing divides by it

# What a worker without anything to tell reports of itself.
IDLE = {
    "task_counts": {},
    "bandwidth": {"total": 1e8, "workers": {}, "types": {}},
    "digests_total_since_heartbeat": {},
    "managed_bytes": 0,
    "spilled_bytes": {"memory": 0, "disk": 0},
    "transfer": {},
    "event_loop_interval": 0.02,
    "cpu": 0.0,
    "memory": 0,
    "time": 0.0,
    "host_net_io": {"read_bps": 0.0, "write_bps": 0.0},
    "host_disk_io": {"read_bps": 0.0, "write_bps": 0.0},
    "num_fds": 0,
}


class InstantWorker(Server):
    """One worker that finishes every task when it receives it."""

    def __init__(self, scheduler: str, name: str, host: str, nthreads: int, memory_limit: int) -> None:
        self.security = Security()  # what Dask's settings say of certificates
        self.connecting = self.security.get_connection_args("worker")
        super().__init__(
            {"get_data": self.get_data, "terminate": self.terminate, "esched_finished": self.count},
            connection_args=self.connecting,
        )
        self.interface = host
        self.scheduler_address = scheduler
        self.name = name
        self.nthreads = nthreads
        self.memory_limit = memory_limit
        self.finished = 0

    async def get_data(self, comm, keys=None, who=None, **kwargs):
        """Serve results: all are 0."""
        await comm.write({"status": "OK", "data": {k: to_serialize(0) for k in keys or ()}})
        await comm.read()
        return Status.dont_reply

    async def count(self, **kwargs):
        """Return the name of this worker and how many tasks it has finished."""
        return self.name, self.finished

    async def terminate(self, comm=None, **kwargs):
        """Stop when the scheduler closes."""
        self.stopped.set()
        return "OK"

    async def run(self) -> None:
        """Register and answer until the scheduler goes away."""
        self.stopped = asyncio.Event()
        protocol = self.scheduler_address.partition("://")[0]
        await self.listen(f"{protocol}://{self.interface}:0", **self.security.get_listen_args("worker"))
        comm = await connect(self.scheduler_address, deserialize=False, **self.connecting)
        await comm.write(self.registration(), serializers=["msgpack"])
        reply = await comm.read(deserializers=["msgpack"])
        if reply["status"] != "OK":
            raise RuntimeError(f"scheduler refused worker {self.name}: {reply}")
        await comm.write(
            {"op": "worker-status-change", "status": "running", "stimulus_id": f"instant-{time.time()}"}
        )
        with contextlib.suppress(CommClosedError):
            while True:
                msgs = await comm.read()
                out = self.answer(msgs if isinstance(msgs, (list, tuple)) else [msgs])
                if out:
                    await comm.write(out)

    def registration(self) -> dict:
        """Return the message that introduces a worker."""
        return {
            "op": "register-worker",
            "reply": False,
            "address": self.address,
            "status": "init",
            "nthreads": self.nthreads,
            "name": self.name,
            "now": time.time(),
            "resources": {},
            "memory_limit": self.memory_limit,
            "local_directory": "",
            "services": {},
            "nanny": None,
            "pid": os.getpid(),
            "versions": get_versions(),
            "metrics": IDLE,
            "extra": {},
            "stimulus_id": f"worker-connect-{time.time()}",
            "server_id": self.id,
        }

    def answer(self, msgs) -> list:
        """Return the messages that answer those of the scheduler."""
        out = []
        now = time.time()
        for msg in msgs:
            op = msg.get("op")
            if op == "compute-task":
                self.finished += 1
                out.append(
                    {
                        "op": "task-finished",
                        "key": msg["key"],
                        "run_id": msg["run_id"],
                        "nbytes": 28,
                        "type": INT,
                        "typename": "int",
                        "metadata": {},
                        "thread": 1,
                        "startstops": [{"action": "compute", "start": now, "stop": now + SECONDS}],
                        "status": "OK",
                        "stimulus_id": f"task-finished-{now}",
                    }
                )
            elif op == "steal-request":
                out.append(
                    {
                        "op": "steal-response",
                        "key": msg["key"],
                        "state": "executing",
                        "stimulus_id": msg["stimulus_id"],
                    }
                )
        return out


async def serve(scheduler: str, args) -> None:
    """Run all workers until the first of them loses the scheduler."""
    workers = [
        InstantWorker(scheduler, f"{args.name}{i}", args.host, args.nthreads, args.memory_limit)
        for i in range(args.workers)
    ]
    tasks = [asyncio.create_task(w.run()) for w in workers]
    done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    for task in done:
        task.result()


def main() -> None:
    """Wait for the scheduler's file, then serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheduler-file", required=True)
    parser.add_argument("--workers", type=int, default=24)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--nthreads", type=int, default=1)
    parser.add_argument("--memory-limit", type=int, default=1 << 30)
    parser.add_argument("--name", default="instant-w")
    parser.add_argument("--wait", type=float, default=30.0, help="seconds to wait for the scheduler file")
    args = parser.parse_args()
    asyncio.run(serve(address.wait_for(args.scheduler_file, args.wait), args))


if __name__ == "__main__":
    main()
