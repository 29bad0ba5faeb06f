"""Scenarios on one deployment: the right results, and every placement esched's.

Usage: scenarios.py SCHEDULER_FILE DIRECTORY POLICY SLOTS [NAME...]

Prints a JSON line for each scenario. A scenario is right when its own
assertions hold, when the placements in Dask's transition log are as many as
esched's decisions, when nothing fell back to Dask, and when neither side
remembers anything afterwards.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd
from distributed import Client, get_client, rejoin, secede, wait, worker_client
from nursery import Nursery

SCENARIOS: dict = {}


def scenario(function):
    """Register a scenario under its function's name."""
    SCENARIOS[function.__name__] = function
    return function


class Stage:
    """What a scenario acts on."""

    def __init__(self, client, nursery, file: str, directory: str) -> None:
        self.directory = directory
        self.client = client
        self.nursery = nursery
        self.file = file
        self.late = 0

    def rpc(self, name: str, **kwargs):
        """Call a handler of the scheduler."""
        return self.client.sync(getattr(self.client.scheduler, name), **kwargs)

    def until(self, what: str, condition, bound: float = 20.0) -> None:
        """Poll a condition until it holds."""
        end = time.monotonic() + bound
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{what} not within {bound} s")
            time.sleep(0.01)

    def worker(self, **options) -> str:
        """Start one more worker and return its name."""
        self.late += 1
        name = f"late{self.late}"
        self.nursery.add(name, nthreads=options.pop("nthreads", 1), **options)
        return name

    def address(self, name: str) -> str:
        """Return the address of a worker, waiting until it is there."""
        found: list = []

        def there() -> bool:
            workers = self.client.scheduler_info(**ALL)["workers"]
            found[:] = [a for a, w in workers.items() if w["name"] == name]
            return bool(found)

        self.until(f"worker {name}", there)
        return found[0]

    def gone(self, address: str) -> None:
        """Wait until a worker is gone."""
        self.until(f"end of {address}", lambda: address not in self.client.scheduler_info(**ALL)["workers"])

    def retire(self, name: str) -> None:
        """Let an extra worker go."""
        address = self.address(name)
        self.client.retire_workers([address], close_workers=True)
        self.gone(address)


ALL = {"n_workers": -1} if "n_workers" in Client.scheduler_info.__code__.co_varnames else {}


def inc(x, delay=0.0):
    """Add one, after a while."""
    time.sleep(delay)
    return x + 1


def add(*xs):
    """Sum the arguments."""
    return sum(xs)


def total(xs):
    """Sum a list."""
    return sum(xs)


def where(*_args, delay=0.0):
    """Return the address of the worker that runs this."""
    time.sleep(delay)
    return distributed.get_worker().address


def placements(dask_scheduler):
    """Count the placements in Dask's own log."""
    return sum(1 for t in dask_scheduler.transition_log if t.finish == "processing" != t.start)


def remains(dask_scheduler):
    """Say what either side still remembers of tasks."""
    link = dask_scheduler._esched
    known = {
        "tasks": len(dask_scheduler.tasks),
        "ids": len(link.ids),
        "by id": len(link.tasks),
        "hints": len(link.hints),
        "reserved": sum(1 for m in link.mates.values() for ts in m.next if ts.key in dask_scheduler.tasks),
        "mates": len(link.mates) - len(dask_scheduler.workers),
        "mates by id": len(link.by_id) - len(link.mates),
    }
    return {k: v for k, v in known.items() if v}


# ---- shapes of graphs ----


@scenario
def merge(s):
    """Many root tasks, late bound, and one that takes them all."""
    n = 300
    g = {("merge", i): (inc, i) for i in range(n)}
    g["merge-sum"] = (total, [("merge", i) for i in range(n)])
    assert s.client.get(g, "merge-sum") == n * (n + 1) // 2


@scenario
def few(s):
    """Tasks without inputs, too few to be queued."""
    assert s.client.gather(s.client.map(inc, range(3), key="few")) == [1, 2, 3]


@scenario
def many(s):
    """Tasks without inputs, queued, without a task that takes them."""
    assert s.client.gather(s.client.map(inc, range(200), key="many")) == list(range(1, 201))


