"""Timelines: when the tasks of a trial were ready, ran, and fetched data.

A plugin in Dask's scheduler listens while the trial runs. It costs the
scheduler some microseconds a task, so trials have none unless asked.
"""

import base64
import gzip
import json
import time

from distributed.diagnostics.plugin import SchedulerPlugin

#: Version of the lines.
SCHEMA = 1


class Timeline(SchedulerPlugin):
    """Notes at most so many tasks, evenly spread over all, and sums over all.

    Times are seconds of the scheduler's clock, which workers adjust theirs to.
    """

    name = "esched-timeline"

    def __init__(self, scheduler, bound):
        self.scheduler = scheduler
        self.bound = bound
        self.begin = None
        self.every = 1
        self.tasks = 0
        self.work = self.moving = 0.0
        self.ready = {}
        self.paths = {}
        self.rows = []
        self.prefixes, self.workers = {}, {}

    def transition(self, key, start, finish, *args, **kwargs):
        """Note when a task became ready and what its end tells."""
        now = time.time()
        if self.begin is None:
            self.begin = now
        if start == "waiting":
            self.ready.setdefault(key, now)
        elif finish == "memory" and start == "processing":
            self.finished(key, kwargs.get("worker"), kwargs.get("startstops") or ())

    def finished(self, key, worker, spans):
        """Note a task that a worker has executed."""
        task = self.scheduler.tasks.get(key)
        computed = [span for span in spans if span["action"] == "compute"]
        if task is None or not computed:
            return
        first, last = computed[0]["start"], computed[-1]["stop"]
        duration = sum(span["stop"] - span["start"] for span in computed)
        transfers = [(span["start"], span["stop"]) for span in spans if span["action"] == "transfer"]
        self.work += duration
        self.moving += sum(stop - start for start, stop in transfers)
        before = max((self.paths.get(other.key, 0.0) for other in task.dependencies), default=0.0)
        self.paths[key] = before + duration
        ready = self.ready.pop(key, first)
        self.tasks += 1
        if (self.tasks - 1) % self.every:
            return
        if len(self.rows) >= self.bound:
            self.rows = self.rows[::2]
            self.every *= 2
            if (self.tasks - 1) % self.every:
                return
        prefix = self.prefixes.setdefault(task.prefix.name, len(self.prefixes))
        place = self.workers.setdefault(worker, len(self.workers))
        self.rows.append((prefix, place, ready, first, last, transfers))

    def lines(self):
        """Return a line of sums and one for each noted task, compressed."""
        zero = self.begin or 0.0

        def since(moment):
            return round(moment - zero, 6)

        known = self.scheduler.workers
        head = {
            "schema": SCHEMA,
            "tasks": self.tasks,
            "every": self.every,
            "work_s": self.work,
            "transfer_s": self.moving,
            "path_s": max(self.paths.values(), default=0.0),
            "prefixes": list(self.prefixes),
            "workers": [str(known[address].name) if address in known else address for address in self.workers],
        }
        rows = (
            [prefix, place, since(ready), since(first), since(last)]
            + [[since(moment) for span in transfers for moment in span]]
            for prefix, place, ready, first, last, transfers in self.rows
        )
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [head, *rows])
        return gzip.compress(text.encode(), 6)


def begin(bound, dask_scheduler=None):
    """Begin to listen; runs on the scheduler."""
    dask_scheduler.add_plugin(Timeline(dask_scheduler, bound), name=Timeline.name)


def end(dask_scheduler=None):
    """Stop to listen and return the lines; runs on the scheduler."""
    plugin = dask_scheduler.plugins.get(Timeline.name)
    if plugin is None:  # the scheduler was restarted
        return b""
    dask_scheduler.remove_plugin(name=Timeline.name)
    return plugin.lines()


class Traced:
    """Listens within a with statement, if the request wants it; response has what was noted."""

    def __init__(self, client, request):
        self.client, self.bound = client, request.get("trace", 0)
        self.response = {}

    def __enter__(self):
        if self.bound > 0:
            self.client.run_on_scheduler(begin, self.bound)
        return self

    def __exit__(self, *problem):
        if self.bound > 0:
            lines = self.client.run_on_scheduler(end)
            self.response = {"timeline": base64.b64encode(lines).decode()} if lines else {}
