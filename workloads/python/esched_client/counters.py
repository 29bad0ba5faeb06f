"""Counters that are kept anyway, read before and after a trial."""

from esched_client import memory


class Executing:
    """What Dask's own workers did since."""

    def __init__(self, client):
        self.client = client
        self.before = read(client, anew=True)

    def since(self):
        """Return what happened since, as fields of a response."""
        return difference(self.before, read(self.client))


class Instant:
    """What workers that execute nothing finished since.

    They cannot be asked to run a function, and move no data.
    """

    def __init__(self, client):
        self.client = client
        self.before = finished(client)

    def since(self):
        """Return what happened since, as fields of a response."""
        now = finished(self.client)
        tasks = {name: count - self.before.get(name, 0) for name, count in now.items()}
        worked = sorted(name for name, count in tasks.items() if count > 0)
        return {"tasks": sum(tasks.values()), "bytes_moved": 0, "per_worker": [], "worked": worked}


def finished(client):
    """Return the number of tasks that each instant worker has finished, by its name."""
    answers = client.sync(client.scheduler.broadcast, msg={"op": "esched_finished"})
    return dict(answers.values())


def read_worker(anew, dask_worker=None):
    """Return a worker's counters since it started; runs on the worker.

    ``bytes`` is what the worker sent to peers, and, where results are
    gathered from it, to the client. ``peak`` is the most memory that the worker
    had since the last reading that began ``anew``.
    """
    peak = memory.peak()
    if anew:
        memory.reset()
    busy = 0.0
    for key, value in list(dask_worker.digests_total.items()):
        # ("execute", prefix, activity, unit), in some versions with a span
        # between the first two.
        if (
            isinstance(key, tuple)
            and len(key) >= 4
            and key[0] == "execute"
            and key[-1] == "seconds"
            and key[-2] in ("thread-cpu", "thread-noncpu")
        ):
            busy += value
    return {
        "worker": str(dask_worker.name),
        "host": dask_worker.address.rpartition("://")[2].rpartition(":")[0],
        "tasks": dask_worker.state.executed_count,
        "busy_s": busy,
        "bytes": dask_worker.transfer_outgoing_bytes_total,
        "peak": peak,
        "limit": dask_worker.memory_manager.memory_limit or 0,
    }


def count_tasks(dask_scheduler=None):
    """Return the number of tasks the scheduler knows; runs on the scheduler."""
    return len(dask_scheduler.tasks)


def read(client, anew=False):
    """Return the counters of all workers by address."""
    return client.run(read_worker, anew)


def difference(before, after):
    """Return what happened between two readings, as fields of a response.

    Workers that came in between count from zero; of workers that left
    nothing is known.
    """
    shares, moved = [], 0
    for address, now in after.items():
        then = before.get(address, {"tasks": 0, "busy_s": 0.0, "bytes": 0})
        moved += now["bytes"] - then["bytes"]
        shares.append(
            {
                "worker": now["worker"],
                "host": now["host"],
                "tasks": now["tasks"] - then["tasks"],
                "busy_s": max(0.0, now["busy_s"] - then["busy_s"]),
                "peak_bytes": now["peak"],
                "limit_bytes": now["limit"],
            }
        )
    shares.sort(key=lambda share: share["worker"])
    return {
        "tasks": sum(share["tasks"] for share in shares),
        "bytes_moved": moved,
        "per_worker": shares,
    }