@scenario
def chains(s):
    """Linear chains: each task has one input, on one worker."""
    n, length = 7, 15
    g = {("chain-0", i): (inc, i) for i in range(n)}
    for k in range(1, length):
        g.update({(f"chain-{k}", i): (inc, (f"chain-{k - 1}", i)) for i in range(n)})
    assert s.client.get(g, [(f"chain-{length - 1}", i) for i in range(n)]) == [i + length for i in range(n)]


@scenario
def tree(s):
    """A binary reduction."""
    g = {("tree-0", i): (inc, i) for i in range(128)}
    for k in range(1, 8):
        for i in range(128 >> k):
            g[f"tree-{k}", i] = (add, (f"tree-{k - 1}", 2 * i), (f"tree-{k - 1}", 2 * i + 1))
    assert s.client.get(g, ("tree-7", 0)) == 128 * 129 // 2


@scenario
def task_shuffle(s):
    """Each output takes a part of each input."""
    n = 10
    g = {("in", i): (list, (range, i * n, i * n + n)) for i in range(n)}
    g.update({("part", i, j): (lambda xs, j: xs[j], ("in", i), j) for i in range(n) for j in range(n)})
    g.update({("out", j): (total, [("part", i, j) for i in range(n)]) for j in range(n)})
    assert s.client.get(g, [("out", j) for j in range(n)]) == [sum(range(j, n * n, n)) for j in range(n)]


@scenario
def fan_in(s):
    """One task with very many inputs, some of them large."""
    xs = s.client.map(lambda i: bytes(i * 10), range(400), key="fan-in")
    assert s.client.submit(lambda xs: sum(map(len, xs)), xs).result() == 10 * 399 * 400 // 2


@scenario
def p2p_shuffle(s):
    """A data frame's shuffle and merge as Dask does it by default."""
    frame = pd.DataFrame({"k": [i * 7 % 13 for i in range(600)], "v": range(600)})
    d = dd.from_pandas(frame, npartitions=8)
    shuffled = d.shuffle("k", npartitions=6).compute()
    assert sorted(shuffled.v) == list(range(600))
    joined = d.merge(d.rename(columns={"v": "w"}), on="k").groupby("k").v.count().compute()
    want = frame.merge(frame.rename(columns={"v": "w"}), on="k").groupby("k").v.count()
    assert joined.sort_index().tolist() == want.tolist()


# ---- who may run it ----


@scenario
def no_worker(s):
    """A task that no worker may run, until one appears."""
    late = s.client.submit(where, resources={"late": 1}, key="late", pure=False)
    after = s.client.submit(lambda x: x, late, key="after-late")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    pinned = s.client.submit(where, workers=[address], key="pinned", pure=False)
    s.until("no-worker", lambda: s.client.run_on_scheduler(unrunnable) == 2)
    a = s.worker(resources={"late": 1})
    b = s.worker(port=port)
    assert after.result(timeout=20) == s.address(a)
    assert pinned.result(timeout=20) == s.address(b) == address
    del late, after, pinned
    s.retire(a)
    s.retire(b)


def unrunnable(dask_scheduler):
    """Count the tasks that no worker may run."""
    return sum(1 for ts in dask_scheduler.tasks.values() if ts.state == "no-worker")


@scenario
def restrictions(s):
    """Tasks bound to workers, to a host, or only loosely."""
    a, b = s.address("w0"), s.address("w1")
    one = s.client.map(where, range(30), workers=["w0"], key="one", pure=False)
    two = s.client.map(where, range(30), workers=[a, b], key="two", pure=False)
    host = s.client.map(where, range(30), workers=["127.0.0.1"], key="host", pure=False)
    loose = s.client.submit(where, workers=["tcp://127.0.0.1:9"], allow_other_workers=True, pure=False)
    assert set(s.client.gather(one)) == {a}
    assert set(s.client.gather(two)) <= {a, b}
    assert set(s.client.gather(host)) <= set(s.client.scheduler_info(**ALL)["workers"])
    assert loose.result(timeout=10) in s.client.scheduler_info(**ALL)["workers"]


def alone(name, delay):
    """Check that no other task with the same resource runs in this process."""
    worker = distributed.get_worker()
    marks = worker.__dict__.setdefault("esched_marks", [])
    marks.append(name)
    assert len(marks) == 1, marks
    time.sleep(delay)
    marks.remove(name)
    return worker.name


@scenario
def resources(s):
    """Tasks that need a resource of which a worker has one."""
    got = s.client.map(alone, range(10), delay=0.01, resources={"gpu": 1}, key="gpu")
    assert set(s.client.gather(got)) <= {"w2", "w3"}


class Counter:
    """An actor."""

    def __init__(self):
        self.n = 0

    def more(self):
        """Count."""
        self.n += 1
        return self.n


@scenario
def actors(s):
    """State that lives on a worker."""
    counters = [s.client.submit(Counter, actor=True, pure=False) for _ in range(3)]
    for c in [f.result() for f in counters]:
        assert [c.more().result() for _ in range(4)] == [1, 2, 3, 4]
        del c
    del counters


# ---- tasks that do more than compute ----


def secedes(x):
    """Leave the thread pool, and come back."""
    secede()
    time.sleep(0.02)
    rejoin()
    return x + 1


def nested(n):
    """Run tasks from within a task."""
    with worker_client() as c:
        return sum(c.gather(c.map(inc, range(n), pure=False)))


def waits(x):
    """Wait for a task of one's own, without a thread."""
    c = get_client()
    f = c.submit(inc, x, pure=False)
    secede()
    return f.result()


@scenario
def long_running(s):
    """Tasks that leave the thread pool; tasks that submit tasks."""
    a = s.client.map(secedes, range(20), key="secedes")
    b = s.client.map(nested, [5] * 4, key="nested", pure=False)
    c = s.client.map(waits, range(6), key="waits")
    assert s.client.gather(a) == list(range(1, 21))
    assert s.client.gather(b) == [15] * 4
    assert s.client.gather(c) == list(range(1, 7))


@scenario
def several_clients(s):
    """Graphs of several clients at once."""
    results: dict = {}

    def drive(k):
        with Client(scheduler_file=s.file, set_as_default=False) as c:
            futures = [c.map(inc, range(50), key=f"multi-{k}-{r}") for r in range(3)]
            results[k] = [sum(c.gather(f)) for f in futures]

    threads = [threading.Thread(target=drive, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(40)
    assert results == {k: [1275] * 3 for k in range(3)}, results


# ---- data that is there already ----


@scenario
def scattered(s):
    """Data placed by the client, to the workers or through the scheduler."""
    a = s.client.scatter(list(range(20)), direct=False)
    b = s.client.scatter(list(range(20)), direct=True)
    c = s.client.scatter(100, broadcast=True)
    f = [s.client.submit(add, x, y, c, pure=False) for x, y in zip(a, b, strict=True)]
    assert s.client.gather(f) == [2 * i + 100 for i in range(20)]


@scenario
def persisted(s):
    """Results that stay, are used by two graphs, and are computed again."""
    x = da.arange(4000, chunks=40).persist()
    assert int(x.sum().compute()) == 3999 * 2000
    assert int((x + 1).sum().compute()) == 3999 * 2000 + 4000
    del x
    for _ in range(2):  # the same keys once more
        f = s.client.map(inc, range(60), key="again")
        assert sum(s.client.gather(f)) == 1830
        del f
    held = s.client.submit(inc, 1, key="held")
    wait(held)
    assert s.client.submit(inc, held, key="uses-held").result() == 3
    del held


@scenario
def published(s):
    """Results shared under a name."""
    f = s.client.submit(inc, 41, key="published")
    s.client.publish_dataset(answer=f)
    del f
    assert s.client.get_dataset("answer").result() == 42
    s.client.unpublish_dataset("answer")


@scenario
def moved(s):
    """Results copied, spread, and saved from a worker that leaves."""
    f = s.client.map(inc, range(20), key="moved", workers=["w0"], allow_other_workers=False)
    wait(f)
    s.client.replicate(f[:5], n=2)
    s.client.rebalance(f)
    extra = s.worker()
    address = s.address(extra)
    g = s.client.map(inc, f, key="on-extra", workers=[address])
    wait(g)
    s.client.retire_workers([address], close_workers=True)
    s.gone(address)
    h = s.client.map(inc, g, key="after-extra")
    assert s.client.gather(h) == [i + 3 for i in range(20)]


# ---- what users change their minds about ----


@scenario
def cancelled(s):
    """Tasks cancelled before, while and after they run."""
    f = s.client.map(inc, range(80), delay=0.02, key="cancelled")
    g = s.client.submit(total, f)
    wait(f[0])
    s.client.cancel(f[20:])
    s.until("cancelled", lambda f=g: f.status == "cancelled")
    assert s.client.gather(f[:5]) == [1, 2, 3, 4, 5]
    del f, g
    assert s.client.submit(inc, 1, pure=False).result() == 2


def breaks(x):
    """Raise."""
    raise ZeroDivisionError(x)


def flaky(x):
    """Raise at the first attempts on this worker's process."""
    worker = distributed.get_worker()
    tries = worker.__dict__.setdefault("esched_tries", {})
    tries[x] = tries.get(x, 0) + 1
    if tries[x] < 2:
        raise ValueError(x)
    return x


def fails_once(x, mark):
    """Raise unless a file is there, and make it."""
    if os.path.exists(mark):
        return x
    with open(mark, "w"):
        raise ValueError(x)


@scenario
def errors(s):
    """Errors reach dependents; retries mend some."""
    bad = s.client.map(breaks, range(30), key="bad")
    after = s.client.submit(total, bad, key="after-bad")
    # Not result(): the traceback of what it raises keeps this frame's futures.
    assert isinstance(after.exception(timeout=20), ZeroDivisionError)
    wait(bad)
    assert all(b.status == "error" for b in bad)
    tried = s.client.map(flaky, range(20), retries=20, key="flaky")
    assert s.client.gather(tried) == list(range(20))
    once = s.client.submit(fails_once, 1000, os.path.join(s.directory, "once"), key="once")
    wait(once)
    assert once.status == "error"
    once.retry()
    assert once.result(timeout=20) == 1000


@scenario
def priorities(s):
    """Urgent tasks overtake a long queue."""
    slow = s.client.map(inc, range(150), delay=0.02, key="slow")
    urgent = s.client.map(inc, range(5), priority=10, key="urgent")
    assert s.client.gather(urgent) == [1, 2, 3, 4, 5]
    assert sum(f.status == "pending" for f in slow) > 50
    assert sum(s.client.gather(slow)) == sum(range(1, 151))


@scenario
def annotated(s):
    """Annotations of a graph's parts."""
    a = s.address("w1")
    with dask.annotate(workers=["w1"], priority=3):
        x = dask.delayed(where, pure=False)()
    with dask.annotate(retries=3):
        y = dask.delayed(flaky)(99)
    with dask.annotate(resources={"gpu": 1}):
        z = dask.delayed(where, pure=False)()
    x, y, z = s.client.gather(s.client.compute([x, y, z], optimize_graph=False))
    assert x == a and y == 99 and z in (s.address("w2"), s.address("w3"))


# ---- workers that come, go and rest ----


@scenario
def worker_joins(s):
    """A worker added in the middle of a graph gets work."""
    f = s.client.map(where, range(200), delay=0.02, key="joins", pure=False)
    name = s.worker()
    address = s.address(name)
    assert address in s.client.gather(f)
    del f
    s.retire(name)


@scenario
def worker_rests(s):
    """A paused worker gets nothing new."""
    a = s.address("w0")
    f = s.client.map(where, range(150), delay=0.01, key="rests", pure=False)
    wait(f[:10])
    s.client.run(set_status, status="paused", workers=[a])
    s.until("paused", lambda: s.client.run_on_scheduler(status_of, a) == "paused")
    g = s.client.map(where, range(40), key="while-paused", pure=False)
    h = s.client.map(lambda x: (distributed.get_worker().address, x)[0], g, key="while-paused-2")
    got = set(s.client.gather(g)) | set(s.client.gather(h))
    s.client.run(set_status, status="running", workers=[a])
    assert a not in got
    assert len(s.client.gather(f)) == 150


def set_status(dask_worker, status):
    """Pause or resume this worker."""
    dask_worker.status = distributed.Status[status]
    dask_worker.memory_manager.memory_pause_fraction = False


def status_of(address, dask_scheduler):
    """Return the status that the scheduler knows of a worker."""
    return dask_scheduler.workers[address].status.name


@scenario
def worker_dies(s):
    """A worker killed in the middle of a graph, with results on it."""
    name = s.worker(nthreads=2)
    address = s.address(name)
    n = 120
    g = {("dies", i): (inc, i, 0.01) for i in range(n)}
    g.update({("dies-2", i): (inc, ("dies", i), 0.005) for i in range(n)})
    g["dies-sum"] = (total, [("dies-2", i) for i in range(n)])
    f = s.client.get(g, "dies-sum", sync=False)
    s.until("results on it", lambda: s.client.run_on_scheduler(stored, address) >= 3)
    s.nursery.kill(name, signal.SIGKILL)
    assert f.result(timeout=40) == sum(range(n)) + 2 * n
    s.gone(address)


def stored(address, dask_scheduler):
    """Count the results on a worker."""
    return len(dask_scheduler.workers[address].has_what)


@scenario
def every_policy(s):
    """Each built-in policy brings a mixed graph to its end."""
    names = os.environ["POLICIES"].split(",")
    for name in names:
        reply = s.rpc("esched_begin", policy=name, seed=3, options={"slots": "stock"})
        assert reply["status"] == "OK", reply
        n = 30
        g = {("p", i): (inc, i) for i in range(n)}
        g.update({("q", i): (add, ("p", i), ("p", (i + 1) % n)) for i in range(n)})
        g["r"] = (total, [("q", i) for i in range(n)])
        assert s.client.get(g, "r") == n * (n + 1)
        s.until("forgotten", lambda: not s.client.run_on_scheduler(remains))
        end = s.rpc("esched_end")
        assert (end["decisions"], end["fallbacks"]) == (2 * n + 1, 0), (name, end["decisions"], end["fallbacks"])
    assert s.rpc("esched_begin", policy="none-such")["status"] == "error"
    # What follows is counted from here.
    assert s.rpc("esched_begin", policy="random")["status"] == "OK"
    s.restarted = s.client.run_on_scheduler(placements)
    assert s.client.gather(s.client.map(inc, range(3), key="after-policies")) == [1, 2, 3]


def play(stage, name: str, policy: str, slots: str) -> dict:
    """Run one scenario and compare the counts."""
    line: dict = {"name": name}
    begun = time.monotonic()
    stage.restarted = None
    try:
        reply = stage.rpc("esched_begin", policy=policy, seed=7, options={"slots": slots})
        assert reply["status"] == "OK", reply
        before = stage.client.run_on_scheduler(placements)
        SCENARIOS[name](stage)
        left: dict = {}

        def forgotten() -> bool:
            gc.collect()  # tracebacks hold futures in cycles
            left.clear()
            left.update(stage.client.run_on_scheduler(remains))
            return not left

        try:
            stage.until("forgotten", forgotten, 5)
        except TimeoutError:
            pass
        if stage.restarted is not None:
            before = stage.restarted
        end = stage.rpc("esched_end")
        line |= {
            "placements": stage.client.run_on_scheduler(placements) - before,
            "decisions": end["decisions"],
            "fallbacks": end["fallbacks"],
            "misses": end["misses"],
            "sources": end["sources"],
            "latencies": len(end["latency_ns"]) // 4,
            "remains": left,
            "active": end["active"],
        }
    except BaseException:
        line["error"] = traceback.format_exc()
    line["seconds"] = round(time.monotonic() - begun, 2)
    return line


def main() -> None:
    """Start workers and play the scenarios."""
    file, directory, policy, slots, *names = sys.argv[1:]
    nursery = Nursery(file, directory)
    nursery.add("w0", nthreads=1)
    nursery.add("w1", nthreads=1)
    nursery.add("w2", nthreads=2, resources={"gpu": 1})
    nursery.add("w3", nthreads=2, resources={"gpu": 1})
    try:
        with Client(scheduler_file=file, timeout=60) as client:
            client.wait_for_workers(4, timeout=60)
            stage = Stage(client, nursery, file, directory)
            for name in names or SCENARIOS:
                print(json.dumps(play(stage, name, policy, slots)), flush=True)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
